"""What the tests of TCP's states assert of a trace, beside what the formulas say."""

from __future__ import annotations

import math

import pytest

from tests.guest.peer.follow import Followed, Reduction
from tests.guest.peer.replay import CWR, LOSS, OPEN, RECOVERY, State, Trace

# Relative errors of estimates. The modules' integers lose less than a millionth. TIBET's averages
# stand still within 50 * 2^-16 of a sample, which is 8 in 10^5 of ACKs 10 us apart; the tau of
# Westwood 3 is chaotic in its rounding.
TOLERANCE = {"tibet": 1e-4, "westwood3": 1e-5}
DEFAULT_TOLERANCE = 1e-6


def assert_ssthresh(reduction: Reduction, name: str) -> None:
    """The formula's whole segments, two at least.

    While the window must not rise to it, the kernel has the window instead, and ssthresh at last.
    """
    low, high = _formula_ssthresh(reduction, name)
    for state in reduction.ended:
        # FAST lowers ssthresh itself, to leave slow start.
        assert low <= state.ssthresh <= high or name == "fast", reduction
    if reduction.is_conditional:
        low, high = min(low, reduction.window), min(high, reduction.window)
    assert low <= reduction.after.ssthresh <= high, reduction


def _formula_ssthresh(reduction: Reduction, name: str) -> tuple[int, int]:
    error = reduction.expected * TOLERANCE.get(name, DEFAULT_TOLERANCE)
    low, high = (max(2, math.floor(reduction.expected + sign * error)) for sign in (-1, 1))
    return low, high


def assert_window(trace: Trace, followed: Followed, mark: str) -> None:
    """The window is the formulas', without the fraction that is still to come."""
    expected = followed.window[mark]
    assert expected.allows(trace[mark].window), (mark, expected, trace[mark].window)


def assert_shown(trace: Trace, followed: Followed, mark: str, name: str) -> None:
    """What get_info shows: estimates in whole bytes/s, times in whole microseconds."""
    expected, shown = followed.shown[mark], trace[mark].shown
    assert len(shown) == len(expected)
    tolerance = TOLERANCE.get(name, DEFAULT_TOLERANCE)
    # What is shown is cut to integers; newreno_ns2 shows a fraction that each ACK has cut.
    cut = len(trace.acks()) if name == "newreno_ns2" else 1
    for wanted, got in zip(expected, shown, strict=True):
        if wanted is not None and wanted != math.inf:
            assert got == pytest.approx(wanted, rel=tolerance, abs=cut)


def assert_open_before(trace: Trace, followed: Followed, mark: str) -> None:
    """Before a congestion event: congestion avoidance, the window full and as the formulas say."""
    state = trace[mark]
    assert state.ca_state == OPEN
    assert state.in_flight == state.window >= state.ssthresh
    assert_window(trace, followed, mark)


def undone_ssthresh(before: State, reduction: Reduction) -> int:
    """What the core restores: ssthresh or three quarters of the window, unless more was set."""
    window = reduction.window
    set_last = (reduction.ended or [reduction.after])[0]
    return max(before.ssthresh, (window >> 1) + (window >> 2), set_last.ssthresh)


def assert_small_window(trace: Trace, followed: Followed, name: str) -> tuple[Reduction, State]:
    """Check a timeout and a loss or mark at a small window; return the latter and its end."""
    timeout, loss = followed.reductions
    assert timeout.kind == LOSS
    assert loss.kind in (CWR, RECOVERY)
    assert loss.window < 20
    assert_ssthresh(timeout, name)
    assert_ssthresh(loss, name)
    ((expected, recovered),) = followed.completed
    assert recovered is trace["recovered"]
    assert recovered in loss.ended
    assert expected.allows(recovered.window), (expected, recovered.window)
    return loss, recovered
