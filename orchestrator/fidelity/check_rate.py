"""Rate of each bottleneck while it was backlogged, from the queue samples of the run itself."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording import Check

TOLERANCE = 0.005
LEAST_FRAMES = 400
"""Below so many frames in backlogged intervals, the frame at either end weighs too much."""

FRAME_BYTES = 1514


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each bottleneck channel that was backlogged long enough to tell."""
    for number, queue in enumerate(evidence.queues):
        if queue.role != "queue" or not queue.bottleneck:
            continue
        asked = evidence.channel(f"{queue.link}:{queue.direction}").rate_bps
        if asked is None:
            continue
        octets, time_s = backlogged(evidence.samples(number), asked)
        if octets < LEAST_FRAMES * FRAME_BYTES:
            continue
        measured = octets * 8 / time_s
        tolerance = asked * TOLERANCE
        good = abs(measured - asked) <= tolerance
        name = f"backlogged_rate {queue.link}:{queue.direction}"
        detail = f"over {time_s:.3f} s in which the queue never ran empty"
        yield Check(name, "bit/s", asked, measured, tolerance, good, detail)


def backlogged(samples: npt.NDArray[np.void], rate_bps: int) -> tuple[int, float]:
    """Return (bytes sent, seconds) of the intervals in which the queue cannot have run empty.

    Between two samples it cannot when the backlog at the first takes longer to send, at the
    asked rate, than the interval lasts. Where every interval is too long, nothing can be told.
    """
    time_s = samples["time_ns"] / 1e9
    lengths = np.diff(time_s)
    busy = samples["backlog_bytes"][:-1] * 8 / rate_bps >= lengths
    sent = np.diff(samples["bytes"])
    return int(sent[busy].sum()), float(lengths[busy].sum())
