"""The places of a trace that saw frames: hosts, and each queue from both sides.

A frame that several places saw is in a trace once for each of them. What became of a frame, such as
that a queue dropped it, is told by remarks.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.errors import UsageError
from orchestrator.protocol.reports.trace_records import (
    BEGUN,
    DROPPED,
    ENQUEUED,
    RECEIVED,
    REFUSED,
    SENT,
)
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shown
from results.runs.captures import host_names
from results.store.parts.integrity import damaged
from results.store.parts.traces import FRAME_BYTES, TraceHead
from results.store.stored import StoredRun
from results.traces.columns import channel_names
from results.wording import quantities

ALL = "all"
"""In place of a place: every one that has frames."""

SIDES = ("in", "out")
"""Of a queue: where frames come to it, and where their transmission begins."""

NOWHERE = -1
"""The place of a row that is no frame of its own: it tells what became of another row's."""

_MOST_NAMED = 40
"""The most places that a message names."""

_HEADERS_BYTES = 34
"""Ethernet's header and the least of IPv4."""
_ETHERNET_BYTES = 14
_CE = 3


@dataclass(frozen=True)
class SeenFrames:
    """The frames of a trace by the places that saw them.

    ``rows`` is an array of FRAMES_DTYPE in the order of time, and ``data`` has the frames' bytes.
    ``place`` has for each row an index of ``places``, or NOWHERE. ``remarks`` are texts by row.
    """

    head: TraceHead
    rows: npt.NDArray[np.void]
    data: bytes
    places: Sequence[str]
    place: npt.NDArray[np.int64]
    remarks: dict[int, str]

    @property
    def with_frames(self) -> list[int]:
        """The indices of the places that have frames, in the order of ``places``."""
        return [int(index) for index in np.unique(self.place[self.place != NOWHERE])]


def seen_frames(run: StoredRun, head: TraceHead) -> SeenFrames:
    """Return the frames of a trace of a run.

    Raises:
        StoreError: the trace or the run's network cannot be read.
    """
    trace = run.trace(head.number, ("frames", FRAME_BYTES))
    rows, data = trace.tables["frames"], trace.frame_bytes
    rows = rows[np.argsort(rows["time_ns"], kind="stable")]
    hosts, channels = host_names(run), channel_names(run)
    _require_sound(run, rows, len(data), len(hosts), len(channels))
    place = _place(rows, len(hosts))
    remarks = _dropped(rows, data, place)
    for row, channel in _marked(rows, data):
        text = f"marked with CE by the queue of {channels[channel]}"
        remarks[row] = f"{remarks[row]}; {text}" if row in remarks else text
    return SeenFrames(head, rows, data, _places(hosts, channels), place, remarks)


def names_of_places(run: StoredRun, head: TraceHead) -> list[str]:
    """Return the names of the places that have frames, without a look at the frames' bytes.

    Raises:
        StoreError: the trace or the run's network cannot be read.
    """
    rows = run.trace(head.number, ("frames",)).tables["frames"]
    hosts = host_names(run)
    places = _places(hosts, channel_names(run))
    found = np.unique(_place(rows, len(hosts))[rows["step"] != DROPPED]).tolist()
    return [places[index] for index in found if 0 <= index < len(places)]


def _places(hosts: Sequence[str], channels: Sequence[str]) -> list[str]:
    return [*hosts, *(f"{name}:{side}" for name in channels for side in SIDES)]


def _place(rows: npt.NDArray[np.void], hosts: int) -> npt.NDArray[np.int64]:
    """Return the place of each row as an index of :func:`_places`."""
    leaves = rows["step"] == BEGUN
    at_queue = hosts + len(SIDES) * rows["channel"].astype(np.int64) + leaves
    return np.where(rows["host"] >= 0, rows["host"], at_queue).astype(np.int64)


def chosen_places(frames: SeenFrames, name: str | None, run_id: str) -> list[int]:
    """Return the indices of the places that a name means: one, or all that have frames.

    Raises:
        UsageError: there is no such place, or it has no frames.
    """
    if name == ALL:
        return frames.with_frames
    there = [frames.places[index] for index in frames.with_frames]
    if name is not None and name in there:
        return [frames.places.index(name)]
    if name is None:
        wrong = "--at: name the place where the frames were seen"
    elif name in frames.places:
        wrong = f"--at {shown(name)}: no frames were seen there"
    else:
        wrong = f"--at {shown(name)}: there is no such place{suggest(name, [*there, ALL])}"
    raise UsageError(
        f"{wrong}\n  trace {frames.head.number} of run {run_id} has frames of"
        f"\n  hosts: {_some([name for name in there if ':' not in name])}"
        "\n  queues, each with :in or :out: "
        f"{_some([name.rpartition(':')[0] for name in there if ':' in name])}"
        f"\n  {ALL}: an interface for each of them"
    )


