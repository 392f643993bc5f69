"""Rate and bucket of each policer: from bursts before traffic, and while it dropped in the run."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from orchestrator.fidelity.evidence import Evidence
from orchestrator.fidelity.host import RATE_TOLERANCE
from orchestrator.network import Policer
from orchestrator.protocol import facts
from orchestrator.protocol.frames import FRAME_BYTES
from orchestrator.recording.model import Check

TOLERANCE = 0.005
SLOW_TOLERANCE = 0.05
"""Beyond that, what samples may explain that a slow machine takes late."""
MOST_UNCERTAIN = 0.02
"""Above this share of what the bucket may have held, nothing is said of the rate in the run."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield, for each policer, its bucket and rate before traffic, and its rate in the run.

    The rate in the run is of the time in which it dropped again and again. More than its rate can
    bring is a fault; less tells nothing, because the bucket may have been full for a while between
    two drops. A policer whose rate neither tells is doubtful when it dropped anything: what it
    dropped it may have dropped too early or too late. One that dropped nothing changed nothing.
    """
    probed = {fact["channel"]: fact for fact in evidence.all(facts.Policer)}
    for fact in probed.values():
        yield from _probed(evidence, fact)
    for number, queue in enumerate(evidence.queues):
        name = f"{queue.link}:{queue.direction}"
        policer = evidence.channel(name).policer
        if queue.role != "policer" or policer is None:
            continue
        samples = evidence.samples(number)
        octets, time_s, unknown = dropping(samples, policer)
        told = octets > 0 and unknown <= MOST_UNCERTAIN * octets
        drops = int(samples["drops"][-1] - samples["drops"][0]) if len(samples) else 0
        if told:
            found = _in_run(evidence, name, policer, octets, time_s, unknown)
        elif drops:
            detail = f"{drops} drops are too few, or too far apart, to tell its rate"
            found = Check(
                f"policed_rate {name}", "bit/s", policer.rate_bps, None, None, None, detail
            )
        else:
            continue
        if found.ok is not None or name not in probed:
            yield found


def _in_run(
    evidence: Evidence, name: str, policer: Policer, octets: int, time_s: float, unknown: float
) -> Check:
    asked, measured = policer.rate_bps, octets * 8 / time_s
    rate_tolerance = RATE_TOLERANCE if evidence.real_time else TOLERANCE
    tolerance = asked * (rate_tolerance + unknown / octets)
    detail = f"over {time_s:.3f} s in which it dropped again and again"
    good = None
    if measured < asked - tolerance:
        detail += "; its bucket may have been full between two drops"
    else:
        good = evidence.judge(abs(measured - asked), tolerance, asked * SLOW_TOLERANCE)
    return Check(f"policed_rate {name}", "bit/s", asked, measured, tolerance, good, detail)


def _probed(evidence: Evidence, fact: facts.Policer) -> Iterable[Check]:
    """Yield bucket and rate as bursts found them.

    The first one finds the bucket full. Behind the last packet that passes of each the bucket holds
    less than a frame, so from there to there in another passes what the rate brings.
    """
    channel, rate_bps, held = fact["channel"], fact["rate_bps"], fact["burst_bytes"]
    rounds: dict[int, list[int]] = {}
    for number, _sequence, came_ns, _left_ns in fact["passed"]:
        rounds.setdefault(number, []).append(came_ns)
    first, last = rounds.get(0, []), rounds.get(fact["rounds"] - 1, [])
    later = sum(map(len, rounds.values())) - len(first)
    dropped = fact["came"] - later - len(first)
    name, rate_name = f"policer_burst {channel}", f"policer_rate {channel}"
    if not first or not last or not dropped:
        detail = f"{later + len(first)} of {fact['came']} packets of a probe passed"
        yield Check(rate_name, "bit/s", rate_bps, None, None, False, detail)
        return
    burst = len(first) * FRAME_BYTES - rate_bps / 8 * (first[-1] - first[0]) / 1e9
    # A machine that halts in the middle of a burst has sent several.
    good = evidence.judge(abs(burst - held), FRAME_BYTES, math.inf)
    yield Check(name, "bytes", held, burst, FRAME_BYTES, good, f"{len(first)} packets at once")
    measured = later * FRAME_BYTES * 8e9 / (last[-1] - first[-1])
    rate_tolerance = RATE_TOLERANCE if evidence.real_time else TOLERANCE
    tolerance = rate_bps * (rate_tolerance + 1 / later)
    good = evidence.judge(abs(measured - rate_bps), tolerance, math.inf)
    detail = f"{later} packets in {fact['rounds'] - 1} rounds"
    yield Check(rate_name, "bit/s", rate_bps, measured, tolerance, good, detail)


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
