"""Damages a trace of a record of each kind, and checks what its decoder makes of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestrator.errors import BedError
from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording import trace_ranges
from orchestrator.recording.trace import TABLES
from tests.support import traces
from tests.support.traces import ASKED, DOWN, UP, VOICE, ends_of, leaves, packet

SPEC = traces.planned()
T = traces.CAPTURE.from_ns
SOURCE, SINK = ends_of(SPEC, UP)
FORWARD = leaves(SPEC, "bottleneck", "forward")

WHOLE = b"".join((
    traces.socket(1, SOURCE, SINK),
    traces.socket(2, *ends_of(SPEC, ASKED)),
    traces.state(T, 1, cwnd_segments=3),
    traces.event(T + 1, 2, records.COUNTER, name=b"TCPTimeouts"),
    traces.link(T + 2, FORWARD, records.BEGUN, *ends_of(SPEC, VOICE)),
    traces.drop(T + 3, *ends_of(SPEC, DOWN), name=b"NO_SOCKET"),
    traces.frame(T + 4, records.BEGUN, packet(SOURCE, SINK), interface=FORWARD),
    traces.frame(T + 5, records.RECEIVED, packet(SINK, SOURCE, bytes_behind=99), host=SOURCE[0]),
    traces.full(T + 6),
))  # fmt: skip
"""A record of each kind."""


def _cut(draw: random.Random, data: bytes) -> bytes:
    return data[: draw.randrange(len(data))]


def _flip(draw: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _byte in range(draw.choice((1, 1, 2, 8))):
        found[draw.randrange(len(found))] = draw.choice((0, 1, 255, draw.randrange(256)))
    return bytes(found)


def _splice(draw: random.Random, data: bytes) -> bytes:
    start, at = draw.randrange(len(data)), 8 * draw.randrange(len(data) // 8)
    return data[:at] + data[start : start + draw.choice((8, 16, 48, 200))] + data[at:]


def _extreme(draw: random.Random, data: bytes) -> bytes:
    size = draw.choice((2, 4, 8))
    at = size * draw.randrange(len(data) // size)
    number = draw.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1))
    fitting = number & ((1 << 8 * size) - 1)
    return data[:at] + fitting.to_bytes(size, "little") + data[at + size :]


_LEAST_BYTES = 8
"""A damage needs a word of this size."""
_DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _cut, _flip, _flip, _splice, _extreme,
)  # fmt: skip


def damaged_trace(draw: random.Random, whole: bytes = WHOLE) -> bytes:
    """Return a trace after one or two kinds of damage."""
    data = whole
    for _time in range(draw.choice((1, 1, 2))):
        if len(data) < _LEAST_BYTES:  # another damage has left too little
            data = whole
        data = draw.choice(_DAMAGES)(draw, data) or whole
    return data


def read_or_refused(data: bytes) -> bool:
    """Decode; return whether there is a trace, which has only values that a trace can have."""
    with TemporaryDirectory() as folder:
        try:
            made = traces.decoded(Path(folder), data)
        except BedError as error:
            assert str(error).isprintable()  # noqa: PT017 - either may happen
            return False
    network = SPEC.network
    counts = len(SPEC.flows), 2 * len(network.links), len(network.hosts)
    assert trace_ranges.problem(made, *counts) is None
    assert all(rows.dtype == TABLES[name] for name, rows in made.tables.items())
    assert sum(made.tables["frames"]["captured_bytes"].tolist()) == len(made.frame_bytes)
    return True
