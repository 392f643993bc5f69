"""``diff`` finds where real runs part that differ in one thing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.run import orchestrator
from web import create_app

pytestmark = pytest.mark.guest

CUBIC = Path(__file__).with_name("cubicbeta")
"""CUBIC as a module of one's own: Linux's is built in, and takes no beta when it runs."""

SCENARIO = """\
version: 1
name: parting
seed: 5
duration: 800ms
warmup: 300ms
topology:
  kind: dumbbell
  bottleneck: {rate: 20mbit, delay: 21ms, queue: {limit: 100p}}
  groups: [{name: a, access: {rate: 100mbit, delay: 5ms}}]
flows:
  - name: mine
    group: a
    congestion: {name: cubicbeta, module: ./cubicbeta, parameters: {beta: 717, hystart: 0}}
"""
"""The window at the first loss is 410 segments: beta 717 makes 287 of it, and beta 716 makes 286.
Where 1/1024 of a window is no difference of a whole segment, the recovery does not differ."""

CHANGES = {
    "plain": (),
    "beta": ("flows.mine.congestion.parameters.beta=716",),
    "queue": ("topology.bottleneck.queue.limit=101p",),
    "seed": ("seed=6",),
    "short": ("duration=600ms",),
    "loss": ("topology.bottleneck.loss=1%",),
    "loss, seed": ("topology.bottleneck.loss=1%", "seed=6"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str]]:
    """The store, and the id of a run with each of the changes."""
    folder = tmp_path_factory.mktemp("parting")
    shutil.copytree(CUBIC, folder / CUBIC.name)
    file, db = folder / "parting.yaml", str(folder / "runs.db")
    file.write_text(SCENARIO)
    made = {}
    for name, changes in CHANGES.items():
        overrides = [word for change in changes for word in ("--set", change)]
        done = orchestrator("run", str(file), "--db", db, "--json", *overrides)
        assert done.exit_code in (0, 3), done.stderr
        made[name] = json.loads(done.stdout)["runs"][0]["id"]
    return db, made


def diff(runs: tuple[str, dict[str, str]], one: str, other: str) -> dict[str, Any]:
    db, ids = runs
    done = orchestrator("diff", ids[one], ids[other], "--db", db, "--json", "--quiet")
    assert done.exit_code == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert [run["id"] for run in said["runs"]] == [ids[one], ids[other]]
    return said


def test_another_beta_is_seen_at_the_first_recovery(runs: tuple[str, dict[str, str]]) -> None:
    said = diff(runs, "plain", "beta")
    assert said["set_up"] == [
        {"path": "flows.mine.congestion.parameters.beta", "values": [717, 716]}
    ]
    assert (said["kind"], said["differs"]) == (
        "state", [{"path": "ssthresh_segments", "values": [287, 286]}],
    )  # fmt: skip
    for run, ssthresh in zip(said["runs"], (287, 286), strict=True):
        assert run["event"]["text"] == (
            f"TCPSackRecovery grew by 1 at the sender of mine (cwnd 410, ssthresh {ssthresh})"
        )
        texts = [event["text"] for event in run["next"]]
        assert len(texts) == 10
        assert texts[0] == (
            f"the sender of mine went from Disorder to Recovery (cwnd 410, ssthresh {ssthresh})"
        )
        (state,) = [text for text in texts if text.startswith("after an ACK")]
        assert f"ssthresh {ssthresh}, " in state
        assert state.endswith("state Recovery")
    assert said["equal"]["links"] > 5000


def test_a_queue_with_room_for_one_more_is_seen_at_the_first_drop(
    runs: tuple[str, dict[str, str]],
) -> None:
    said = diff(runs, "plain", "queue")
    one, other = (run["event"] for run in said["runs"])
    assert said["kind"] == "packet"
    assert one["time_ns"] == other["time_ns"] == said["time_ns"]
    assert (one["what"], other["what"]) == ("dropped on arrival", "enqueued")
    assert one["place"] == other["place"] == "bottleneck:forward"
    assert [event["values"]["queue_packets"] for event in (one, other)] == [100, 101]
    assert one["values"]["seq"] == other["values"]["seq"]
    assert one["text"].endswith(" as it came, and held 100 packets")
    first = json.loads(
        orchestrator("explain", runs[1]["plain"], "--db", runs[0], "--json", "--quiet").stdout
    )["flows"][0]["moments"][0]
    assert (first["kind"], first["time_ns"]) == ("full queue", said["time_ns"])


def test_seeds_part_runs_where_something_is_drawn(runs: tuple[str, dict[str, str]]) -> None:
    drawn = diff(runs, "loss", "loss, seed")
    assert drawn["set_up"] == [{"path": "seed", "values": [5, 6]}]
    assert drawn["kind"] == "packet"
    assert "lost by the line" in {
        run["event"]["what"] for run in drawn["runs"] if run["event"] is not None
    }
    none = diff(runs, "plain", "seed")
    assert (none["identical"], none["time_ns"], none["set_up"]) == (
        True, None, [{"path": "seed", "values": [5, 6]}],
    )  # fmt: skip


def test_a_shorter_run_is_equal_until_it_ends(runs: tuple[str, dict[str, str]]) -> None:
    said = diff(runs, "plain", "short")
    assert said["set_up"] == [{"path": "duration", "values": ["800ms", "600ms"]}]
    assert (said["identical"], said["time_ns"], said["equal_until_ns"]) == (
        False, None, 600_000_000,
    )  # fmt: skip
    assert said["equal"]["links"] > 1000


def test_equal_runs_are_bit_identical(runs: tuple[str, dict[str, str]]) -> None:
    said = diff(runs, "plain", "plain")
    assert (said["identical"], said["set_up"], said["differs"]) == (True, [], [])


@pytest.mark.parametrize("other", ["beta", "queue", "short"])
def test_the_dashboard_says_the_same_by_the_traces_that_were_kept(
    runs: tuple[str, dict[str, str]], other: str
) -> None:
    db, ids = runs
    said = diff(runs, "plain", other)
    answer = (
        create_app(Path(db)).test_client().get(f"/api/diff?run={ids['plain']}&run={ids[other]}")
    )
    if other == "short":  # no trace is kept of runs that do not part
        assert f"orchestrator diff {ids['plain']} {ids[other]}" in answer.text
    else:
        assert answer.get_json() == said
