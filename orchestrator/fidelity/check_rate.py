"""Rate of each bottleneck while it was backlogged, from the queue samples of the run itself."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording import Check

TOLERANCE = 0.005
MOST_UNCERTAIN = 0.02
"""Above this share of frames at the ends of backlogged spans, nothing is said of the rate."""

FRAME_BYTES = 1514


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each bottleneck channel that was backlogged long enough to tell.

    A frame counts when it leaves, so each backlogged span is uncertain by a frame; the tolerance
    holds those.
    """
    for number, queue in enumerate(evidence.queues):
        if queue.role != "queue" or not queue.bottleneck:
            continue
        asked = evidence.channel(f"{queue.link}:{queue.direction}").rate_bps
        if asked is None:
            continue
        octets, time_s, spans = backlogged(evidence.samples(number), asked)
        uncertain = spans * FRAME_BYTES / octets if octets else 1.0
        if uncertain > MOST_UNCERTAIN:
            continue
        measured = octets * 8 / time_s
        tolerance = asked * (TOLERANCE + uncertain)
        good = abs(measured - asked) <= tolerance
        name = f"backlogged_rate {queue.link}:{queue.direction}"
        detail = f"over {time_s:.3f} s in which the queue never ran empty"
        yield Check(name, "bit/s", asked, measured, tolerance, good, detail)


def backlogged(samples: npt.NDArray[np.void], rate_bps: int) -> tuple[int, float, int]:
    """Return (bytes sent, seconds, spans) of the time in which the queue cannot have run empty.

    Between two samples it cannot when the backlog at the first, less the frame that may be nearly
    sent, takes longer to send at the asked rate than the interval lasts. Where every interval is
    too long, nothing can be told. ``spans`` counts the unbroken rows of such intervals.
    """
    time_s = samples["time_ns"] / 1e9
    lengths = np.diff(time_s)
    busy = (samples["backlog_bytes"][:-1] - FRAME_BYTES) * 8 / rate_bps >= lengths
    sent = np.diff(samples["bytes"])
    begins = int(np.count_nonzero(busy[1:] & ~busy[:-1])) + int(busy[:1].sum())
    return int(sent[busy].sum()), float(lengths[busy].sum()), begins
