"""Runner, back end, decoder and store with a fake test bed: files captured from a real guest.

``tests/data/bed`` is what the bed wrote for the quickstart with OVERRIDES (``capture_bed.py``), and
is played back here by a small program in the guest's place.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from guest.build import GuestKernel
from orchestrator.backends import modules, process
from orchestrator.backends.contract import RunContext
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.decode.decode import TcpDecoder
from orchestrator.decode.flows.socket_flows import FlowPorts
from orchestrator.decode.output import OutputFolder
from orchestrator.errors import GuestError, MachineError
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec, guest_memory_bytes
from orchestrator.recording.model import RECEIVER, SENDER
from orchestrator.scenario import load
from results.store.store import Store
from tests.support.fake_bed import (
    CAPTURED,
    DIGEST,
    MODULE,
    OVERRIDES,
    ROOT,
    bed,
    kernel,
    play,
)
from tests.support.hostile_texts import LINKS

__all__ = ["bed", "kernel"]

PORTS = [FlowPorts(25001, 5001), FlowPorts(25002, 5002)]


def spec() -> RunSpec:
    (run,) = plan(load(ROOT / "scenarios" / "quickstart.yaml", OVERRIDES)).runs
    return run


@pytest.mark.slow
def test_a_played_back_run_is_stored_whole(
    bed: Path, kernel: GuestKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, watcher = play(bed, kernel, tmp_path, monkeypatch)
    assert document["status"] == "ok", document["error"]
    assert document["digest"] == DIGEST
    assert document["fidelity"]["verdict"] == "faithful"
    assert [flow["congestion_control"] for flow in document["flows"]] == ["westwood", "reno"]
    # There and back 50 bytes cross the bottleneck at 10 Mbit/s, and two links at 100 Mbit/s.
    base_rtt_s = 0.1 + 2 * 50 * 8 * (1 / 10e6 + 2 / 100e6)
    for flow in document["flows"]:
        assert flow["base_rtt_measured_s"] == flow["base_rtt_s"] == pytest.approx(base_rtt_s)
    assert watcher.phases[-1] == "ok"
    with Store.open_read_only(tmp_path / "runs.db") as store:
        stored = store.load(document["id"])
        assert stored.artefact("console") == "fake console\n"
        provided = stored.provenance["modules"]
        queues = stored.queues
    assert {(queue.role, queue.rate_bps, queue.delay_s, queue.loss) for queue in queues} == {
        ("queue", 10_000_000, 0.01, 0.0), ("queue", 100_000_000, 0.02, 0.0),
    }  # fmt: skip
    assert len(queues) == 10
    assert {name: one["sha256"] for name, one in provided.items()} == {
        "sch_link": hashlib.sha256(LINKS).hexdigest(),
        "tcp_westwood": hashlib.sha256(MODULE).hexdigest(),
    }


def damage(bed: Path, kind: str) -> None:
    if kind == "failure":
        (bed / "failure").write_text("ValueError: no such thing", encoding="utf-8")
        (bed / "progress").write_text("setup 0", encoding="utf-8")
    elif kind == "early end":
        (bed / "progress").write_text("traffic 1000000000", encoding="utf-8")
    elif kind == "half a record":
        data = (bed / "tcp.bin").read_bytes()
        (bed / "tcp.bin").write_bytes(data[:-7])
    elif kind == "half a row":
        data = (bed / "queue.bin").read_bytes()
        (bed / "queue.bin").write_bytes(data[:-3])
    elif kind == "unfinished facts":
        text = (bed / "facts.jsonl").read_text(encoding="utf-8")
        (bed / "facts.jsonl").write_text(text[: text.rindex('{"fact":"done"') + 9], "utf-8")
    else:
        with (bed / "facts.jsonl").open("a", encoding="utf-8") as file:
            file.write('{"fact":"flow_error","flow":"reno","problem":"no route"}\n')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("failure", "the test bed failed: ValueError: no such thing"),
        ("early end", "the guest ended before the run did"),
        ("half a record", "tcp.bin ends in the middle of a record"),
        ("half a row", "queue.bin ends in the middle of a row"),
        ("unfinished facts", "did not finish its records"),
        ("flow error", "flow reno: no route"),
    ],
)
def test_a_run_that_is_not_whole_is_marked_failed(
    bed: Path,
    kernel: GuestKernel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    said: str,
) -> None:
    damage(bed, kind)
    document, watcher = play(bed, kernel, tmp_path, monkeypatch)
    assert document["status"] == "failed"
    assert said in document["error"]
    assert document["flows"] == []
    assert watcher.phases[-1] == "failed"


@pytest.mark.slow
def test_a_hung_guest_is_ended(
    bed: Path, kernel: GuestKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bed / "hang").touch()
    document, _ = play(bed, kernel, tmp_path, monkeypatch, watchdog_s=0.5)
    assert document["status"] == "failed"
    assert "no progress for 0.9 s" in document["error"]  # 0.1 s more for each of four hosts


def test_the_decoder_gives_the_same_whatever_pieces_it_sees(tmp_path: Path) -> None:
    data = (CAPTURED / "tcp.bin").read_bytes()
    whole = TcpDecoder(OutputFolder(CAPTURED), PORTS)
    rows = whole.samples()
    assert whole.congestion_names == {0: "westwood", 1: "reno"}
    assert [name for name, _unit in whole.congestion_fields[0]][-1] == "min_rtt"
    piecemeal = TcpDecoder(OutputFolder(tmp_path), PORTS)
    for end in range(0, len(data) + 1, 997):
        (tmp_path / "tcp.bin").write_bytes(data[:end])
        piecemeal.advance()
    (tmp_path / "tcp.bin").write_bytes(data)
    assert np.array_equal(piecemeal.samples(), rows)
    # The last sender's sample of the second flow, as ss -ti would show it.
    last = rows[(rows["flow"] == 1) & (rows["endpoint"] == SENDER)][-1]
    assert last["time_ns"] == 2_000_000_000
    assert (last["snd_cwnd_segments"], last["bytes_sent"], last["rtt_us"]) == (21, 344624, 103438)
    received = rows[(rows["flow"] == 1) & (rows["endpoint"] == RECEIVER)][-1]
    assert received["bytes_received"] <= last["bytes_sent"]


def test_sockets_of_no_flow_are_left_out() -> None:
    rows = TcpDecoder(OutputFolder(CAPTURED), [FlowPorts(1, 2), PORTS[1]]).samples()
    assert set(rows["flow"].tolist()) == {1}


def test_a_missing_module_is_named_before_anything_boots(
    bed: Path, kernel: GuestKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kernel.modules_dir / "tcp_westwood.ko").unlink()
    with pytest.raises(MachineError, match="no module tcp_westwood"):
        play(bed, kernel, tmp_path, monkeypatch)


def test_modules_come_behind_what_they_depend_on(kernel: GuestKernel) -> None:
    depends = {"a": b"b,c", "b": b"c", "c": b""}
    for name, needed in depends.items():
        path = kernel.modules_dir / f"{name}.ko"
        path.write_bytes(b"x\0license=GPL\0depends=" + needed + b"\0end\0")
    order = modules.load_order([kernel.modules_dir], ["a", "tcp_westwood"])
    assert [path.stem for path in order] == ["c", "b", "a", "tcp_westwood"]


def test_the_specification_of_the_captured_run_is_still_the_same() -> None:
    captured = json.loads((CAPTURED / "spec.json").read_text(encoding="utf-8"))
    document = json.loads(json.dumps(bed_spec(spec(), guest_memory_bytes(spec().network, 2))))
    # Found and put in the order of loading when the run begins.
    assert captured.pop("modules") == [
        {"name": name, "parameters": ""} for name in ("sch_link", "tcp_westwood")
    ]
    assert document == captured


def test_names_do_not_reach_the_specification() -> None:
    text = (ROOT / "scenarios" / "quickstart.yaml").read_text(encoding="utf-8")
    assert "seed: 1\n" in text
    lossy = ("topology.bottleneck.loss=1%",
             *(f"topology.groups.{name}.access.loss=1%" for name in "ab"))  # fmt: skip
    (impaired,) = plan(load(ROOT / "scenarios" / "quickstart.yaml", (*OVERRIDES, *lossy))).runs
    document = bed_spec(impaired, 2**30)
    assert [host["address"] for host in document["hosts"]] == [f"10.0.0.{n}" for n in range(1, 5)]
    seeds = [
        setting["value"]
        for link in document["links"]
        for channel in (link["forward"], link["reverse"])
        if channel["netem"] is not None
        for setting in channel["netem"]["settings"]
        if setting["name"] == "seed"
    ]
    assert len(set(seeds)) == 2 * len(document["links"])
    limits = [
        int(setting["value"])
        for link in document["links"]
        if link["forward"]["netem"] is not None
        for setting in link["forward"]["netem"]["settings"]
        if setting["name"] == "limit_packets"
    ]
    assert min(limits) >= 10**6


def test_last_words_are_of_log_and_console(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "bed.log").write_text("said\n\n", encoding="utf-8")
    (tmp_path / "console").write_bytes(b"kernel \xff\n")
    place = RunContext(tmp_path, 0, lambda _group: None, lambda _group: None)
    assert process.last_output(place) == ["said", "kernel \N{REPLACEMENT CHARACTER}"]
    error = GuestError("why", ["one", "two"])
    assert str(error) == "why\n  console: one\n  console: two"


def test_last_words_are_words() -> None:
    console = """\
Run /bin/true as init process
userspace - ptrace set fp regs failed, errno = 14
Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b
Stack:
 6025f4e0 96003c50 6080ab04 96003d00
 60039d30
Call Trace:
"""
    stack = 30 * " [<60027b50>] ? show_stack+0x0/0xc0\n"
    assert process.last_lines(console + stack) == console.splitlines()[:3]
