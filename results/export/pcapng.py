"""Packet captures for Wireshark and tshark: the frames of a trace as a place saw them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from orchestrator import __version__
from orchestrator.protocol.reports.trace_records import RECEIVED, SENT
from orchestrator.units import format_time
from results.export.base import trace_format
from results.runs.captures import captured_hosts, host_clocks
from results.store.stored import StoredRun
from results.traces import pcapng_blocks
from results.traces.choice import TraceChoice, trace_with
from results.traces.places import SeenFrames, chosen_places, seen_frames

_DIRECTIONS = {SENT: pcapng_blocks.OUT, RECEIVED: pcapng_blocks.IN}
_NS_PER_S = 1_000_000_000
_AT_HOST = "frames that the host sent and received"
_DESCRIPTIONS = {
    "in": "frames as they come to the queue, with those that it drops",
    "out": "frames as their transmission begins",
}


@trace_format("pcapng", at_places=True)
def write(run: StoredRun, paths: Sequence[Path], choice: TraceChoice) -> None:
    """FILE.pcapng: frames of a trace that ``zoom`` has stored, for Wireshark and tshark.

    ``--at`` names the place that saw them: a host, or a direction of a link with ``:in``, where
    frames come to its queue, or ``:out``, where their transmission begins. ``--at all`` has an
    interface for each place. Times are nanoseconds since the start of traffic. Comments tell which
    frames a queue dropped or marked.
    """
    head = trace_with(run, choice.number, "frames")
    frames = seen_frames(run, head)
    places = chosen_places(frames, choice.place, run.id)
    with paths[0].open("xb") as file:
        file.writelines(_blocks(run, frames, places, _made_by(run, frames, choice)))


def _made_by(run: StoredRun, frames: SeenFrames, choice: TraceChoice) -> str:
    """Return which run and trace the frames are of, in the words of the file's comment."""
    if choice.of_run is None:
        return f"run {run.id}, digest {run.row.digest}, trace {frames.head.number}"
    return f"run {choice.of_run}, digest {run.row.digest}, made again with a trace"


def _blocks(
    run: StoredRun, frames: SeenFrames, places: Sequence[int], made_by: str
) -> Iterator[bytes]:
    """Yield the blocks of a file with an interface for each of these places."""
    capture = frames.head.capture
    start, end = (format_time(at / _NS_PER_S) for at in (capture.from_ns, capture.to_ns))
    yield pcapng_blocks.section(
        f"orchestrator {__version__}",
        f"{made_by} of {start}..{end}; times are since the start of traffic",
    )
    captured = captured_hosts(run, frames.head)
    by = {host: clock.text for clock in host_clocks(run, captured) for host in clock.hosts}
    for place in places:
        name = frames.places[place]
        _channel, of_a_queue, side = name.rpartition(":")
        description = _DESCRIPTIONS[side] if of_a_queue else _AT_HOST
        if name in by:
            description = f"{description}; times are by {by[name]}"
        yield pcapng_blocks.interface(name, description, capture.snap_bytes)
    number_of = {place: number for number, place in enumerate(places)}
    rows = frames.rows
    columns = [
        rows[name].tolist()
        for name in ("time_ns", "offset", "captured_bytes", "frame_bytes", "step")
    ]
    for row in np.flatnonzero(np.isin(frames.place, places)).tolist():
        time_ns, offset, kept_bytes, size, step = (column[row] for column in columns)
        yield pcapng_blocks.packet(
            number_of[int(frames.place[row])],
            time_ns,
            frames.data[offset : offset + kept_bytes],
            size,
            _DIRECTIONS.get(step, 0),
            frames.remarks.get(row, ""),
        )
    for host in captured:
        number = number_of.get(frames.places.index(host.host))
        if number is not None:
            yield pcapng_blocks.statistics(number, host.to_ns, host.seen, host.lost)
