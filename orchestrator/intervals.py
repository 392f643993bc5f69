"""Computes intervals of counts in a faithful emulation, from exact tail probabilities."""

from __future__ import annotations

from collections.abc import Callable

Interval = tuple[int, int]
"""The least and the largest count, both included."""


def binomial(trials: int, probability: float, chance: float) -> Interval:
    """Return the interval of successes of independent trials, with ``chance`` beyond each end."""
    if trials <= 0 or probability <= 0:
        return 0, 0
    if probability >= 1:
        return trials, trials
    from scipy.special import bdtr, bdtrc  # slow to import, and few runs need it

    low = _first(trials, lambda count: float(bdtr(count, trials, probability)) > chance)
    high = _first(trials, lambda count: float(bdtrc(count, trials, probability)) <= chance)
    return low, high


def renewals(packets: int, gap: int, probability: float, chance: float) -> Interval:
    """Return the interval of packets that netem picks, with ``chance`` beyond each end.

    After each pick, ``gap`` - 1 packets are skipped, then each packet is picked with
    ``probability``. So k picks take k (gap - 1) skipped packets, and the trials that k successes
    need. There are at least k picks when the remaining packets give k successes.
    """

    def at_least(picks: int) -> float:
        """Return the probability of at least that many picks."""
        from scipy.special import bdtrc

        trials = packets - picks * (gap - 1)
        if picks <= 0:
            return 1.0
        if trials < picks:
            return 0.0
        return 1.0 if probability >= 1 else float(bdtrc(picks - 1, trials, probability))

    if packets <= 0 or probability <= 0:
        return 0, 0
    low = _first(packets, lambda picks: 1.0 - at_least(picks + 1) > chance)
    high = _first(packets, lambda picks: at_least(picks + 1) <= chance)
    return low, high


def _first(most: int, holds: Callable[[int], bool]) -> int:
    """Return the least count up to ``most`` for which the monotonic condition ``holds``."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
