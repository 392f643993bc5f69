"""Evidence of two runs: the texts of ss and nstat, packets, intervals, and the draft of a mail."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from guest.build import GuestKernel
from orchestrator.cli import commands
from results.store.store import Store

pytestmark = pytest.mark.guest

SCENARIO = """\
version: 1
name: shown
description: A flow through a small and a large queue.
seed: 1
duration: 4s
start_jitter: 10ms
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms, queue: {limit: 20p}}
  access: {rate: 100mbit, delay: 5ms}
  groups: [{name: a}, {name: b}]
flows:
  - {name: one, group: a, congestion: cubic}
  - {name: other, group: b, congestion: reno}
matrix: {topology.bottleneck.queue.limit: [10p, 80p]}
repetitions: 3
"""
PERIOD_S = 0.05


def orchestrator(*words: str) -> Result:
    return CliRunner().invoke(commands, words)


@pytest.fixture(scope="module")
def written(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the evidence, beside the store."""
    folder = tmp_path_factory.mktemp("evidence")
    db = str(folder / "runs.db")
    (folder / "shown.yaml").write_text(SCENARIO)
    done = orchestrator("run", str(folder / "shown.yaml"), "--db", db, "--quiet")
    assert done.exit_code == 0, done.output
    with Store.open_read_only(Path(db)) as store:
        ids = [row.id for row in store.list_runs() if row.repetition == 0]
    done = orchestrator("evidence", *ids, "-o", str(folder / "shown"), "--db", db, "--quiet")
    assert done.exit_code == 0, done.output
    with Store.open_read_only(Path(db)) as store:
        assert len(store.list_runs()) == 6, "nothing is stored"
        assert not any(store.traces(run_id) for run_id in ids)
    again = orchestrator("evidence", *ids, "-o", str(folder / "shown"), "--db", db, "--quiet")
    assert again.exit_code == 2
    (folder / "ids").write_text(" ".join(ids))
    return folder / "shown"


def test_the_mail_states_the_difference_with_its_interval(written: Path) -> None:
    mail = (written / "mail.txt").read_text()
    assert mail.startswith("Subject: TCP: A flow through a small and a large queue.\n")
    assert re.search(r"^  A: limit=10p, 3 runs$", mail, re.MULTILINE)
    lines = re.findall(r"    B - A  (\S+) \[(\S+), (\S+)\] (\S+), paired$", mail, re.MULTILINE)
    assert len(lines) >= 6
    for mean, low, high, _unit in lines:
        assert float(low) <= float(mean) <= float(high)
    assert len(re.findall(r"^  [AB]: digest [0-9a-f]{64}$", mail, re.MULTILINE)) == 2
    assert all(len(line) <= 90 for line in mail.splitlines())


@pytest.mark.parametrize("side", ["A", "B"])
def test_a_sender_is_shown_every_50_ms(written: Path, side: str) -> None:
    blocks = (written / side / "ss-a_src0.txt").read_text().split("ESTAB")
    times = [float(block.splitlines()[-1]) for block in blocks[:-1]]
    periods = [int(time_s / PERIOD_S) for time_s in times]
    assert periods == sorted(set(periods)), "one block a period"
    assert len(periods) > 0.8 * 4 / PERIOD_S
    assert all("skmem:(r0,rb" in block and " cwnd:" in block for block in blocks[1:-1])


def test_counters_add_up_to_those_of_the_run(written: Path) -> None:
    text = (written / "A" / "nstat-a_src0.txt").read_text()
    assert text.count("#kernel") == round(4 / PERIOD_S)
    sent = sum(map(int, re.findall(r"^TcpOutSegs +(\d+)", text, re.MULTILINE)))
    assert 1000 < sent < 5000


def test_packets_name_the_stored_run(written: Path) -> None:
    stored = (written.parent / "ids").read_text().split()
    mail = (written / "mail.txt").read_text()
    for side, run_id in zip("AB", stored, strict=True):
        assert re.search(rf"^  {side}: .*, run {run_id}$", mail, re.MULTILINE)
        for host in ("a_src0", "b_src0"):
            packets = (written / side / f"packets-{host}.pcapng").read_bytes()
            named = re.findall(rb"run (\S+), digest ([0-9a-f]{64}), made again with a", packets)
            ((name, digest),) = named
            assert name.decode() == run_id
            assert f"  {side}: digest {digest.decode()}\n" in mail


def test_what_the_run_was_made_with_is_there(written: Path) -> None:
    for side, limit in (("A", "10p"), ("B", "80p")):
        folder = written / side
        assert "CONFIG_TCP_CONG_CUBIC=y\n" in (folder / "kernel.config").read_text()
        assert json.loads((folder / "kernel.json").read_text())["release"].startswith("6.")
        assert json.loads((folder / "sysctls.json").read_text())["every_host"]
        set_up = json.loads((folder / "set-up.yaml").read_text())
        assert set_up["topology"]["bottleneck"]["queue"]["limit"] == limit
        assert (folder / "scenario.yaml").read_text() == SCENARIO
        assert (folder / "packets-b_src0.pcapng").read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
        assert (folder / "figure.svg").read_text().startswith("<?xml")
        rows = (folder / "intervals.txt").read_text().splitlines()
        assert len(rows) == 1 + 2 * (1 + 4)


def test_the_command_of_the_mail_makes_the_same_runs(written: Path, tmp_path: Path) -> None:
    mail = (written / "mail.txt").read_text()
    assert "  orchestrator run A/set-up.yaml B/set-up.yaml\n" in mail
    files = [str(written / side / "set-up.yaml") for side in "AB"]
    done = orchestrator("run", *files, "--db", str(tmp_path / "again.db"), "--quiet")
    assert done.exit_code == 0, done.output
    with Store.open_read_only(tmp_path / "again.db") as store:
        assert all(f"digest {row.digest}\n" in mail for row in store.list_runs())


def test_what_cannot_be_shown_is_said(written: Path) -> None:
    db = str(written.parent / "runs.db")
    for words, said in (
        (("last", "last"), "name two different runs"),
        (("last", "last", "last"), "one run or two, not of 3"),
        (("last", "--window", "5s..6s"), "the window ends at 6s"),
        (("nothing",), "no run nothing"),
    ):
        done = orchestrator("evidence", *words, "-o", str(written.parent / "x"), "--db", db)
        assert done.exit_code == 2, done.output
        assert said in done.stderr
        assert not (written.parent / "x").exists()


def test_a_run_of_more_flows_than_the_figure_has_lines_for_is_shown(tmp_path: Path) -> None:
    many = SCENARIO.replace("congestion: cubic}", "congestion: cubic, count: 9}")
    many = many.replace("repetitions: 3", "repetitions: 1").replace("duration: 4s", "duration: 2s")
    (tmp_path / "many.yaml").write_text(many.replace("[10p, 80p]", "[80p]"))
    db = str(tmp_path / "runs.db")
    done = orchestrator("run", str(tmp_path / "many.yaml"), "--db", db, "--quiet")
    assert done.exit_code == 0, done.output
    done = orchestrator("evidence", "last", "-o", str(tmp_path / "shown"), "--db", db, "--quiet")
    assert done.exit_code == 0, done.output
    figure = (tmp_path / "shown" / "figure.svg").read_text()
    assert figure.startswith("<?xml")
    rows = (tmp_path / "shown" / "intervals.txt").read_text().splitlines()
    assert len(rows) == 1 + 10 * (1 + 2)
