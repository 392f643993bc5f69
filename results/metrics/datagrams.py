"""Packets and one-way delays of UDP flows; None for every TCP flow."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from results.metrics.base import RunData, Span, TableColumn, growth, last_before, metric
from results.samples.sample_tables import Array


@metric(
    "sent_packets",
    unit="packets",
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("udp", 20, "sent"),),
)
def sent_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Datagrams that a UDP source sent, at times from the span's begin to before its end."""
    return datagram_growth(data, flows[0], "sent_packets", span)


@metric(
    "received_packets",
    unit="packets",
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("udp", 30, "received"),),
)
def received_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Datagrams of a UDP flow received within the span; copies of one count once."""
    return datagram_growth(data, flows[0], "received_packets", span)


@metric(
    "reordered_packets",
    unit="packets",
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("udp", 45, "reordered", in_text=False),),
)
def reordered_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Datagrams of a UDP flow that came behind one sent later (RFC 4737 section 3.3)."""
    return datagram_growth(data, flows[0], "reordered_packets", span)


@metric("duplicate_packets", unit="packets", subject="flow", scopes=("flow",))
def duplicate_packets(data: RunData, flows: Sequence[int], span: Span) -> int | None:
    """Further copies of datagrams of a UDP flow that had come before (RFC 5560)."""
    return datagram_growth(data, flows[0], "duplicate_packets", span)


@metric(
    "one_way_delay_mean_s",
    unit="s",
    least=None,  # by the clocks of two machines
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("udp", 60, "mean"),),
)
def one_way_delay_mean(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean one-way delay (RFC 7679) of a UDP flow's datagrams that came within the span.

    A delay is from the time when a datagram is due to its arrival at the receiving host.
    """
    packets = received_packets(data, flows, span)
    total_ns = datagram_growth(data, flows[0], "delay_sum_ns", span)
    return total_ns / packets / 1e9 if packets and total_ns is not None else None


@metric(
    "one_way_delay_min_s",
    unit="s",
    least=None,  # by the clocks of two machines
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("udp", 50, "delay min"),),
)
def one_way_delay_min(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Least one-way delay (RFC 7679) of a UDP flow's datagrams that came within the span."""
    delays_ns = _extremes(data, flows[0], "delay_min_ns", span)
    return float(delays_ns.min()) / 1e9 if len(delays_ns) else None


@metric(
    "one_way_delay_max_s",
    unit="s",
    least=None,  # by the clocks of two machines
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("udp", 70, "max"),),
)
def one_way_delay_max(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Largest one-way delay (RFC 7679) of a UDP flow's datagrams that came within the span."""
    delays_ns = _extremes(data, flows[0], "delay_max_ns", span)
    return float(delays_ns.max()) / 1e9 if len(delays_ns) else None


@metric("one_way_delay_deviation_s", unit="s", subject="flow", scopes=("flow",))
def one_way_delay_deviation(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Standard deviation of the one-way delays of a UDP flow's datagrams within the span.

    It is computed from their sum and the sum of their squares in square microseconds.
    """
    mean_s = one_way_delay_mean(data, flows, span)
    packets = received_packets(data, flows, span)
    squares_us2 = datagram_growth(data, flows[0], "delay_squares_us2", span)
    if mean_s is None or not packets or squares_us2 is None:
        return None
    return math.sqrt(max(squares_us2 / packets - (mean_s * 1e6) ** 2, 0.0)) / 1e6


@metric(
    "jitter_s",
    unit="s",
    subject="flow",
    scopes=("flow",),
    columns=(TableColumn("udp", 80, "jitter"),),
)
def jitter(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Mean absolute change of the one-way delay from one datagram of a UDP flow to the next.

    The mean of |D(i-1, i)| of RFC 3550 section 6.4.1, which RFC 3550 smooths (IPDV of RFC 3393),
    over the datagrams in the order in which they came. None below two.
    """
    packets = received_packets(data, flows, span)
    changes_ns = datagram_growth(data, flows[0], "delay_changes_ns", span)
    if packets is None or changes_ns is None:
        return None
    columns = data.datagram_columns(flows[0])
    before = last_before(columns["time_ns"], span.from_s)
    first = before is None or not columns["received_packets"][before]
    pairs = packets - first
    return changes_ns / pairs / 1e9 if pairs > 0 else None


def datagram_growth(data: RunData, flow: int, counter: str, span: Span) -> int | None:
    """Return how much a counter of a UDP flow grew over the span, None of any other flow."""
    columns = data.datagram_columns(flow)
    times = columns["time_ns"]
    return growth(times, columns[counter], span) if len(times) else None


def _extremes(data: RunData, flow: int, column: str, span: Span) -> Array:
    """Return the extremes between the samples of the span, without those without datagrams."""
    columns = data.datagram_columns(flow)
    first, last = (last_before(columns["time_ns"], edge) for edge in (span.from_s, span.to_s))
    if last is None:
        return np.empty(0)
    values = columns[column][0 if first is None else first + 1 : last + 1]
    return values[~np.isnan(values)]
