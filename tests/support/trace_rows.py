"""Rows of traces of one connection of the flow 0, and frames of TCP at its sender, the host 0."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.model import FlowRecord
from orchestrator.recording.trace import TABLES, Capture, Trace
from results.store.store import Store
from tests.support.recordings import flow, head, queue, recording

MS = 1_000_000
THERE, BACK = (40000, 5001), (5001, 40000)
"""Ports of what the connection sends and gets."""
END = {"end": 1, "flow": 0, "is_sender": 1, "port": THERE[0], "peer_port": THERE[1]}

Row = dict[str, Any]


def rows(name: str, given: Sequence[Row]) -> npt.NDArray[np.void]:
    """Rows of a table; fields that are not named are zero."""
    made = np.zeros(len(given), TABLES[name])
    for number, row in enumerate(given):
        for column, value in row.items():
            made[column][number] = value
    return made


def state(time_ns: int, una: int, nxt: int, **more: Any) -> Row:
    """A state after a segment, with a receive window of 1000 bytes."""
    return {"time_ns": time_ns, "end": 1, "by": records.BY_SEGMENT, "snd_una": una % 2**32,
            "snd_nxt": nxt % 2**32, "snd_wnd_bytes": 1000, **more}  # fmt: skip


def step(time_ns: int, what: int, flow: int, packets: int, **more: Any) -> Row:
    """A step at the first channel, after which so many packets wait."""
    return {"time_ns": time_ns, "channel": 0, "step": what, "flow": flow,
            "queue_packets": packets, **more}  # fmt: skip


def tcp_frame(
    seq: int, size: int, ports: tuple[int, int] = THERE, options: bytes = b"", flags: int = 0x10
) -> bytes:
    """The headers of a frame of TCP, whose payload is not captured."""
    total = 40 + len(options) + size
    ip = struct.pack(">BBHHHBBH8x", 0x45, 0, total, 0, 0, 64, 6, 0)
    offset = (5 + len(options) // 4) << 4
    tcp = struct.pack(">HHIIBBHHH", *ports, seq % 2**32, 0, offset, flags, 0, 0, 0)
    return bytes(12) + b"\x08\x00" + ip + tcp + options


def sack_frame(*blocks: tuple[int, int], ports: tuple[int, int] = BACK) -> bytes:
    """An ACK with options as Linux writes them: paddings, a time stamp, paddings, SACK."""
    edges = b"".join(struct.pack(">II", left % 2**32, right % 2**32) for left, right in blocks)
    options = b"\x01\x01\x08\x0a" + bytes(8) + b"\x01\x01" + bytes((5, 2 + len(edges))) + edges
    return tcp_frame(0, 0, ports, options)


def trace(kinds: str, frames: Sequence[tuple[int, int, bytes]] = (), **tables: Any) -> Trace:
    """A trace of 10 s with these rows; frames are (time, step, bytes) at the host 0."""
    data, found = b"", []
    for time_ns, what, content in sorted(frames, key=lambda each: each[0]):
        found.append({"time_ns": time_ns, "host": 0, "channel": -1, "flow": 0, "step": what,
                      "frame_bytes": 1514, "captured_bytes": len(content),
                      "offset": len(data)})  # fmt: skip
        data += content
    made = {"ends": [END], "frames": found, **tables}
    return Trace(
        Capture(0, 10**10, frozenset(kinds.split(","))),
        {name: rows(name, made.get(name, ())) for name in TABLES},
        data,
    )


def told(kinds: str = "packets,acks,tcp,queue") -> Trace:
    """A loss of the flow a in a full queue, its recovery, and packets of b beside it."""
    sent = [(1, 0), (2, 1000), (3, 2000), (9, 1000)]
    frames = [(MS * at, records.SENT, tcp_frame(seq, 1000)) for at, seq in sent]
    frames.append((8 * MS, records.RECEIVED, sack_frame((2000, 3000))))
    acks = [state(0, 0, 0, cwnd_segments=10), state(7 * MS, 1000, 3000, cwnd_segments=11),
            state(12 * MS, 3000, 3000, cwnd_segments=5, ssthresh_segments=5)]  # fmt: skip
    recovery = {"end": 1, "what": records.CA_STATE, "ssthresh_segments": 5, "cwnd_segments": 10}
    events = [
        {**recovery, "time_ns": 8 * MS, "value": 3, "before": 0},
        {**recovery, "time_ns": 12 * MS, "value": 0, "before": 3},
    ]
    links = [
        step(MS, records.ENQUEUED, 1, 99), step(2 * MS, records.ENQUEUED, 0, 100),
        step(3 * MS, records.REFUSED, 0, 100, to_sink=1, payload_bytes=1000, frame_bytes=1054),
        step(4 * MS, records.BEGUN, 1, 99),
    ]  # fmt: skip
    return trace(kinds, frames if "packets" in kinds else (), acks=acks, events=events, links=links)


def taken() -> Trace:
    """The trace ``told``, but the queue has room for the packet that it drops there."""
    made = told()
    made.tables["links"]["step"][2] = records.ENQUEUED
    made.tables["links"]["queue_packets"][2:] += 1
    return made


def traced_run(
    store: Store,
    *traces: Trace,
    flows: Sequence[FlowRecord] = (),
    digest: str = "d1",
    **changes: Any,
) -> str:
    """Store a run of two or these flows with these traces; ``changes`` are of its head."""
    run_id = store.begin(head(**{"experiment_sha256": "e1", "variant": {}, **changes}))
    made = recording([], flows=flows or [flow("a"), flow("b")], queues=[queue()],
                     digest=digest)  # fmt: skip
    store.finish(run_id, made, 1.0, {"network": {"hosts": ["s", "d"]}})
    for each in traces:
        store.add_trace(run_id, each)
    return run_id
