"""The JSON API of UDP flows over time and of transfers' completion times.

Delays and losses are over bins: ``low``, ``fields`` and ``high`` have the smallest delay, the mean
and the largest one. Loss is of the datagrams that were expected, as the metric ``loss_ratio``
counts it. Null means that no datagram came. Of more than 500 completion times, evenly spaced ones
and the largest are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from flask import Response, jsonify

from orchestrator.protocol.units import nanoseconds
from results.samples.sample_tables import Array
from results.store.stored import StoredRun
from web.api import openapi
from web.charts import series
from web.charts.bins import Floats, Values, listed
from web.contract import series as contract
from web.contract.parameters import FlowsQuery, RunAddress, TransfersQuery
from web.http.query import TimeRange, indices_of
from web.http.reader import reading_run

curves = openapi.ApiBlueprint("curves", __name__, "UDP flows and transfers of a run.")

MOST_TIMES = 500
"""Completion times of a flow in one answer, of which the largest TAIL are all there."""

TAIL = 100

_COUNTERS = ("received_packets", "expected_packets", "delay_sum_ns")
_EXTREMES = ("delay_min_ns", "delay_max_ns")


@curves.address("/runs/<run_id>/datagrams")
def datagrams(path: RunAddress, query: FlowsQuery) -> Response:
    """Return one-way delay and loss of UDP flows over bins."""
    part = query.wanted()
    with reading_run(path.run_id) as (_, stored):
        flows = _flows(stored, query.flow, [flow.transport == "udp" for flow in stored.flows])
        columns = [
            stored.datagrams(flow, ["time_ns", *_COUNTERS, *_EXTREMES], series.within_ns(part))
            for flow in flows
        ]
        times = [samples["time_ns"] / 1e9 for samples in columns]
        bin_s = series.bin_width_s(stored, times, part)
        found = [
            contract.FlowSamples.model_construct(
                None, name=stored.flows[flow].name, **vars(_binned(time_s, samples, bin_s, part))
            )
            for flow, time_s, samples in zip(flows, times, columns, strict=True)
        ]
        head = series.described(stored, part)
        answer = contract.Datagrams.model_construct(None, **head, bin_s=bin_s, flows=found)
        return jsonify(answer.document())


@curves.address("/runs/<run_id>/transfers")
def transfers(path: RunAddress, query: TransfersQuery) -> Response:
    """Return the distribution of the completion times of transfers that begin in the range."""
    part = query.part()
    with reading_run(path.run_id) as (_, stored):
        flows = _flows(stored, query.flow, [flow.transport == "tcp" for flow in stored.flows])
        columns = [stored.transfers(flow, ["start_ns", "end_ns"]) for flow in flows]
        found = [
            contract.TransfersOfFlow.model_construct(
                None, name=stored.flows[flow].name, **vars(_distribution(times, part))
            )
            for flow, times in zip(flows, columns, strict=True)
            if len(times["start_ns"]) or query.flow
        ]
        answer = contract.Transfers.model_construct(
            None, run=stored.id, from_s=part.from_s, to_s=part.to_s, flows=found
        )
        return jsonify(answer.document())


def _flows(run: StoredRun, chosen: Sequence[str], usual: Sequence[bool]) -> list[int]:
    names = [flow.name for flow in run.flows]
    return indices_of("flow", chosen, names, np.flatnonzero(usual).tolist())


@dataclass(frozen=True)
class DatagramCurves:
    """Delays and loss of a UDP flow over bins, whose middles are ``time_s``."""

    samples: int
    time_s: Values
    low: Mapping[str, Values]
    fields: Mapping[str, Values]
    high: Mapping[str, Values]
    summary: Mapping[str, series.Summary]


def _binned(
    time_s: Floats, columns: dict[str, Array], bin_s: float, part: TimeRange
) -> DatagramCurves:
    """Return delays and loss of a flow over bins; a sample is of the bin in which it is taken."""
    edges_s = series.edges_s(time_s, bin_s, part)
    ends = np.searchsorted(time_s, edges_s, side="right")
    # A counter grows over a bin from the last sample before it to the last one within it.
    at = {name: columns[name][np.maximum(ends - 1, 0)] for name in _COUNTERS}
    came, expected, total_s = (np.diff(at[name]) for name in _COUNTERS)
    delay_s = _share(total_s / 1e9, came)
    loss = np.maximum(_share(expected - came, expected), 0.0)
    low_s, high_s = (
        _extremes(columns[name] / 1e9, ends, pick)
        for name, pick in zip(_EXTREMES, (np.fmin, np.fmax), strict=True)
    )
    return DatagramCurves(
        samples=int(ends[-1] - ends[0]) if len(ends) else 0,
        time_s=np.round((edges_s[:-1] + edges_s[1:]) / 2, 9).tolist(),
        low={"one_way_delay_s": listed(low_s)},
        fields={"one_way_delay_s": listed(delay_s), "loss_ratio": listed(loss)},
        high={"one_way_delay_s": listed(high_s)},
        summary={
            "one_way_delay_s": series.summary(delay_s)
            | {
                "min": series.summary(low_s)["min"],
                "mean": _mean(total_s, came),
                "max": series.summary(high_s)["max"],
            },
            "loss_ratio": series.summary(loss) | {"mean": _mean(expected - came, expected, 1.0)},
        },
    )


def _share(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Floats:
    out = np.full(len(whole), np.nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def _mean(parts: npt.NDArray[Any], wholes: npt.NDArray[Any], unit: float = 1e9) -> float | None:
    """Return the sum of the parts over that of the wholes, which is the mean over all bins."""
    whole = int(wholes.sum())
    return max(int(parts.sum()), 0) / whole / unit if whole else None


def _extremes(values: Floats, starts: npt.NDArray[np.intp], pick: np.ufunc) -> Floats:
    """Return the extreme of each bin that has samples, else NaN."""
    out = np.full(max(len(starts) - 1, 0), np.nan)
    filled = np.flatnonzero(np.diff(starts))
    if len(filled):
        out[filled] = pick.reduceat(values[: starts[-1]], starts[filled])
    return out


@dataclass(frozen=True)
class CompletionTimes:
    """The distribution of a flow's completion times.

    ``transfers`` begin in the range, and ``completed`` of them were completed. ``share`` is that of
    those completed up to each of the times ``fct_s``.
    """

    transfers: int
    completed: int
    fct_s: Values
    share: Values


def _distribution(columns: dict[str, Array], part: TimeRange) -> CompletionTimes:
    first, last = (None if s is None else nanoseconds(s) for s in (part.from_s, part.to_s))
    start_ns, end_ns = columns["start_ns"], columns["end_ns"]
    begun = np.full(len(start_ns), True)
    if first is not None:
        begun &= start_ns >= first
    if last is not None:
        begun &= start_ns < last
    done = begun & ~np.isnan(end_ns)
    times_s = np.sort((end_ns[done] - start_ns[done]) / 1e9)
    chosen = _chosen(len(times_s))
    return CompletionTimes(
        transfers=int(begun.sum()),
        completed=len(times_s),
        fct_s=listed(times_s[chosen]),
        share=listed((chosen + 1) / max(len(times_s), 1)),
    )


def _chosen(count: int) -> npt.NDArray[np.intp]:
    """Return which of that many ascending values to show."""
    if count <= MOST_TIMES:
        return np.arange(count)
    body = np.linspace(0, count - TAIL - 1, MOST_TIMES - TAIL).round().astype(np.intp)
    return np.concatenate([body, np.arange(count - TAIL, count)])
