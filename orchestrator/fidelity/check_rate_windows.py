"""Rate of each queue in windows of time, while it was backlogged, by readings of the queue."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from orchestrator.fidelity.backlog import Intervals, capacity, intervals, most_at_once_bytes
from orchestrator.fidelity.evidence import Evidence
from orchestrator.fidelity.host import RATE_TOLERANCE
from orchestrator.recording.model import Check

TOLERANCE = 0.005
SLOW_TOLERANCE = 0.2
"""What late timers of a slow machine may add in a window, as a share of the rate."""
LEAST_FRAMES = 25
"""Backlogged spans in which fewer frames leave are left out: a frame would be too large a share."""
WINDOW_FRAMES = 100
"""At the mean rate, a window is as long as so many frames take, and at least a second."""


@dataclass(frozen=True)
class _Window:
    """A window: when it begins, and what left in its backlogged spans, and could have left."""

    begin_s: float
    octets: float
    bits: float
    time_s: float
    spans: int


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield a check for each queue with a rate, of the window in which it was farthest off.

    A frame counts when it leaves, so each backlogged span is uncertain by a frame, and with a trace
    by those of an opportunity. The tolerance is 0.5% and that. In real time it is 1%, that, and
    what the latest wake-up of the machine may have lost. A window in which the queue was not
    backlogged for LEAST_FRAMES in a row is not judged. Runs without readings are not judged.
    """
    if evidence.readings is None or evidence.plan is None or evidence.network.live:
        return
    duration_s = evidence.plan["sampling"]["duration_ns"] / 1e9
    for number, queue in enumerate(evidence.queues):
        channel = evidence.channel(f"{queue.link}:{queue.direction}")
        readings = evidence.read(number)
        if queue.role != "queue" or channel.rate_bps is None or channel.queue is None:
            continue
        if len(readings) < 2:
            continue
        at_once_bytes = most_at_once_bytes(channel)
        carrier = capacity(queue, channel, duration_s)
        spans = intervals(readings, carrier, channel.queue.drops_queued, channel.frame_bytes)
        mean_bps = float(carrier.bits(0.0, duration_s)) / duration_s
        length_s = max(1, math.ceil(WINDOW_FRAMES * channel.frame_bytes * 8 / max(mean_bps, 1.0)))
        least_bits = LEAST_FRAMES * at_once_bytes * 8
        judged = [
            (*_judged(evidence, window, at_once_bytes), window)
            for window in _windows(spans, length_s, least_bits)
        ]
        if judged:
            off_bps, tolerance_bps, window = max(
                judged, key=lambda judgement: judgement[0] - judgement[1]
            )
            requested_bps = window.bits / window.time_s
            good = evidence.judge(off_bps, tolerance_bps, requested_bps * SLOW_TOLERANCE)
            detail = (
                f"from {window.begin_s:g} s on, farthest off of {len(judged)} windows of "
                f"{length_s} s; never empty for {window.time_s:.3f} s of it"
            )
            yield Check(
                f"rate_window {queue.link}:{queue.direction}", "bit/s", requested_bps,
                window.octets * 8 / window.time_s, tolerance_bps, good, detail,
            )  # fmt: skip


def _judged(evidence: Evidence, window: _Window, at_once_bytes: int) -> tuple[float, float]:
    """Return (how far off a window's rate is, its tolerance), both in bit/s."""
    share = RATE_TOLERANCE if evidence.real_time else TOLERANCE
    tolerance_bits = share * window.bits + window.spans * at_once_bytes * 8
    late_s = max((host.late_max_s for host in evidence.hosts), default=0.0)
    tolerance_bits += window.spans * late_s * window.bits / window.time_s
    off_bits = abs(window.octets * 8 - window.bits)
    return off_bits / window.time_s, tolerance_bits / window.time_s


def _windows(spans: Intervals, length_s: int, least_bits: float) -> list[_Window]:
    """Return the windows that have a backlogged span in which ``least_bits`` could leave.

    A span is an unbroken row of busy intervals within one window.
    """
    window_number = spans.begin_ns // (length_s * 1_000_000_000)
    goes_on = spans.busy[1:] & spans.busy[:-1] & (window_number[1:] == window_number[:-1])
    span = np.concatenate([[0], np.cumsum(~goes_on)])
    size = int(span[-1]) + 1
    bits = np.bincount(span, spans.bits * spans.busy, size)
    octets = np.bincount(span, spans.octets * spans.busy, size)
    time_s = np.bincount(span, spans.length_s * spans.busy, size)
    spans_place = np.zeros(size, np.int64)
    spans_place[span] = window_number
    long = bits >= least_bits
    windows = []
    for number in np.unique(spans_place[long]).tolist():
        chosen = long & (spans_place == number)
        windows.append(
            _Window(
                number * length_s,
                float(octets[chosen].sum()),
                float(bits[chosen].sum()),
                float(time_s[chosen].sum()),
                int(chosen.sum()),
            )
        )
    return windows
