"""Completion times of transfers by their size, and how much longer they take than alone.

Short transfers have less than 100 kB, long ones more than 10 MB, and medium ones lie between. These
are the classes of M. Alizadeh et al., "pFabric", SIGCOMM 2013, section 5. A transfer belongs to the
span in which it begins. None where a span has no completed transfer of the class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from results.metrics.base import Function, RunData, Span, channel, metric
from results.metrics.rtt import percentile
from results.metrics.transfers import FINISHED, transfers_of

SHORT_BYTES, LONG_BYTES = 100_000, 10_000_000
CLASSES = {
    "short": (0, SHORT_BYTES),
    "medium": (SHORT_BYTES, LONG_BYTES + 1),
    "long": (LONG_BYTES + 1, 2**62),
}
"""The sizes of each class in bytes, the end not included."""
_EVERY = (0, 2**62)
_WIRE_SHARE = 1514 / 1448
"""Bytes of a full frame with Ethernet's header for each byte of its payload, with timestamps."""

_Values = Callable[[RunData, int, npt.NDArray[np.int64], npt.NDArray[np.float64]],
                   npt.NDArray[np.float64]]  # fmt: skip


def _completed(
    data: RunData, flows: Sequence[int], span: Span, sizes: tuple[int, int], values: _Values
) -> npt.NDArray[np.float64]:
    """Return the values of the completed transfers of these sizes that began within the span."""
    parts = [np.empty(0)]
    for flow in flows:
        made = transfers_of(data, [flow], span)
        if made is not None:
            chosen = (made.sizes_bytes >= sizes[0]) & (made.sizes_bytes < sizes[1])
            parts.append(values(data, flow, made.sizes_bytes[chosen], made.times_s[chosen]))
    return np.concatenate(parts)


def _times(
    _data: RunData, _flow: int, _sizes: npt.NDArray[np.int64], times_s: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    return times_s


def _slowdowns(
    data: RunData, flow: int, sizes: npt.NDArray[np.int64], times_s: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    record = data.flows[flow]
    rates = [
        queue.rate_bps / data.share_of_packets(flow, channel(queue))
        for queue in data.queues
        if queue.role == "queue" and queue.rate_bps is not None and channel(queue) in record.path
    ]
    rate_bps = min(rates, default=math.inf)
    alone_s = 1.5 * record.base_rtt_s + sizes * 8 * _WIRE_SHARE / rate_bps
    return times_s / alone_s if record.base_rtt_s > 0 else np.empty(0)


def _mean(values: npt.NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


def _p99(values: npt.NDArray[np.float64]) -> float | None:
    return percentile(values, 0.99)


_OF_TIMES = "completion times"
_OF_SLOWDOWNS = (
    "slowdowns: the completion time / that of an idle path. That is 1.5 base RTTs, for the "
    "handshake and the first byte, and the time of its bytes at the narrowest link's first rate, "
    "in full segments. Where packets are sprayed, each link carries its share of them"
)


def _register() -> None:
    """Register the mean and the 99th percentile of both quantities, of each class and of all."""
    for statistic, words, summarise in (("mean", "Mean", _mean), ("p99", "99th percentile", _p99)):
        for quantity, unit, of_what, values in (
            ("fct", "s", _OF_TIMES, _times),
            ("slowdown", "1", _OF_SLOWDOWNS, _slowdowns),
        ):
            for name, sizes in {"": _EVERY, **CLASSES}.items():
                if quantity == "fct" and not name:
                    continue  # that is of results/metrics/transfers.py
                of_class = f"{name} transfers" if name else "all transfers"
                parts = [quantity, statistic, *([name] if name else [])]
                full = "_".join([*parts, *(["s"] if unit == "s" else [])])
                function = _function(
                    sizes,
                    values,
                    summarise,
                    f"{words} of the completed {of_class} that began within the span: {of_what}.",
                )
                metric(
                    full,
                    unit=unit,
                    subject="flow",
                    scopes=("run", "flow"),
                    finished=FINISHED,
                    least=None if unit == "s" else 0.0,
                )(function)


def _function(
    sizes: tuple[int, int],
    values: _Values,
    summarise: Callable[[npt.NDArray[np.float64]], float | None],
    definition: str,
) -> Function:
    """Return the function of a metric."""

    def of_transfers(data: RunData, flows: Sequence[int], span: Span) -> float | None:
        return summarise(_completed(data, flows, span, sizes, values))

    of_transfers.__doc__ = definition
    return of_transfers


_register()
