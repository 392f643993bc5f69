"""Known distributions of sizes, as points of their cumulative distribution function (CDF).

Between two points the CDF is a straight line. Sizes are drawn from it and rounded down.

By the points that simulators use, of flows in data centres:

- websearch: M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, Fig. 4; mean 1.71 MB.
- data-mining: A. Greenberg et al., "VL2", SIGCOMM 2009, Fig. 2, in packets of 1460 bytes as pFabric
  has it (M. Alizadeh et al., SIGCOMM 2013); mean 7.5 MB.
- hadoop: A. Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015, Fig. 6,
  by the points of HPCC (Y. Li et al., SIGCOMM 2019); mean 0.12 MB.

By the parameters of a model:

- cache: B. Atikoglu et al., "Workload Analysis of a Large-Scale Key-Value Store", SIGMETRICS 2012,
  Section 5: values of the memcached pool ETC at Facebook. Shares of 0 to 14 bytes each, and a
  generalized Pareto distribution of all larger ones. Workload W1 of Homa (B. Montazeri et al.,
  SIGCOMM 2018) is of this model, too. No byte counts as one, and none is above the store's 1 MB;
  mean 195 B.
- web-object: embedded objects of web pages in the HTTP model of 3GPP2 C.R1002 and IEEE 802.16m,
  which ns-3's ThreeGppHttpVariables has, too. Lognormal with a mean of 7758 B and a deviation of
  126168 B; sizes outside 50 B to 2 MB are drawn again; mean then 8.19 kB.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from statistics import NormalDist

Points = tuple[tuple[float, float], ...]
"""(bytes, share of flows that are not larger), both rising, from any share to 1."""

_PACKET_BYTES = 1460
_ETC_SMALL = (
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837,
    0.00837, 0.08989, 0.00092, 0.00326, 0.01980,
)  # fmt: skip
"""The share of values of 0, 1, ... 14 bytes in ETC."""
_ETC_SCALE_BYTES, _ETC_SHAPE = 214.476, 0.348238
_ETC_MOST_BYTES = 1_000_000
_PER_DECADE, _DECADES = 24, 7
_NORMAL_STEPS = 192


def _cache() -> Iterator[tuple[float, float]]:
    """Yield the points of ETC. Sizes of n bytes are those from n to n + 1, rounded down."""
    below = 0.0
    yield 1, 0.0
    shares = (_ETC_SMALL[0] + _ETC_SMALL[1], *_ETC_SMALL[2:])
    for size_bytes, share in enumerate(shares, start=1):
        below += share
        yield size_bytes + 1, round(below, 9)
    first = len(_ETC_SMALL)
    for step in range(1, _PER_DECADE * _DECADES + 1):
        tail = 10 ** (-step / _PER_DECADE)
        size = first + _ETC_SCALE_BYTES / _ETC_SHAPE * (math.pow(tail, -_ETC_SHAPE) - 1)
        yield round(size, 3), round(1 - (1 - below) * tail, 12)
    yield _ETC_MOST_BYTES, 1.0


def _lognormal(
    mean: float, deviation: float, least: float, most: float
) -> Iterator[tuple[float, float]]:
    """Yield the points of a lognormal distribution whose values lie between two ends."""
    variance = math.log1p((deviation / mean) ** 2)
    logarithm = NormalDist(math.log(mean) - variance / 2, math.sqrt(variance))
    low, high = math.log(least), math.log(most)
    below, within = logarithm.cdf(low), logarithm.cdf(high) - logarithm.cdf(low)
    for step in range(_NORMAL_STEPS + 1):
        place = low + (high - low) * step / _NORMAL_STEPS
        yield round(math.exp(place), 3), round((logarithm.cdf(place) - below) / within, 12)


KNOWN: dict[str, Points] = {
    "websearch": (
        (0, 0), (10e3, 0.15), (20e3, 0.20), (30e3, 0.30), (50e3, 0.40), (80e3, 0.53), (200e3, 0.60),
        (1e6, 0.70), (2e6, 0.80), (5e6, 0.90), (10e6, 0.97), (30e6, 1),
    ),
    "data-mining": tuple(
        (packets * _PACKET_BYTES, share)
        for packets, share in (
            (1, 0.50), (2, 0.60), (3, 0.70), (7, 0.80), (267, 0.90), (2107, 0.95), (66667, 0.99),
            (666667, 1),
        )
    ),
    "hadoop": (
        (0, 0), (100, 0.01), (200, 0.02), (300, 0.05), (350, 0.15), (400, 0.20), (500, 0.30),
        (600, 0.40), (700, 0.50), (1e3, 0.60), (2e3, 0.67), (7e3, 0.70), (30e3, 0.72),
        (50e3, 0.82), (80e3, 0.87), (120e3, 0.90), (300e3, 0.95), (1e6, 0.975), (2e6, 0.99),
        (10e6, 1),
    ),
    "cache": tuple(_cache()),
    "web-object": tuple(_lognormal(7758, 126_168, least=50, most=2_000_000)),
}  # fmt: skip


def mean(points: Points) -> float:
    """Return the mean of drawn values before they are rounded down, in closed form."""
    first, share = points[0]
    total = first * share
    for (low, below), (high, above) in itertools.pairwise(points):
        total += (low + high) / 2 * (above - below)
    return total
