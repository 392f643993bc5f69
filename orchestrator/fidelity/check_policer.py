"""Rate and bucket of each policer, by bursts before traffic and while it drops during the run."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from orchestrator.fidelity.evidence import Evidence
from orchestrator.fidelity.host import RATE_TOLERANCE
from orchestrator.network import Policer
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check

TOLERANCE = 0.005
SLOW_TOLERANCE = 0.05
"""What late samples of a slow machine may add, as a share of the rate."""
MOST_UNCERTAIN = 0.02
"""If what the bucket may have held is a larger share of the bytes, the rate is not judged."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield, for each policer, its bucket and rate before traffic, and its rate in the run.

    The rate in the run is measured over sampling intervals with drops. A rate that is too high is a
    failure. A rate that is too low is not, because the bucket may have been full between two drops.
    If neither measurement gives the rate, and the policer dropped packets, the check is in doubt. A
    policer without drops has not changed the traffic.
    """
    probed = {fact["channel"]: fact for fact in evidence.all(facts.Policer)}
    for fact in probed.values():
        yield from _probed(evidence, fact)
    for number, queue in enumerate(evidence.queues):
        name = f"{queue.link}:{queue.direction}"
        policer = evidence.channel(name).policer
        if queue.role != "policer" or policer is None:
            continue
        samples = evidence.read(number)
        octets, time_s, unknown = dropping(samples, policer)
        measurable = octets > 0 and unknown <= MOST_UNCERTAIN * octets
        drops = int(samples["drops"][-1] - samples["drops"][0]) if len(samples) else 0
        if measurable:
            rate_check = _in_run(evidence, name, policer, octets, time_s, unknown)
        elif drops:
            detail = f"{drops} drops are too few, or too far apart, to tell its rate"
            rate_check = Check(
                f"policed_rate {name}", "bit/s", policer.rate_bps, None, None, None, detail
            )
        else:
            continue
        if rate_check.ok is not None or name not in probed:
            yield rate_check


def _in_run(
    evidence: Evidence, name: str, policer: Policer, octets: int, time_s: float, unknown: float
) -> Check:
    requested, measured = policer.rate_bps, octets * 8 / time_s
    rate_tolerance = RATE_TOLERANCE if evidence.real_time else TOLERANCE
    tolerance = requested * (rate_tolerance + unknown / octets)
    detail = f"over {time_s:.3f} s in which it dropped again and again"
    good = None
    if measured < requested - tolerance:
        detail += "; its bucket may have been full between two drops"
    else:
        good = evidence.judge(abs(measured - requested), tolerance, requested * SLOW_TOLERANCE)
    return Check(f"policed_rate {name}", "bit/s", requested, measured, tolerance, good, detail)


def _probed(evidence: Evidence, fact: facts.Policer) -> Iterable[Check]:
    """Yield bucket and rate as measured by bursts.

    The bucket is full before the first burst. After the last packet of a burst that passes, the
    bucket holds less than a frame. So what passes between two such moments gives the rate.
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
    frame_bytes = fact["frame_bytes"]
    burst = len(first) * frame_bytes - rate_bps / 8 * (first[-1] - first[0]) / 1e9
    # A machine that pauses within a burst has sent several bursts.
    good = evidence.judge(abs(burst - held), frame_bytes, math.inf)
    yield Check(name, "bytes", held, burst, frame_bytes, good, f"{len(first)} packets at once")
    measured = later * frame_bytes * 8e9 / (last[-1] - first[-1])
    rate_tolerance = RATE_TOLERANCE if evidence.real_time else TOLERANCE
    tolerance = rate_bps * (rate_tolerance + 1 / later)
    good = evidence.judge(abs(measured - rate_bps), tolerance, math.inf)
    detail = f"{later} packets in {fact['rounds'] - 1} rounds"
    yield Check(rate_name, "bit/s", rate_bps, measured, tolerance, good, detail)


def dropping(samples: npt.NDArray[np.void], policer: Policer) -> tuple[int, float, float]:
    """Return (bytes passed, seconds, bytes unknown) of the intervals with drops between samples.

    At a drop the bucket is empty. Its content at both ends of a row of such intervals is not known:
    at most the bucket's size, or what the rate brings in an interval.
    """
    lengths = np.diff(samples["time_ns"]) / 1e9
    busy = np.diff(samples["drops"]) > 0
    ends = np.diff(np.concatenate([[False], busy, [False]]).astype(np.int8)) != 0
    longest_s = float(lengths[busy].max(initial=0.0))
    held = min(policer.burst_bytes, policer.rate_bps * longest_s / 8)
    passed = int(np.diff(samples["bytes"])[busy].sum())
    return passed, float(lengths[busy].sum()), int(ends.sum()) * held
