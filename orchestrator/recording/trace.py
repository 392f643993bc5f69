"""What happened to packets and connections in a window of a run, as arrays.

The kernel records it (kmods/run_trace_main.c). Times are nanoseconds since the start of traffic.
Rows are in the order of time; rows of one time are in the order in which they happened.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.reports.trace_records import (
    CLOSEST,
    DEFAULT_LIMIT_BYTES,
    EVENT_FIELDS,
    FLOW_FIELDS,
    LINK_FIELDS,
    NAME_BYTES,
    SNAP_BYTES,
    STATE_FIELDS,
    WANTED,
)

_RESERVED = "reserved"


def _of(fields: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Return fields of records as fields of rows."""
    return [(name, kind) for name, kind in fields if name != _RESERVED]


ENDS_DTYPE = np.dtype(
    [
        ("end", "u4"),
        ("flow", "i4"),
        ("is_sender", "u1"),
        ("address", "u4"),
        ("peer_address", "u4"),
        ("port", "u2"),
        ("peer_port", "u2"),
        ("congestion", "S16"),
    ]
)
"""Ends of connections: ``flow`` is -1 for one that no flow of the run has."""

ACKS_DTYPE = np.dtype([("time_ns", "i8"), ("end", "u4"), ("by", "u1"), *_of(STATE_FIELDS)])
"""States of ends after each segment and each timer."""

EVENTS_DTYPE = np.dtype([("time_ns", "i8"), ("end", "u4"), ("what", "u1"), *_of(EVENT_FIELDS)])
"""Events of ends; ``name`` is that of a counter."""

_HEADERS = [("time_ns", "i8"), ("channel", "i4"), ("step", "u1"), ("flow", "i4"), ("to_sink", "u1")]

LINKS_DTYPE = np.dtype([*_HEADERS, *_of(LINK_FIELDS)])
"""Steps of packets through channels; ``flow`` is -1 for a packet of none."""

DROPS_DTYPE = np.dtype(
    [
        ("time_ns", "i8"),
        ("flow", "i4"),
        ("to_sink", "u1"),
        *_of(FLOW_FIELDS),
        ("name", f"S{NAME_BYTES}"),
    ]
)
"""Packets that a kernel dropped outside of links; ``name`` is that of the reason."""

FRAMES_DTYPE = np.dtype(
    [
        ("time_ns", "i8"),
        ("host", "i4"),
        ("channel", "i4"),
        ("flow", "i4"),
        ("step", "u1"),
        ("frame_bytes", "u4"),
        ("captured_bytes", "u4"),
        ("offset", "i8"),
    ]
)
"""Frames at a host or a channel's queue; the other one is -1. ``offset`` is that of its bytes."""

HOSTS_DTYPE = np.dtype(
    [("host", "i4"), ("from_ns", "i8"), ("to_ns", "i8"), ("seen", "u4"), ("lost", "u4")]
)
"""Captures at hosts of a real machine: the part of the window in which each was open, how many
frames came to it (some shortly before and after), and how many of them are lost."""

TABLES = {
    "ends": ENDS_DTYPE,
    "acks": ACKS_DTYPE,
    "events": EVENTS_DTYPE,
    "links": LINKS_DTYPE,
    "drops": DROPS_DTYPE,
    "frames": FRAMES_DTYPE,
    "hosts": HOSTS_DTYPE,
}
"""The tables of a trace, by name."""


@dataclass(frozen=True)
class Capture:
    """What is to be traced, from ``from_ns`` until just before ``to_ns`` of traffic.

    ``flows`` and ``links`` are the names of those that are kept, all where there are none.
    """

    from_ns: int
    to_ns: int
    kinds: frozenset[str] = frozenset(CLOSEST)
    limit_bytes: int = DEFAULT_LIMIT_BYTES
    snap_bytes: int = SNAP_BYTES
    flows: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def wanted(self) -> int:
        """The kinds as the kernel takes them."""
        return sum(WANTED[kind] for kind in self.kinds)


def is_of_link(channel: str, name: str) -> bool:
    """Tell whether a channel is meant by a name: its own, or its link's, which means both ways."""
    return name in (channel, channel.rpartition(":")[0])


def _empty() -> dict[str, npt.NDArray[np.void]]:
    return {name: np.empty(0, dtype) for name, dtype in TABLES.items()}


@dataclass(frozen=True)
class Trace:
    """A trace: its tables by name, and the bytes of all frames one after the other.

    ``full_ns`` is when the limit was reached, and nothing is known from then on.
    """

    capture: Capture
    tables: dict[str, npt.NDArray[np.void]] = field(default_factory=_empty)
    frame_bytes: bytes = b""
    full_ns: int | None = None


def selected(trace: Trace, flows: frozenset[int], channels: frozenset[int]) -> Trace:
    """Return what a trace has of some flows and some channels; an empty set means all.

    Frames at hosts are kept whatever the channels are.
    """
    tables = dict(trace.tables)
    if flows:
        numbers = np.array(sorted(flows), np.int32)
        ends = tables["ends"] = tables["ends"][np.isin(tables["ends"]["flow"], numbers)]
        for name in ("acks", "events"):
            tables[name] = tables[name][np.isin(tables[name]["end"], ends["end"])]
        for name in ("links", "drops"):
            tables[name] = tables[name][np.isin(tables[name]["flow"], numbers)]
        frames = tables["frames"]
        tables["frames"] = frames[np.isin(frames["flow"], numbers)]
    if channels:
        numbers = np.array(sorted(channels), np.int32)
        tables["links"] = tables["links"][np.isin(tables["links"]["channel"], numbers)]
        at_hosts = tables["frames"]["host"] >= 0
        there = np.isin(tables["frames"]["channel"], numbers)
        tables["frames"] = tables["frames"][at_hosts | there]
    frames, frame_bytes = _packed(tables["frames"], trace.frame_bytes)
    return Trace(trace.capture, {**tables, "frames": frames}, frame_bytes, trace.full_ns)


def _packed(frames: npt.NDArray[np.void], data: bytes) -> tuple[npt.NDArray[np.void], bytes]:
    """Return frames with their bytes one after the other, without those of others."""
    spans = zip(frames["offset"].tolist(), frames["captured_bytes"].tolist(), strict=True)
    kept = b"".join(data[start : start + size] for start, size in spans)
    sizes = frames["captured_bytes"].astype(np.int64)
    packed = frames.copy()
    packed["offset"] = np.cumsum(sizes) - sizes
    return packed, kept
