"""The values that a trace can have. A test bed's and a stranger's store are held against them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import Trace

MOST_HOSTS = 2**24
"""All hosts are in 10.0.0.0/8."""

_FLAG = range(2)
_VALUES: Mapping[str, Mapping[str, Sequence[int]]] = {
    "ends": {"is_sender": _FLAG},
    "acks": {
        "by": (records.BY_SEGMENT, records.BY_TIMER),
        "ca_state": range(len(records.CA_STATES)),
        "info_bytes": range(records.CA_INFO_BYTES + 1),
    },
    "events": {"what": range(records.CA_STATE, records.CWND + 1)},
    "links": {"step": range(records.ENQUEUED, records.LOST_BY_RING + 1), "to_sink": _FLAG},
    "drops": {"to_sink": _FLAG},
    "frames": {"step": records.FRAME_STEPS},
    "hosts": {},
}
"""Valid values by table and column, of columns that have few."""

_NAMES = {
    "ends": ("congestion", re.compile(rb"[!-~\x80-\xff]*")),
    "events": ("name", re.compile(rb"[A-Za-z0-9_]*")),
    "drops": ("name", re.compile(rb"[A-Za-z0-9_]*")),
}
"""Column with a name, and its characters, by table. Modules of users give controls their names."""


def problem(trace: Trace, flows: int, channels: int, hosts: int = MOST_HOSTS) -> str | None:
    """Return what is wrong with a trace, None when nothing is.

    ``flows``, ``channels`` and ``hosts`` are how many the run has.
    """
    return next(_problems(trace, {"flow": flows, "channel": channels, "host": hosts}), None)


def _problems(trace: Trace, numbers: Mapping[str, int]) -> Iterator[str]:
    tables = trace.tables
    for name, rows in tables.items():
        for column, valid in _VALUES[name].items():
            if not np.isin(rows[column], valid).all():
                yield f"{name} has a row of an unknown sort: {column}"
        for column in numbers.keys() & set(rows.dtype.names or ()):
            least = 0 if (name, column) == ("links", "channel") else -1
            if _is_outside(rows[column], least, numbers[column] - 1):
                yield f"{name} has a row of an unknown {column}"
        if "time_ns" in (rows.dtype.names or ()):
            yield from _of_times(name, rows["time_ns"], trace)
        if name in _NAMES:
            yield from _of_names(rows, *_NAMES[name])
    ends = tables["ends"]["end"]
    if len(np.unique(ends)) != len(ends):
        yield "two connections have one number"
    for name in ("acks", "events"):
        if not np.isin(tables[name]["end"], ends).all():
            yield f"{name} has a row of a connection that was not told of"
    yield from _of_frames(tables["frames"], len(trace.frame_bytes))
    yield from _of_hosts(tables["hosts"], trace)
    if trace.full_ns is not None and trace.full_ns >= trace.capture.to_ns:
        yield "the limit was reached after the window"


def _of_hosts(hosts: npt.NDArray[np.void], trace: Trace) -> Iterator[str]:
    if (hosts["lost"] > hosts["seen"]).any():
        yield "a host lost more frames than came"
    if len(np.unique(hosts["host"])) != len(hosts) or (hosts["host"] < 0).any():
        yield "hosts has a row of an unknown host"
    window = (trace.capture.from_ns, trace.capture.to_ns)
    if _is_outside(hosts["from_ns"], *window) or _is_outside(hosts["to_ns"], *window):
        yield "hosts has a row outside the window that was asked for"


def _is_outside(values: npt.NDArray[Any], least: int, most: int) -> bool:
    return bool(len(values)) and not (least <= int(values.min()) and int(values.max()) <= most)


def _of_times(name: str, times: npt.NDArray[np.int64], trace: Trace) -> Iterator[str]:
    if _is_outside(times, trace.capture.from_ns, trace.capture.to_ns - 1):
        yield f"{name} has a row outside the window that was asked for"
    if (times[1:] < times[:-1]).any():
        yield f"{name} is not in the order of time"


def _of_names(rows: npt.NDArray[np.void], column: str, valid: re.Pattern[bytes]) -> Iterator[str]:
    for text in np.unique(rows[column]).tolist():
        if not valid.fullmatch(text):
            yield f"{text!r:.80} is no name"


def _of_frames(frames: npt.NDArray[np.void], total: int) -> Iterator[str]:
    captured = frames["captured_bytes"].astype(np.int64)
    if (captured > frames["frame_bytes"]).any():
        yield "frames has a row with more bytes than the frame"
    if _is_outside(frames["offset"], 0, total) or (captured > total - frames["offset"]).any():
        yield "frames has a row with bytes that are not there"
    if ((frames["host"] >= 0) & (frames["channel"] >= 0)).any():
        yield "frames has a row that is at a host and at a queue"
