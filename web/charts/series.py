"""Reduces stored samples to as many points as a chart can show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.units import nanoseconds
from results.metrics.queue_delay import queue_delays_s
from results.samples.downsample import min_max_indices
from results.samples.received import columns_of, received_bytes
from results.samples.sample_tables import Array
from results.store.stored import StoredRun
from web.charts import bins
from web.http.query import TimeRange

ENDPOINTS = ("sender", "receiver")
"""Names of the ends of a flow, in the order of their numbers in the store."""

QUEUE_DELAY = "queue_delay_s"
RTT = "rtt_us"
NO_RTT_YET_US = (0x7FFFFFFF, 0xFFFFFFFF)
"""What congestion controls report before a first RTT: net/ipv4/tcp_vegas.c, and tcp_bbr.c by
tcp_min_rtt()."""
_MARGIN_S = 1.0
_EVER_S = 1e9


def is_studied(queue: Any) -> bool:
    """Return whether a qdisc is a bottleneck's queue, whose backlog a chart shows."""
    return bool(queue.bottleneck and queue.role == "queue")


def tcp(run: StoredRun, flow: int, endpoint: str, fields: Sequence[str], part: TimeRange) -> Series:
    """Return the samples of one end of a flow within the part; UsageError for a wrong field."""
    columns = run.tcp(
        flow, ENDPOINTS.index(endpoint), ["time_ns", *_others(fields)], within_ns(part)
    )
    if RTT in fields:  # the kernel has 0 until the first sample
        columns[RTT] = np.where(columns[RTT] > 0, columns[RTT], np.nan)
    for slot, (_name, unit) in enumerate(run.flows[flow].congestion_fields):
        shown = f"congestion_{slot}"
        if unit == "us" and shown in fields:
            values = columns[shown]
            columns[shown] = np.where(np.isin(values, NO_RTT_YET_US), np.nan, values)
    return _reduced(columns, fields, part, run.duration_s)


def queue(run: StoredRun, index: int, fields: Sequence[str], part: TimeRange) -> Series:
    """Return the samples of a qdisc within the part; UsageError for a wrong field.

    ``queue_delay_s`` is computed from the backlog; see the metrics of that name.
    """
    stored = [name for name in _others(fields) if name != QUEUE_DELAY]
    if QUEUE_DELAY in fields:
        stored = list(dict.fromkeys([*stored, "backlog_bytes"]))
    columns = run.queue_samples(index, ["time_ns", *stored], within_ns(part))
    if QUEUE_DELAY in fields:
        shown = columns["time_ns"], columns["backlog_bytes"]
        delays = queue_delays_s(run.queues[index], *shown)
        columns[QUEUE_DELAY] = np.full(len(shown[0]), np.nan) if delays is None else delays
    return _reduced(columns, fields, part, run.duration_s)


Summary = Mapping[str, float | int | None]
"""Minimum, mean, maximum and last value of a series: ``min``, ``mean``, ``max``, ``last``."""


@dataclass(frozen=True)
class Series:
    """Fields over time: samples, or bins of them. ``samples`` and ``summary`` are of all samples.

    Of bins ``fields`` has the means.
    """

    samples: int
    summary: Mapping[str, Summary]
    time_s: bins.Values
    fields: Mapping[str, bins.Values]
    binned: bins.Binned | None = None

    def columns(self) -> dict[str, Any]:
        """Return all that it has by name, with the extremes of bins if there are any."""
        own = {name: value for name, value in vars(self).items() if name != "binned"}
        return own if self.binned is None else own | vars(self.binned)


@dataclass(frozen=True)
class Goodput:
    """The goodput of a flow over bins, whose middles are ``time_s``."""

    source: Literal["receiver", "sender"]
    time_s: bins.Values
    goodput_bps: bins.Values
    summary: Mapping[str, Summary]


@dataclass(frozen=True)
class Counter:
    """Bytes of a flow over time: read at its receiver, or acknowledged at its sender."""

    source: Literal["receiver", "sender"]
    time_s: npt.NDArray[np.float64]
    bytes: npt.NDArray[np.float64]


def received(run: StoredRun, flow: int, part: TimeRange) -> Counter:
    """Return what the receiving application had read, as the metric ``goodput_bps`` counts it."""
    record, part_ns = run.flows[flow], within_ns(part)
    names = ["time_ns", *columns_of(record)]
    if record.transport == "udp":
        columns = run.datagrams(flow, names, part_ns)
    else:
        columns = run.tcp(flow, ENDPOINTS.index("receiver"), names, part_ns)
    if len(columns["time_ns"]) or record.transport == "udp":
        read = received_bytes(record, columns)
        return Counter("receiver", columns["time_ns"] / 1e9, read.astype(np.float64))
    columns = run.tcp(flow, ENDPOINTS.index("sender"), ["time_ns", "bytes_acked"], part_ns)
    return Counter("sender", columns["time_ns"] / 1e9, columns["bytes_acked"].astype(np.float64))


