"""A link's queue, packet by packet: how many of which flow wait, what it drops and marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import Trace
from results.traces.causes.marks import marked
from results.traces.names import LOSSES
from results.traces.view import Rows, chosen

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

TABLES = ("links",)

_QUEUE_STEPS = (
    records.ENQUEUED, records.BEGUN, records.REFUSED, records.DROPPED,
)  # fmt: skip


class QueuePoints(NamedTuple):
    """Packets that were dropped or marked: when, of which flow, and how many waited after that."""

    time_s: Floats
    flow: Integers
    packets: Integers

    @classmethod
    def of(cls, rows: Rows) -> QueuePoints:
        """Return the points of some steps."""
        return cls(
            rows["time_ns"] / 1e9,
            rows["flow"].astype(np.int64),
            rows["queue_packets"].astype(np.int64),
        )


@dataclass(frozen=True)
class Occupancy:
    """What waits in a queue from each moment of a step on, in packets.

    ``by_flow`` has the packets of each flow that has any, by its number, -1 for packets of none.
    What was there before the trace began and did not leave within it is of an unknown flow:
    ``packets`` less their sum. ``lost`` are drops of the queue and losses of the link behind it.
    """

    time_s: Floats
    packets: Integers
    by_flow: dict[int, Integers]
    lost: QueuePoints
    marks: QueuePoints


def occupancy(trace: Trace, channel: int) -> Occupancy:
    """Return what a trace of kind ``queue``, with all flows, has of a channel's queue."""
    links = trace.tables["links"]
    rows = chosen(links, links["channel"] == channel)
    lost = chosen(rows, np.isin(rows["step"], LOSSES))
    marks = marked(rows, whole=True)
    steps = chosen(rows, np.isin(rows["step"], _QUEUE_STEPS))
    packets = steps["queue_packets"].astype(np.int64)
    changes = _changes(steps["step"], packets)
    # Of steps at one time the last one tells what waits then.
    last = np.append(np.diff(steps["time_ns"]) > 0, True)[: len(steps)]
    by_flow = {}
    for flow in np.unique(steps["flow"]).tolist():
        inside = np.cumsum(np.where(steps["flow"] == flow, changes, 0))[last]
        # What left without having come had come before the trace began.
        inside -= min(int(inside.min(initial=0)), 0)
        if inside.any():
            by_flow[flow] = inside
    time_s = steps["time_ns"][last] / 1e9
    return Occupancy(time_s, packets[last], by_flow, QueuePoints.of(lost), QueuePoints.of(marks))


def _changes(step: npt.NDArray[np.uint8], packets: Integers) -> Integers:
    """Return by how much each step changes the number of packets of its own flow that wait.

    A queue refuses the packet that comes, or drops waiting ones. Which of the refused ones waited
    follows from the number that waits before and after. All rows of a packet's coming have the
    number after it. Those that are refused with it are told of last to first.
    """
    changes = np.zeros(len(step), np.int64)
    changes[step == records.ENQUEUED] = 1
    changes[np.isin(step, (records.BEGUN, records.DROPPED))] = -1
    fewer = -np.diff(packets, prepend=packets[:1])
    is_refused = step == records.REFUSED
    follows = np.zeros(len(step), np.bool_)
    follows[1:] = is_refused[1:] & is_refused[:-1] & (fewer[1:] == 0)
    begins = np.flatnonzero(is_refused & ~follows)
    ends = np.flatnonzero(is_refused & ~np.append(follows[1:], False)) + 1
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        waited = int(fewer[begin])
        if begin > 1 and step[begin - 1] == records.ENQUEUED:
            waited += int(fewer[begin - 1]) + 1
        if waited > 0:
            changes[max(end - waited, begin) : end] = -1
    return changes
