"""What agents of a lab capture: what each is asked for, and how all of it becomes one trace."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.backends.lab import merge_captures
from orchestrator.backends.lab.agent_spec import agent_documents, ranges
from orchestrator.decode.output import OutputFolder
from orchestrator.decode.trace import stream, trace
from orchestrator.errors import BedError
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.numbering import host_address
from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports import trace_records as records
from orchestrator.protocol.reports.facts import Fact
from orchestrator.recording.trace import Capture
from orchestrator.testbed.sampling.records import Records
from tests.fuzz.traces import damaged_trace
from tests.support import traces
from tests.support.shipped_lab import LIVE, ROUTER, planned

S = 10**9
CAPTURE = Capture(0, 10 * S, frozenset({"packets"}), limit_bytes=2**20)
ADDRESSES = {"one": "10.1.0.1", "two": "10.2.0.2", "three": "10.2.0.3"}
ORIGINS_NS = {"one": 7 * S, "two": 5000 * S, "three": 9 * S}
"""When traffic began by the clock of each machine."""
NODES = {"one": ("a_src0", "a_src1"), "two": ("a_dst0",), "three": ("a_dst1",)}


@pytest.fixture
def live(tmp_path: Path) -> RunSpec:
    folder = tmp_path / "scenario"
    folder.mkdir()
    return replace(planned(folder, LIVE, (ROUTER, "")), capture=CAPTURE)


def own(run: RunSpec, node: str) -> str:
    return host_address(list(run.network.hosts).index(node) + 1)


def frame(run: RunSpec, machine: str, node: str, time_ns: int, step: int, content: bytes) -> bytes:
    """A frame at a time of traffic, by the clock of a machine."""
    early_ns = ORIGINS_NS[machine] - traces.ORIGIN_NS
    return traces.frame(early_ns + time_ns, step, content, host=own(run, node))


def packet(run: RunSpec, flow: int, back: bool = False) -> bytes:
    """A packet of a flow as it is on the real network."""
    planned = run.flows[flow]
    machines = {node: machine for machine, nodes in NODES.items() for node in nodes}
    source = (ADDRESSES[machines[planned.source]], 35001)
    sink = (ADDRESSES[machines[planned.sink]], planned.port)
    return traces.packet(sink, source) if back else traces.packet(source, sink)


def wrote(
    run: RunSpec, folder: Path, frames: dict[str, Sequence[bytes]]
) -> tuple[dict[str, OutputFolder], dict[str, list[Fact]]]:
    """Return what the agents wrote: folders and facts."""
    parts: dict[str, OutputFolder] = {}
    facts: dict[str, list[Fact]] = {}
    for machine, nodes in NODES.items():
        place = folder / machine
        place.mkdir(parents=True)
        out = Records(str(place))
        for one in [b"", *frames.get(machine, ())]:
            out.trace(one)
        out.close()
        hosts = [
            {"host": node, "from_ns": 0, "to_ns": 10 * S, "seen": 9, "lost": number}
            for number, node in enumerate(nodes)
        ]
        facts[machine] = [
            {"fact": "captures", "hosts": hosts},
            {"fact": "done", "origin_ns": ORIGINS_NS[machine], "duration_ns": 10 * S},
        ]
        parts[machine] = OutputFolder(place)
    return parts, facts


def test_each_machine_captures_at_its_own_hosts_with_its_part_of_the_limit(
    tmp_path: Path,
) -> None:
    run = replace(planned(tmp_path), capture=replace(CAPTURE, from_ns=S))
    bare = {("one", "two"): 0, ("one", "three"): 0}
    documents = agent_documents(run, ADDRESSES, bare)
    assert "capture" not in documents["four"]
    one, two = (documents[name]["capture"] for name in ("one", "two"))
    assert (one["capture"]["limit_bytes"], two["capture"]["limit_bytes"]) == (2**19, 2**18)
    assert (one["capture"]["from_ns"], one["capture"]["snap_bytes"]) == (S, records.SNAP_BYTES)
    ports = {flow.name: flow.port for flow in run.flows}
    assert ports == {
        "bulk[0]": 5001, "bulk[1]": 5002, "turns-reno[0]": 5003, "turns-reno[1]": 5004,
        "turns-cubic[0]": 5005, "turns-cubic[1]": 5006,
    }  # fmt: skip
    even, odd = ([(n, n) for n in numbers] for numbers in ((5001, 5003, 5005), (5002, 5004, 5006)))
    assert one["hosts"] == [
        {"name": "a_src0", "address": own(run, "a_src0"), "peers": ["10.2.0.2"], "ports": even},
        {"name": "a_src1", "address": own(run, "a_src1"), "peers": ["10.2.0.3"], "ports": odd},
    ]
    assert two["hosts"] == [
        {"name": "a_dst0", "address": own(run, "a_dst0"), "peers": ["10.1.0.1"], "ports": even}
    ]
    without = agent_documents(replace(run, capture=None), ADDRESSES, bare)
    assert not any("capture" in document for document in without.values())
    for name, document in documents.items():
        document.pop("capture", None)
        assert without[name] == document


def test_ports_become_ranges() -> None:
    assert ranges([]) == []
    assert ranges([7, 5, 6, 9, 5, 11, 12]) == [(5, 7), (9, 9), (11, 12)]


def test_what_all_captured_is_one_trace_from_one_origin(live: RunSpec, tmp_path: Path) -> None:
    there, back = packet(live, 1), packet(live, 1, back=True)
    parts, facts = wrote(live, tmp_path / "parts", {
        "one": [frame(live, "one", "a_src1", 100, records.SENT, there),
                frame(live, "one", "a_src1", 400, records.RECEIVED, back),
                frame(live, "one", "a_src0", 500, records.SENT, packet(live, 0))],
        "three": [frame(live, "three", "a_dst1", 200, records.RECEIVED, there),
                  frame(live, "three", "a_dst1", 300, records.SENT, back)],
    })  # fmt: skip
    output = tmp_path / "out"
    output.mkdir()
    (output / records.FILE).write_bytes(
        b"".join(merge_captures.frames(live, CAPTURE, parts, facts))
    )
    told = merge_captures.captures(live, facts)
    by_node = {node: ADDRESSES[machine] for machine, nodes in NODES.items() for node in nodes}
    made = trace(OutputFolder(output), live, CAPTURE, 0, told["hosts"], by_node)
    hosts = list(live.network.hosts)
    rows = made.tables["frames"][["time_ns", "host", "flow", "step"]].tolist()
    assert [(time_ns, hosts[host], flow, step) for time_ns, host, flow, step in rows] == [
        (100, "a_src1", 1, records.SENT),
        (200, "a_dst1", 1, records.RECEIVED),
        (300, "a_dst1", 1, records.SENT),
        (400, "a_src1", 1, records.RECEIVED),
        (500, "a_src0", 0, records.SENT),
    ]
    assert made.frame_bytes.startswith(there)
    lost = made.tables["hosts"][["host", "seen", "lost"]].tolist()
    assert [(hosts[host], seen, lost) for host, seen, lost in lost] == [
        ("a_src0", 9, 0), ("a_src1", 9, 1), ("a_dst0", 9, 0), ("a_dst1", 9, 0),
    ]  # fmt: skip


def alien(run: RunSpec) -> bytes:
    return frame(run, "two", "a_src0", 100, records.SENT, packet(run, 0))


def at_a_queue(run: RunSpec) -> bytes:
    return frame(run, "two", "a_dst0", 100, records.ENQUEUED, packet(run, 0))


def early(run: RunSpec) -> bytes:
    return frame(run, "two", "a_dst0", -1, records.SENT, packet(run, 0))


def no_frame(_run: RunSpec) -> bytes:
    return traces.socket(1, ("10.0.0.1", 1), ("10.0.0.2", 2))


def cut(run: RunSpec) -> bytes:
    return alien(run)[:-8]


def much(run: RunSpec) -> bytes:
    return 7000 * frame(run, "two", "a_dst0", 1, records.SENT, packet(run, 0) + bytes(200))


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (alien, "two: the frame at 0 of trace.bin is not one of its own"),
        (at_a_queue, "two: the frame at 0 of trace.bin is not one of its own"),
        (early, "two: the frame at 0 of trace.bin is not one of its own"),
        (no_frame, "two: trace.bin has more than frames"),
        (cut, "trace.bin ends within a record"),
        (much, "two: trace.bin is larger than the limit of the capture"),
    ],
)
def test_what_an_agent_could_not_capture_is_refused(
    live: RunSpec, tmp_path: Path, made: Callable[[RunSpec], bytes], why: str
) -> None:
    parts, facts = wrote(live, tmp_path / "parts", {"two": [made(live)]})
    with pytest.raises(BedError, match=why):
        list(merge_captures.frames(live, CAPTURE, parts, facts))


def test_an_agent_that_captured_elsewhere_or_not_at_all_is_refused(
    live: RunSpec, tmp_path: Path
) -> None:
    parts, facts = wrote(live, tmp_path / "parts", {})
    (of_one,) = protocol.of(facts["one"], protocol.Captures)
    of_one["hosts"][0]["host"] = "a_dst0"
    with pytest.raises(BedError, match="one: it captured at 2 hosts, not at its 2: a_src0, a_src1"):
        merge_captures.captures(live, facts)
    del facts["one"][0]
    with pytest.raises(BedError, match="one: it captured at 0 hosts"):
        merge_captures.captures(live, facts)
    (tmp_path / "parts" / "two" / records.FILE).unlink()
    with pytest.raises(BedError, match=r"did not write trace\.bin"):
        list(merge_captures.frames(live, CAPTURE, parts, facts))


def test_any_damage_is_refused_or_leaves_frames_of_the_machine(
    live: RunSpec, tmp_path: Path
) -> None:
    whole = b"".join(
        frame(live, "two", "a_dst0", time_ns, step, packet(live, 0) + bytes(size))
        for time_ns, step, size in ((1, records.RECEIVED, 0), (2, records.SENT, 200))
    )
    parts, facts = wrote(live, tmp_path / "parts", {"two": [whole]})
    file = tmp_path / "parts" / "two" / records.FILE
    refused = 0
    for seed in range(400):
        file.write_bytes(damaged_trace(random.Random(seed), whole))
        try:
            merged = b"".join(merge_captures.frames(live, CAPTURE, parts, facts))
        except BedError:
            refused += 1
            continue
        for at in stream.offsets(merged)[records.FRAME]:
            seen = stream.frame_at(merged, at, CAPTURE.snap_bytes)
            assert socket.inet_ntoa(seen.address) == own(live, "a_dst0")
            assert seen.step in records.AT_HOSTS
    assert 100 < refused < 400
