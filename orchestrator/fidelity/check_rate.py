"""Rate of each bottleneck while it was backlogged, from readings of the queue."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from orchestrator.fidelity.backlog import (
    BackloggedTime,
    backlogged,
    capacity,
    intervals,
    most_at_once_bytes,
)
from orchestrator.fidelity.evidence import Evidence
from orchestrator.fidelity.host import RATE_TOLERANCE
from orchestrator.network import Channel
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
        samples = evidence.read(number)
        end_s = samples["time_ns"][-1] / 1e9 if len(samples) else 0.0
        carrier = capacity(queue, channel, end_s)
        busy = backlogged(
            intervals(samples, carrier, channel.queue.drops_queued, channel.frame_bytes)
        )
        uncertain = _share(busy.spans * most_at_once_bytes(channel), busy)
        name = f"backlogged_rate {queue.link}:{queue.direction}"
        if uncertain > MOST_UNCERTAIN:
            waiting = _waiting(evidence, samples, channel)
            unmeasured = queue.rate_steps and channel.trace is None
            if unmeasured and waiting >= LEAST_WAITING:
                yield Check(name, "bit/s", None, None, None, None, _why_not(waiting))
            continue
        requested = busy.bits / busy.time_s if queue.rate_steps else channel.rate_bps
        measured = busy.octets * 8 / busy.time_s
        rate_tolerance = RATE_TOLERANCE if evidence.real_time else TOLERANCE
        tolerance = requested * (rate_tolerance + uncertain)
        good = evidence.judge(abs(measured - requested), tolerance, requested * SLOW_TOLERANCE)
        detail = f"over {busy.time_s:.3f} s in which the queue never ran empty"
        yield Check(name, "bit/s", requested, measured, tolerance, good, detail)


def _waiting(evidence: Evidence, samples: npt.NDArray[np.void], channel: Channel) -> float:
    """Return the share of the regular readings, or of the samples, at which packets waited."""
    if evidence.readings is not None and evidence.plan is not None:
        period_ns = evidence.plan["sampling"]["readings_ns"]
        samples = samples[samples["time_ns"] % (period_ns or 1) == 0]
    return float((samples["backlog_bytes"] > channel.frame_bytes).mean()) if len(samples) else 0.0


def _why_not(waiting: float) -> str:
    return (
        f"packets waited at {waiting:.0%} of the readings, but hardly ever as many as can leave "
        "before the next one"
    )


def _share(size_bytes: int, busy: BackloggedTime) -> float:
    """Return a number of bytes as a share of what could have left."""
    return size_bytes * 8 / busy.bits if busy.bits else 1.0
