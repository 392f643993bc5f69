"""A run with all traces is the run without, and its trace has every packet that was counted."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import Trace
from results.store.store import Store
from results.store.stored import StoredRun
from results.traces.causes import what_happened
from results.traces.columns import channel_names
from results.traces.pictures.occupancy import occupancy
from results.traces.pictures.time_sequence import time_sequence
from results.traces.view import TraceView
from tests.support.run import orchestrator

pytestmark = pytest.mark.guest

SCENARIO = """\
version: 1
name: traced
description: Four congestion controls and UDP behind one queue.
seed: 5
duration: 2s
warmup: 500ms
start_jitter: 20ms
topology:
  kind: dumbbell
  bottleneck: {bottleneck}
  access: {{rate: 100mbit, delay: 5ms}}
  groups: [{{name: a, hosts: 5}}]
flows:
  - {{name: reno, group: a, congestion: reno}}
  - {{name: cubic, group: a, congestion: cubic}}
  - {{name: bbr, group: a, congestion: bbr}}
  - {{name: westwoodplus, group: a, congestion: westwoodplus}}
  - {{name: udp, group: a, traffic: {{kind: cbr, rate: 1mbit}}}}
"""


def queue(text: str, more: str = "") -> str:
    return f"{{rate: 20mbit, delay: 20ms, queue: {text}{more}}}"


DROPTAIL = "{limit: 50p}"
KINDS = {
    "droptail": queue(DROPTAIL),
    "red": queue("{kind: red, limit: 200p, min: 10p, max: 30p, probability: 10%, weight: 0.002}"),
    "ecn": queue(
        "{kind: red, limit: 200p, min: 10p, max: 30p, probability: 10%, weight: 0.002, ecn: true}"
    ),
    "codel": queue("{kind: codel, limit: 200p}"),
    "fq_codel": queue("{kind: fq_codel, limit: 200p}"),
    "cake": queue("{kind: cake}"),
    "list": queue(DROPTAIL, ", loss: {forward: {kind: list, packets: [100, 200-210]}, reverse: 0}"),
    "gilbert-elliott": queue(
        DROPTAIL,
        ", loss: {forward: {kind: gilbert-elliott, mean_loss: 1%, mean_burst: 3}, reverse: 0}",
    ),
    "policer": "{rate: 100mbit, delay: 20ms, policer: {forward: {rate: 20mbit, burst: 60kB}}}",
    "reordering": queue(DROPTAIL, ", jitter: {forward: {spread: 3ms, keep_order: false}}"),
}
ALWAYS = ("list",)
"""Those that ``make test`` tries; ``make test-long`` tries the others."""


@pytest.mark.parametrize(
    "kind",
    [kind if kind in ALWAYS else pytest.param(kind, marks=pytest.mark.long) for kind in KINDS],
)
def test_a_trace_changes_nothing_and_has_every_packet(tmp_path: Path, kind: str) -> None:
    file, db = tmp_path / "traced.yaml", tmp_path / "runs.db"
    file.write_text(SCENARIO.format(bottleneck=KINDS[kind]))
    made = orchestrator("run", str(file), "--db", str(db), "--json")
    assert made.exit_code in (0, 3), made.stderr
    zoomed = orchestrator("zoom", "last", "--window", "0s..2s", "--db", str(db), "--json")
    assert zoomed.exit_code == 0, zoomed.stderr
    document = json.loads(zoomed.stdout)
    assert document["bit_identical"]
    assert document["digest"] == document["stored_digest"]
    with Store.open_read_only(db) as store:
        run = store.load("last")
        trace = store.trace(run.id, document["trace"]["number"])
        for number, name in enumerate(channel_names(run)):
            assert counted(run, name) in (None, traced(trace, number)), name
        require_whole_ways(trace)
        require_pictures(run, trace)


# The client also sends to ports that nobody has, and is told so. The kernel frees packets in
# processes then, where a reading of the clock takes simulated time.
PROGRAMS = """\
version: 1
name: nobody
duration: 3s
topology:
  kind: dumbbell
  bottleneck: {rate: 3mbit, delay: 10ms, queue: {limit: 20p}}
  groups: [{name: ends, hosts: 1, rtt: 40ms}]