def bin_width_s(
    run: StoredRun, times_s: Sequence[npt.NDArray[np.float64]], part: TimeRange
) -> float:
    """Return the width of bins for counters with these sampling times: 1, 2, 5 or 10 times 10^n.

    It is at least the sampling period, so that each bin has a sample, and wide enough for
    ``points`` bins.
    """
    periods = [np.median(np.diff(times)) for times in times_s if len(times) > 1]
    from_s, to_s = _edges_s(part, 0.0, run.duration_s)
    least = max(float(max(periods, default=0.0)) * 0.99, (to_s - from_s) / part.points, 1e-6)
    power = 10.0 ** math.floor(math.log10(least))
    return next(float(f"{m * power:.6g}") for m in (1, 2, 5, 10) if m * power >= least * 0.999)


def goodput(counter: Counter, bin_s: float, part: TimeRange) -> Goodput:
    """Return the counter's growth in bits per second over bins, from its first sample to its last.

    Between samples the counter is assumed to grow evenly.
    """
    edges = edges_s(counter.time_s, bin_s, part)
    times, rates = edges[:-1], edges[:-1]
    if len(edges):
        clipped = np.clip(edges, counter.time_s[0], counter.time_s[-1])
        grown = np.diff(np.interp(clipped, counter.time_s, counter.bytes))
        times, rates = (edges[:-1] + edges[1:]) / 2, grown * 8 / bin_s
    return Goodput(
        counter.source,
        _listed(np.round(times, 9)),
        _listed(np.round(rates)),
        {"goodput_bps": summary(rates)},
    )


def edges_s(
    time_s: npt.NDArray[np.float64], bin_s: float, part: TimeRange
) -> npt.NDArray[np.float64]:
    """Return the edges of a counter's bins, from its first sample to its last; none below two."""
    if len(time_s) < 2:
        return np.empty(0)
    first_s, last_s = float(time_s[0]), float(time_s[-1])
    low, high = _edges_s(part, first_s, last_s)
    first = math.floor(max(low, first_s) / bin_s)
    last = math.ceil(min(high, last_s) / bin_s - 1e-9)
    return np.arange(first, max(last, first) + 1, dtype=np.float64) * bin_s


def described(run: StoredRun, part: TimeRange) -> dict[str, Any]:
    """Return what each answer begins with: the run and the part of the time."""
    return {"run": run.id, "from_s": part.from_s, "to_s": part.to_s, "points": part.points}


def _reduced(
    columns: dict[str, Array], fields: Sequence[str], part: TimeRange, duration_s: float
) -> Series:
    """Return the fields over bins if ``part`` wants them and has enough samples, else samples."""
    times = columns["time_ns"] / 1e9
    low, high = _edges_s(part, -_EVER_S, _EVER_S)
    first = int(np.searchsorted(times, low, side="left"))
    last = int(np.searchsorted(times, high, side="right"))
    samples, summaries = last - first, {name: summary(columns[name][first:last]) for name in fields}
    if part.bins is not None and last - first >= bins.LEAST_SAMPLES * part.bins:
        grid = bins.BinGrid(*_edges_s(part, 0.0, duration_s), part.bins)
        reduced = bins.binned(times, {name: columns[name] for name in fields}, grid)
        return Series(samples, summaries, reduced.time_s, reduced.fields, reduced)
    shown = slice(max(first - 1, 0), last + 1)
    wanted = {name: columns[name][shown] for name in fields}
    kept = _kept(list(wanted.values()), part.points)
    return Series(
        samples,
        summaries,
        _listed(times[shown][kept]),
        {name: _listed(values[kept]) for name, values in wanted.items()},
    )


def _kept(fields: Sequence[Array], points: int) -> npt.NDArray[np.intp]:
    """Return which of aligned samples to keep: at most ``points`` for each field, and both ends."""
    count = len(fields[0]) if fields else 0
    if count <= points:
        return np.arange(count)
    chosen = [min_max_indices(values, points) for values in fields]
    return np.unique(np.concatenate([*chosen, [0, count - 1]])).astype(np.intp)


def _others(fields: Sequence[str]) -> list[str]:
    return [name for name in fields if name != "time_ns"]


def _edges_s(part: TimeRange, low: float, high: float) -> tuple[float, float]:
    return (
        low if part.from_s is None else part.from_s,
        high if part.to_s is None else part.to_s,
    )


def within_ns(part: TimeRange) -> tuple[int, int]:
    """Return the window of time to read, which is a little wider than the part."""
    low, high = _edges_s(part, -_EVER_S, _EVER_S)
    return nanoseconds(low - _MARGIN_S), nanoseconds(high + _MARGIN_S)


def _listed(values: npt.NDArray[Any]) -> bins.Values:
    return [None if value != value else value for value in values.tolist()]


def summary(values: npt.NDArray[Any]) -> dict[str, float | int | None]:
    """Return minimum, mean, maximum and last value, None of each without any value."""
    known = values[~np.isnan(values)]
    if not len(known):
        return dict.fromkeys(("min", "mean", "max", "last"))
    return {
        "min": known.min().item(),
        "mean": float(known.mean()),
        "max": known.max().item(),
        "last": known[-1].item(),
    }
