"""Transfers of flows that make many, and how long they take (flow completion time, FCT).

A transfer belongs to the span in which it begins, even if it ends later. Counting by the end would
leave out long transfers. None for flows that make no transfers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.units import nanoseconds
from results.metrics.base import RunData, Span, TableColumn, metric
from results.metrics.rtt import percentile

FINISHED = ("transfers_completed", "transfers")
"""Counts of the transfers that have a completion time, and of all."""


@metric(
    "transfers",
    unit="1",
    subject="flow",
    scopes=("run", "flow"),
    columns=(TableColumn("transfers", 10, "transfers"),),
)
def transfers(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Number of transfers that began within the span; of a run the sum over its flows."""
    found = transfers_of(data, flows, span)
    return found.begun if found else None


@metric(
    "transfers_completed",
    unit="1",
    subject="flow",
    scopes=("run", "flow"),
    columns=(TableColumn("transfers", 20, "completed"),),
)
def transfers_completed(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Number of transfers that began within the span and were complete by the end of the run."""
    found = transfers_of(data, flows, span)
    return len(found.times_s) if found else None


@metric("transfer_bytes", unit="bytes", subject="flow", scopes=("run", "flow"))
def transfer_bytes(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Application bytes of the completed transfers that began within the span."""
    found = transfers_of(data, flows, span)
    return found.size_bytes if found else None


@metric(
    "transfer_goodput_bps",
    finished=FINISHED,
    unit="bit/s",
    subject="flow",
    scopes=("run", "flow"),
    columns=(TableColumn("transfers", 70, "goodput"),),
)
def transfer_goodput(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Application bytes of the completed transfers x 8 / the sum of their completion times.

    RFC 5166 section 2.1 (goodput): the rate during transfers, without the pauses.
    """
    found = transfers_of(data, flows, span)
    time_s = float(found.times_s.sum()) if found else 0.0
    return found.size_bytes * 8 / time_s if found and time_s > 0 else None


@metric(
    "transfer_goodput_mean_bps", unit="bit/s", subject="flow", scopes=("flow",), finished=FINISHED
)
def transfer_goodput_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean of the goodputs of the single completed transfers that began within the span.

    Each is its application bytes x 8 / its completion time (RFC 5166 section 2.1).
    """
    goodputs_bps = _goodputs_bps(data, flows, span)
    return float(goodputs_bps.mean()) if len(goodputs_bps) else None


@metric(
    "transfer_goodput_ci95_bps", unit="bit/s", subject="flow", scopes=("flow",), finished=FINISHED
)
def transfer_goodput_ci95(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Half the width of the 95% confidence interval of ``transfer_goodput_mean_bps``.

    By Student's t, for independent transfers, such as those of a campaign's turns. None for fewer
    than two transfers.
    """
    goodputs_bps = _goodputs_bps(data, flows, span)
    number = len(goodputs_bps)
    if number < 2:
        return None
    from scipy.special import stdtrit  # slow to import, and few runs need it

    return float(stdtrit(number - 1, 0.975) * goodputs_bps.std(ddof=1) / np.sqrt(number))


@metric(
    "fct_mean_s",
    finished=FINISHED,
    unit="s",
    least=None,  # by the clocks of two machines
    subject="flow",
    scopes=("run", "flow"),
    columns=(TableColumn("transfers", 30, "FCT mean"),),
)
def fct_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean flow completion time of the completed transfers that began within the span.

    A completion time is from the request, or the connection's first packet, until the receiver has
    read the last byte.
    RFC 5166 section 2.2 (transfer times); N. Dukkipati, N. McKeown, "Why Flow-Completion Time is
    the Right Metric for Congestion Control", ACM SIGCOMM CCR 36(1), 2006.
    """
    found = transfers_of(data, flows, span)
    return float(found.times_s.mean()) if found and len(found.times_s) else None


@metric(
    "fct_p50_s",
    finished=FINISHED,
    unit="s",
    least=None,  # by the clocks of two machines
    subject="flow",
    scopes=("run", "flow"),
    columns=(TableColumn("transfers", 40, "median"),),
)
def fct_p50(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Median (RFC 2330 11.3) of the completion times of the transfers begun within the span."""
    return _percentile(data, flows, span, 0.50)


@metric(
    "fct_p95_s",
    finished=FINISHED,
    unit="s",
    least=None,  # by the clocks of two machines
    subject="flow",
    scopes=("run", "flow"),
    columns=(TableColumn("transfers", 50, "p95"),),
)
def fct_p95(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """95th percentile (RFC 2330 11.3) of the completion times of transfers begun in the span."""
    return _percentile(data, flows, span, 0.95)


@metric(
    "fct_p99_s",
    finished=FINISHED,
    unit="s",
    least=None,  # by the clocks of two machines
    subject="flow",
    scopes=("run", "flow"),
    columns=(TableColumn("transfers", 60, "p99"),),
)
def fct_p99(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """99th percentile (RFC 2330 11.3) of the completion times of transfers begun in the span."""
    return _percentile(data, flows, span, 0.99)


@dataclass(frozen=True)
class Transfers:
    """Transfers that began within a span; sizes and times are those of completed ones."""

    begun: int
    sizes_bytes: npt.NDArray[np.int64]
    times_s: npt.NDArray[np.float64]

    @property
    def size_bytes(self) -> int:
        """Bytes of all of them."""
        return int(self.sizes_bytes.sum())

    @property
    def goodputs_bps(self) -> npt.NDArray[np.float64]:
        """Of each of them."""
        whole = self.times_s > 0
        return self.sizes_bytes[whole] * 8 / self.times_s[whole]


def transfers_of(data: RunData, flows: Sequence[int], span: Span) -> Transfers | None:
    """Return the transfers of flows that began within a span; None where they make none."""
    columns = [
        data.transfer_columns(flow) for flow in flows if data.flows[flow].transport != "icmp"
    ]
    made = [one for one in columns if len(one["start_ns"])]
    if not made:
        return None
    start_ns, end_ns, size_bytes = (
        np.concatenate([one[name] for one in made]) for name in ("start_ns", "end_ns", "bytes")
    )
    begun = (start_ns >= nanoseconds(span.from_s)) & (start_ns < nanoseconds(span.to_s))
    complete = begun & ~np.isnan(end_ns)
    times_s = (end_ns[complete] - start_ns[complete]) / 1e9
    return Transfers(int(begun.sum()), size_bytes[complete], times_s)


def _goodputs_bps(data: RunData, flows: Sequence[int], span: Span) -> npt.NDArray[np.float64]:
    found = transfers_of(data, flows, span)
    return found.goodputs_bps if found else np.empty(0)


def _percentile(data: RunData, flows: Sequence[int], span: Span, fraction: float) -> float | None:
    found = transfers_of(data, flows, span)
    return percentile(found.times_s, fraction) if found else None