def _some(names: Sequence[str]) -> str:
    """Return a list of different names for a message, which ends after some of them."""
    different = list(dict.fromkeys(names))
    more = len(different) - _MOST_NAMED
    ending = f" and {more} more" if more > 0 else ""
    return (listed(different[:_MOST_NAMED]) or "none") + ending


def _require_sound(
    run: StoredRun, rows: npt.NDArray[np.void], size: int, hosts: int, channels: int
) -> None:
    """Raise StoreError when a row is of nothing that the run has, or its bytes are not there."""
    host, channel, step = rows["host"], rows["channel"], rows["step"]
    captured, offset = rows["captured_bytes"].astype(np.int64), rows["offset"]
    at_host = (host >= 0) & (host < hosts) & (channel == -1) & np.isin(step, (SENT, RECEIVED))
    steps = (ENQUEUED, BEGUN, REFUSED, DROPPED)
    at_queue = (host == -1) & (channel >= 0) & (channel < channels) & np.isin(step, steps)
    held = (offset >= 0) & (offset <= size - captured) & (captured <= rows["frame_bytes"])
    if not ((at_host | at_queue) & held & (rows["time_ns"] >= 0)).all():
        raise damaged(run.id, "table trace_tables: a frame is not what a trace has")


def _identity(data: bytes, start: int, size: int) -> bytes:
    """Return what stays the same of a packet on its way.

    A queue may change its ECN codepoint and with it the checksum of IP.
    """
    packet = data[start + _ETHERNET_BYTES : start + size]
    return packet[:1] + bytes(byte & ~_CE for byte in packet[1:2]) + packet[2:10] + packet[12:]


def _identities(
    rows: npt.NDArray[np.void], data: bytes, wanted: npt.NDArray[np.bool_]
) -> Iterator[tuple[int, bytes]]:
    """Yield (row, identity) of the wanted rows that have enough of their frame."""
    wanted = wanted & (rows["captured_bytes"] >= _HEADERS_BYTES)
    starts, sizes = rows["offset"].tolist(), rows["captured_bytes"].tolist()
    for row in np.flatnonzero(wanted).tolist():
        yield row, _identity(data, starts[row], sizes[row])


def _dropped(
    rows: npt.NDArray[np.void], data: bytes, place: npt.NDArray[np.int64]
) -> dict[int, str]:
    """Return remarks on frames that queues dropped, by row; a drop's own row gets no place.

    A queue may drop a frame that has waited. The frame came before, and is seen where it came. One
    that is dropped as it comes is seen there by the row of its drop.
    """
    steps, times = rows["step"].tolist(), rows["time_ns"].tolist()
    channels = rows["channel"].tolist()
    place[rows["step"] == DROPPED] = NOWHERE
    drops = np.isin(rows["step"], (REFUSED, DROPPED))
    concerned = np.isin(rows["channel"], np.unique(rows["channel"][drops]))
    remarks = dict.fromkeys(
        np.flatnonzero(rows["step"] == REFUSED).tolist(), "dropped when it came to the queue"
    )
    waiting: defaultdict[tuple[int, bytes], deque[int]] = defaultdict(deque)
    for row, identity in _identities(rows, data, concerned):
        came = waiting[channels[row], identity]
        if steps[row] == ENQUEUED:
            came.append(row)
        elif came:
            first = came.popleft()
            if steps[row] == BEGUN:
                continue
            place[row] = NOWHERE
            remarks.pop(row, None)
            later = quantities.time(times[row] - times[first])
            when = (
                "when the queue was asked for a packet"
                if steps[row] == DROPPED
                else "in favour of another packet"
            )
            remarks[first] = f"dropped {later} later, {when}"
    return remarks


def _marked(rows: npt.NDArray[np.void], data: bytes) -> Iterator[tuple[int, int]]:
    """Yield (row, channel) of each frame with CE that was seen without before the channel's queue.

    Where no place did, the sender may have sent it so, or the window begins too late to tell.
    """
    congested = _with_ce(rows, data)
    if not congested.any():
        return
    channels, with_ce = rows["channel"].tolist(), congested.tolist()
    seen_without: set[bytes] = set()
    by: dict[bytes, int] = {}
    for row, identity in _identities(rows, data, np.ones(len(rows), np.bool_)):
        if not with_ce[row]:
            seen_without.add(identity)
            continue
        if identity not in by and identity in seen_without and channels[row] >= 0:
            by[identity] = channels[row]
        if identity in by:
            yield row, by[identity]


def _with_ce(rows: npt.NDArray[np.void], data: bytes) -> npt.NDArray[np.bool_]:
    """Tell for each frame whether it is of IPv4 with the ECN codepoint CE."""
    whole: npt.NDArray[np.bool_] = rows["captured_bytes"] >= _HEADERS_BYTES
    if not whole.any():
        return whole
    octets = np.frombuffer(data, np.uint8)
    start = np.where(whole, rows["offset"], 0)
    is_ipv4 = (octets[start + 12] == 8) & (octets[start + 13] == 0)
    found: npt.NDArray[np.bool_] = whole & is_ipv4 & (octets[start + 15] & _CE == _CE)
    return found
