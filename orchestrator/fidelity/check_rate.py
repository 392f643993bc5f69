"""Rate of each bottleneck while it was backlogged, from the queue samples of the run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.fidelity.evidence import Evidence
from orchestrator.fidelity.host import RATE_TOLERANCE
from orchestrator.network import Channel
from orchestrator.protocol.frames import FRAME_BYTES
from orchestrator.recording.capacity import Capacity
from orchestrator.recording.model import Check

TOLERANCE = 0.005
SLOW_TOLERANCE = 0.1
"""What late timers of a slow machine may add, as a share of the rate. A timer that is later than
the bucket is deep loses bytes."""
MOST_UNCERTAIN = 0.02
"""If frames at the ends of backlogged spans are a larger share, the rate is not judged."""
LEAST_WAITING = 0.05
"""If more than a frame waits at fewer of the samples, the rate hardly mattered."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each bottleneck channel that was backlogged for long enough.

    A rate that changes is compared with the mean of what the link could carry. A frame counts when
    it leaves, so each backlogged span is uncertain by a frame. The tolerance includes that. Every
    kernel but our guest's lets a frame leave early at each change of rate. See
    testbed/network/bucket.py. If that is too much, the check fails.

    A probe measures a constant rate before traffic. Only this check measures a rate that changes.
    If it cannot, and packets waited at LEAST_WAITING of the samples or more, it is in doubt. If
    packets hardly waited, the rate made no difference. For a trace the bed counts what leaves at
    each opportunity (testbed/network/bucket.py), so it is never in doubt.
    """
    for number, queue in enumerate(evidence.queues):
        if queue.role != "queue" or not queue.bottleneck:
            continue
        channel = evidence.channel(f"{queue.link}:{queue.direction}")
        if channel.rate_bps is None or channel.queue is None:
            continue
        steps = queue.rate_steps or ((0.0, channel.rate_bps),)
        samples = evidence.samples(number)
        frame_bytes = channel.frame_bytes
        busy = backlogged(samples, Capacity(steps), channel.queue.drops_queued, frame_bytes)
        uncertain = _share(busy.spans * _most_at_once_bytes(channel), busy)
        name = f"backlogged_rate {queue.link}:{queue.direction}"
        if uncertain > MOST_UNCERTAIN:
            waiting = float((samples["backlog_bytes"] > frame_bytes).mean()) if len(samples) else 0
            unmeasured = queue.rate_steps and channel.trace is None
            if unmeasured and waiting >= LEAST_WAITING:
                yield Check(name, "bit/s", None, None, None, None, _why_not(samples, waiting))
            continue
        requested = busy.bits / busy.time_s if queue.rate_steps else channel.rate_bps
        measured = busy.octets * 8 / busy.time_s
        rate_tolerance = RATE_TOLERANCE if evidence.real_time else TOLERANCE
        tolerance = requested * (rate_tolerance + uncertain)
        good = evidence.judge(abs(measured - requested), tolerance, requested * SLOW_TOLERANCE)
        detail = f"over {busy.time_s:.3f} s in which the queue never ran empty"
        yield Check(name, "bit/s", requested, measured, tolerance, good, detail)


def _why_not(samples: npt.NDArray[np.void], waiting: float) -> str:
    time_ns: npt.NDArray[np.int64] = samples["time_ns"]
    period_s = float(np.median(np.diff(time_ns))) / 1e9 if len(samples) > 1 else 0.0
    return (
        f"packets waited at {waiting:.0%} of the samples, but hardly ever as many as can leave "
        f"before the next one, {period_s:g} s later: sample queues more often"
    )


def _share(size_bytes: int, busy: Backlogged) -> float:
    """Return a number of bytes as a share of what could have left."""
    return size_bytes * 8 / busy.bits if busy.bits else 1.0


def _most_at_once_bytes(channel: Channel) -> int:
    """Return how much may leave at the moment of a sample: a frame, or what a trace grants."""
    opportunities = () if channel.trace is None else channel.trace.opportunities
    granted = max((frames for _time, frames in opportunities), default=0)
    return channel.frame_bytes + granted * FRAME_BYTES


@dataclass(frozen=True)
class Backlogged:
    """The time in which a queue cannot have run empty.

    ``octets`` left it in that time, and ``bits`` could have left. ``spans`` is the number of
    unbroken rows of sampling intervals.
    """

    octets: int
    bits: float
    time_s: float
    spans: int


def backlogged(
    samples: npt.NDArray[np.void], capacity: Capacity, sheds: bool, frame_bytes: int
) -> Backlogged:
    """Return the time in which the queue cannot have run empty.

    It cannot within an interval if the backlog at its begin exceeds what can be sent in it. One
    frame is subtracted, because it may be nearly sent. A queue that ``sheds`` packets drops some
    that it has taken; these are subtracted, too. If every interval is too long, no time is found.
    """
    time_s = samples["time_ns"] / 1e9
    bits = capacity.bits(time_s[:-1], time_s[1:])
    gone = frame_bytes * (1 + np.diff(samples["drops"]) * sheds)
    busy = (samples["backlog_bytes"][:-1] - gone) * 8 >= bits
    sent = np.diff(samples["bytes"])
    begins = int(np.count_nonzero(busy[1:] & ~busy[:-1])) + int(busy[:1].sum())
    lengths = np.diff(time_s)
    return Backlogged(
        int(sent[busy].sum()), float(bits[busy].sum()), float(lengths[busy].sum()), begins
    )  # fmt: skip