flows:
  - {name: beside, group: ends, start: 1s, traffic: {kind: cbr, rate: 1mbit}}
  - name: other
    group: ends
    start: 1s
    traffic:
      kind: program
      server: [python3, -S, -c, "import socket
        \\nf, g = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        \\nf.bind(('', 7000)); g.bind(('', 7001))
        \\nwhile True:
        \\n d, p = f.recvfrom(9000)
        \\n f.sendto(d[:10], p); g.sendto(d[:20], p)"]
      ready: {port: 7000, transport: udp}
      sender: client
      client: [python3, -S, -c, "import socket, time
        \\nfor i in range(50):
        \\n s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        \\n s.sendto(b'x' * 100, ('server', 7000)); s.sendto(b'y' * 50, ('server', 8000 + i))
        \\n time.sleep(0.01)"]
"""


def test_a_trace_takes_no_time_from_programs(tmp_path: Path) -> None:
    file, db = tmp_path / "nobody.yaml", tmp_path / "runs.db"
    file.write_text(PROGRAMS)
    made = orchestrator("run", str(file), "--db", str(db), "--json")
    assert made.exit_code == 0, made.stderr
    zoomed = orchestrator(
        "zoom", "last", "--window", "0s..3s", "--trace", "packets,tcp", "--db", str(db), "--json"
    )
    assert zoomed.exit_code == 0, zoomed.stderr
    with Store.open_read_only(db) as store:
        drops = store.trace(store.load("last").id, 1).tables["drops"]
    assert len(drops["time_ns"]) >= 10, "nothing is tried"


def counted(run: StoredRun, channel: str) -> tuple[int, int] | None:
    """Return how many packets a queue's counters have as transmitted and as dropped."""
    for index, one in enumerate(run.queues):
        if one.role == "queue" and f"{one.link}:{one.direction}" == channel:
            samples = run.queue_samples(index, ["packets", "drops"])
            packets, drops = samples["packets"], samples["drops"]
            return int(packets[-1] - packets[0]), int(drops[-1] - drops[0])
    return None


def traced(trace: Trace, channel: int) -> tuple[int, int]:
    steps = trace.tables["links"]["step"][trace.tables["links"]["channel"] == channel]
    dropped = np.isin(steps, (records.REFUSED, records.DROPPED))
    return int(np.sum(steps == records.BEGUN)), int(np.sum(dropped))


def require_whole_ways(trace: Trace) -> None:
    """Assert that no packet leaves a queue that has not come, and that frames are the packets."""
    links, frames = trace.tables["links"], trace.tables["frames"]
    for channel in np.unique(links["channel"]).tolist():
        of_channel = links[links["channel"] == channel]
        came, left = key(of_channel, records.ENQUEUED), key(of_channel, records.BEGUN)
        assert set(left) <= set(came)
        seen = frames["step"][frames["channel"] == channel]
        for step in (records.ENQUEUED, records.BEGUN, records.REFUSED, records.DROPPED):
            assert np.sum(seen == step) == np.sum(of_channel["step"] == step)


def require_pictures(run: StoredRun, trace: Trace) -> None:
    """Assert that pictures have the kernel's retransmissions, and who waits in each queue."""
    events = trace.tables["events"]
    sent_again = events[events["what"] == records.RETRANSMIT]
    for number, flow in enumerate(run.flows):
        made = time_sequence(run, trace, number)
        assert (made is None) == (flow.transport == "udp")
        if made is not None:
            (end,) = TraceView(run, trace).ends(number, sender=True)
            mine = sent_again[sent_again["end"] == end]
            # One event may be of several segments.
            again_bytes = int((mine["end_seq"] - mine["seq"]).sum())
            assert np.sum(made.again.end - made.again.first) == again_bytes, flow.name
            assert len(made.new.time_s)
    for channel in range(len(channel_names(run))):
        queue = occupancy(trace, channel)
        assert (queue.packets == sum(queue.by_flow.values())).all()


def key(rows: npt.NDArray[Any], step: int) -> list[tuple[int, ...]]:
    """Return what tells packets apart."""
    chosen = rows[rows["step"] == step]
    names = ("source_address", "source_port", "ip_id", "seq", "ack_seq")
    return list(zip(*(chosen[name].tolist() for name in names), strict=True))


CLOSING = """\
version: 1
name: closing
description: Senders that have closed their connections long before all has arrived.
seed: 5
duration: 2s
warmup: 500ms
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 20ms, queue: {limit: 20p}}
  access: {rate: 100mbit, delay: 5ms}
  groups: [{name: a, hosts: 3}]
flows:
  - {name: transfers, group: a, congestion: reno, traffic: {kind: transfers, size: {mean: 200kB}}}
  - {name: asked, group: a, traffic: {kind: request-response}}
  - {name: stopped, group: a, congestion: cubic, stop: 1s}
capture: {trace: [packets, acks, tcp, drops]}
"""


def test_each_ack_has_a_state_also_after_the_sender_has_closed(tmp_path: Path) -> None:
    file, db = tmp_path / "closing.yaml", tmp_path / "runs.db"
    file.write_text(CLOSING)
    made = orchestrator("run", str(file), "--db", str(db), "--json")
    assert made.exit_code in (0, 3), made.stderr
    with Store.open_read_only(db) as store:
        run = store.load("last")
        trace = store.trace(run.id, 1)
        view = TraceView(run, trace)
        kinds = {moment.kind for flow in range(3) for moment in what_happened(view, flow)}
    assert "fast recovery" in kinds
    assert "idle restart" not in kinds
    closed = 0
    for end in trace.tables["ends"][trace.tables["ends"]["is_sender"] == 1]:
        states = trace.tables["acks"][trace.tables["acks"]["end"] == end["end"]]
        by_segment = states["time_ns"][states["by"] == records.BY_SEGMENT]
        arrived = set(arrivals(trace, int(end["port"]), int(end["peer_port"])))
        # Before it has sent anything, an end has no states.
        assert {at for at in arrived if at >= by_segment[0]} == set(by_segment.tolist()), end
        events = trace.tables["events"][trace.tables["events"]["end"] == end["end"]]
        closes = events["time_ns"][(events["what"] == records.TCP_STATE) & (events["value"] == 4)]
        closed += int((by_segment > closes[0]).sum()) if len(closes) else 0
    assert closed > 400


def arrivals(trace: Trace, port: int, peer_port: int) -> list[int]:
    """Return when segments came to an end, without those of the handshake and resets."""
    syn_or_reset, ports, flags = 0x06, 14 + 20, 14 + 20 + 13
    found = []
    for frame in trace.tables["frames"][trace.tables["frames"]["step"] == records.RECEIVED]:
        content = trace.frame_bytes[int(frame["offset"]) :][: int(frame["captured_bytes"])]
        if frame["flow"] < 0 or content[23] != 6 or content[flags] & syn_or_reset:
            continue
        if struct.unpack_from(">HH", content, ports) == (peer_port, port):
            found.append(int(frame["time_ns"]))
    return found
