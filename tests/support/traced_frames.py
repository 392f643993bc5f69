"""Traces that are made up: frames at two hosts and at the queue between them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orchestrator.protocol.reports.trace_records import (
    BEGUN,
    DROPPED,
    ENQUEUED,
    RECEIVED,
    REFUSED,
    SENT,
)
from orchestrator.recording.trace import FRAMES_DTYPE, Capture, Trace
from results.store.store import Store
from results.store.stored import StoredRun
from tests.support.recordings import head, whole

HOSTS = ["s", "d"]
"""Of every run here; the only link is the head's ``bottleneck``."""

FORWARD = 0
NOBODY = -1
NO_ECN, ECT, CE = 0, 2, 3
HEADER_BYTES = 14 + 20 + 20


class Seen(NamedTuple):
    """A frame as a host or a channel's queue saw it; ``captured`` are its first bytes."""

    time_ns: int
    step: int
    captured: bytes
    host: int = NOBODY
    channel: int = NOBODY
    frame_bytes: int = 1514


def frame(number: int, ecn: int = NO_ECN) -> bytes:
    """The headers of a full frame of TCP from s to d, whose sequence number tells its number."""
    ethernet = bytes.fromhex("020000000002020000000001") + b"\x08\x00"
    checksum = 0x1000 + ecn  # which changes with the codepoint
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x45, ecn, 1500, number, 0x4000, 64, 6, checksum,
        bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)),
    )  # fmt: skip
    tcp = struct.pack(">HHIIBBHHH", 40000, 5001, 1460 * number, 1, 0x50, 0x10, 500, 0, 0)
    return ethernet + ip + tcp


def trace(
    seen: Sequence[Seen], from_ns: int = 0, to_ns: int = 10**10, kinds: Sequence[str] = ("packets",)
) -> Trace:
    """A trace with these frames in the order of time, and with nothing else."""
    rows, data = [], b""
    for one in sorted(seen, key=lambda one: one.time_ns):
        size = len(one.captured)
        rows.append((one.time_ns, one.host, one.channel, 0, one.step, one.frame_bytes, size,
                     len(data)))  # fmt: skip
        data += one.captured
    capture = Capture(from_ns, to_ns, frozenset(kinds))
    made = Trace(capture, frame_bytes=data)
    made.tables["frames"] = np.array(rows, FRAMES_DTYPE)
    return made


def sent(time_ns: int, number: int, ecn: int = NO_ECN) -> Seen:
    """A frame that s sends."""
    return Seen(time_ns, SENT, frame(number, ecn), host=0)


def at_queue(time_ns: int, step: int, number: int, ecn: int = NO_ECN) -> Seen:
    """A step of a frame at the forward queue."""
    return Seen(time_ns, step, frame(number, ecn), channel=FORWARD)


def received(time_ns: int, number: int, ecn: int = NO_ECN) -> Seen:
    """A frame that d receives."""
    return Seen(time_ns, RECEIVED, frame(number, ecn), host=1)


DROPS = [
    *(sent(1000 * number, number) for number in (1, 2, 3, 4)),
    at_queue(1500, ENQUEUED, 1), at_queue(1500, BEGUN, 1),
    at_queue(2500, ENQUEUED, 2), at_queue(3500, REFUSED, 3),
    at_queue(4500, ENQUEUED, 4), at_queue(4500, REFUSED, 2),
    at_queue(9500, DROPPED, 4),
    received(8000, 1),
]  # fmt: skip
"""Frame 1 arrives. The queue drops 3 as it comes, 2 in favour of 4, and 4 when it is asked."""


def run_with(store: Store, *traces: Trace, hosts: object = HOSTS, **changes: object) -> StoredRun:
    """Store a run that is ok with these traces; ``changes`` are of its head."""
    run_id = store.begin(head(**changes))
    store.finish(run_id, whole(), 1.0, evidence={"network": {"hosts": hosts}})
    for each in traces:
        store.add_trace(run_id, each)
    return store.load(run_id)
