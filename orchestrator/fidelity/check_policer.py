"""Rate of each policer while it dropped, from its counters in the run itself."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from orchestrator.fidelity.evidence import Evidence
from orchestrator.fidelity.host import RATE_TOLERANCE
from orchestrator.recording import Check
from topologies.model import Policer

TOLERANCE = 0.005
SLOW_TOLERANCE = 0.05
"""Beyond that, what samples may explain that a slow machine takes late."""
MOST_UNCERTAIN = 0.02
"""Above this share of what the bucket may have held, nothing is said of the rate."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each policer that dropped long enough to tell its rate."""
    for number, queue in enumerate(evidence.queues):
        name = f"{queue.link}:{queue.direction}"
        policer = evidence.channel(name).policer
        if queue.role != "policer" or policer is None:
            continue
        octets, time_s, unknown = dropping(evidence.samples(number), policer)
        if not octets or unknown > MOST_UNCERTAIN * octets:
            continue
        asked, measured = policer.rate_bps, octets * 8 / time_s
        rate_tolerance = RATE_TOLERANCE if evidence.real_time else TOLERANCE
        tolerance = asked * (rate_tolerance + unknown / octets)
        good = evidence.judge(abs(measured - asked), tolerance, asked * SLOW_TOLERANCE)
        detail = f"over {time_s:.3f} s in which it dropped again and again"
        yield Check(f"policed_rate {name}", "bit/s", asked, measured, tolerance, good, detail)


def dropping(samples: npt.NDArray[np.void], policer: Policer) -> tuple[int, float, float]:
    """Return (bytes passed, seconds, bytes unknown) of the intervals with drops between samples.

    At a drop the bucket is empty, but what it held at either end of an unbroken row of such
    intervals is not known: up to the burst, or what an interval brings.
    """
    lengths = np.diff(samples["time_ns"]) / 1e9
    busy = np.diff(samples["drops"]) > 0
    ends = np.diff(np.concatenate([[False], busy, [False]]).astype(np.int8)) != 0
    longest_s = float(lengths[busy].max(initial=0.0))
    held = min(policer.burst_bytes, policer.rate_bps * longest_s / 8)
    passed = int(np.diff(samples["bytes"])[busy].sum())
    return passed, float(lengths[busy].sum()), int(ends.sum()) * held
