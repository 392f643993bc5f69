"""The values of a row, one for each repetition, from stored runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import UsageError
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.model import SENDER, SENDER_STATE_DTYPE
from results import metrics
from results.claims.stated.model import Quantity
from results.claims.stated.rows import ClaimRow
from results.experiment.left_out import LeftOut
from results.experiment.values import RunValues, Subject
from results.matrix.axes import Axis, key, named, number, shown
from results.metrics.base import Span, running, within
from results.metrics.convergence import time_to_converge_s
from results.metrics.estimate import estimates
from results.metrics.regular import RegularRun, on_grid
from results.records.model import WHOLE, RunRow, Variant
from results.samples.sample_tables import Array
from results.store.stored import StoredRun

INPUT_RATE = "input_rate_bps"
"""A sample that is computed: cwnd / RTT, one a round trip, by the filter of Westwood+.

Grieco and Mascolo, ACM CCR 34(2), 2004, eq. (1), with a pole of 0.9.
"""
_POLE = 0.9

ESTIMATE = "estimate_bps"
"""A sample that is computed: the bandwidth that the congestion control estimates."""

ANY = "*"
"""In ``where``: the axis has a value, whichever."""


def matching(
    where: Mapping[str, Any], variants: Sequence[Variant], axes: Sequence[Axis]
) -> list[int]:
    """Return the indices of the variants that have these values; none for an unknown axis."""
    by_path = {}
    for label, value in where.items():
        try:
            by_path[named(label, axes).path] = value
        except UsageError:
            return []
    return [
        index
        for index, variant in enumerate(variants)
        if all(path in variant and _fits(value, variant[path]) for path, value in by_path.items())
    ]


def _fits(requested: Any, value: Any) -> bool:
    """Tell whether a value of an axis is the requested one, by its name, or has its keys."""
    if requested == ANY or key(requested) == key(value) or shown(requested) == shown(value):
        return True
    if (quantity := number(requested)) is not None and quantity == number(value):
        return True  # 1e-8 and 0.00000001 are one value
    if not isinstance(value, Mapping):
        return False
    if isinstance(requested, Mapping):
        return all(name in value and _fits(item, value[name]) for name, item in requested.items())
    return bool(value.get("name") == requested)


@dataclass
class ExperimentRuns:
    """The runs of one experiment at one length, by variant and repetition.

    ``variants`` and ``runs`` have the same order.
    """

    variants: Sequence[Variant]
    axes: Sequence[Axis]
    runs: list[dict[int, StoredRun]]

    def of(self, quantity: Quantity) -> dict[int, StoredRun] | None:
        """Return the runs by repetition of the one variant that a value is of; None without it.

        Raises:
            UsageError: several variants fit.
        """
        matches = matching(quantity.where, self.variants, self.axes)
        if len(matches) > 1:
            raise UsageError(f"{quantity.where} fits {len(matches)} variants: name one")
        return self.runs[matches[0]] if matches else None


@dataclass(frozen=True)
class UsedRun:
    """What is kept of a run that counts.

    ``design`` names the paper's experiment that it is of. Its scenario's name does not: experiments
    may set one scenario in several ways. ``modules`` has the hash of each module that it has
    loaded, ``linux_sha256`` that of its kernel.
    """

    design: str
    row: RunRow
    modules: Mapping[str, str]
    linux_sha256: str | None


@dataclass
class RowData:
    """The values of a row in the order of the repetitions, and what was left out.

    ``present`` is False if the length has no variant of it. ``places`` counts the row's places that
    the length has. ``used`` has the runs that count.
    """

    values: list[float] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)
    present: bool = True
    places: int = 0
    used: dict[str, UsedRun] = field(default_factory=dict)


def series(row: ClaimRow, experiments: Mapping[str, ExperimentRuns]) -> RowData:
    """Return the values of a row. Terms are paired by repetition, which means by seed.

    A repetition counts if all its runs are ok and not unfaithful. Repetitions that are equal to the
    bit to an earlier one count once. Of several places the row says what is made (``across``).
    """
    data = RowData()
    by_place: list[list[float]] = []
    there = _there(row, experiments)
    if not there:
        return RowData(present=False)
    data.places = len(there)
    seen: set[tuple[str | None, ...]] = set()
    for repetition in sorted({index for terms in there for _q, made in terms for index in made}):
        runs = [
            (quantity.experiment or "", made.get(repetition))
            for terms in there
            for quantity, made in terms
        ]
        designs_known = [(design, run) for design, run in runs if run is not None]
        known = [run for _design, run in designs_known]
        data.left_out.failed += sum(run.status != "ok" for run in known)
        data.left_out.unfaithful += sum(run.row.verdict == "unfaithful" for run in known)
        if len(known) < len(runs) or not all(run.row.counts for run in known):
            continue
        digests = tuple(run.row.digest for run in known)
        if digests in seen:
            data.left_out.identical += 1
            continue
        seen.add(digests)
        values = _at_places(
            row, [[(quantity, made[repetition]) for quantity, made in terms] for terms in there]
        )
        if values is not None:
            by_place.append(values)
            data.used |= {run.id: _used(design, run) for design, run in designs_known}
    data.values = _across(row.across, by_place)
    return data


def _there(
    row: ClaimRow, experiments: Mapping[str, ExperimentRuns]
) -> list[list[tuple[Quantity, dict[int, StoredRun]]]]:
    """Return each place that the length has: its terms with their runs by repetition."""
    places = [
        [(quantity, experiments[quantity.experiment or ""].of(quantity)) for quantity in terms]
        for terms in row.terms
    ]
    return [
        [(quantity, made) for quantity, made in terms if made is not None]
        for terms in places
        if all(made is not None for _quantity, made in terms)
    ]


def _used(design: str, run: StoredRun) -> UsedRun:
    loaded = run.provenance.get("modules") or {}
    hashes = {
        name: module.get("sha256") if isinstance(module, Mapping) else module
        for name, module in loaded.items()
    }
    kernel = run.provenance.get("guest_kernel")
    linux = kernel.get("linux_sha256") if isinstance(kernel, Mapping) else None
    return UsedRun(design, run.row, {name: str(module) for name, module in hashes.items()}, linux)


def _at_places(
    row: ClaimRow, there: Sequence[Sequence[tuple[Quantity, StoredRun]]]
) -> list[float] | None:
    """Return the row's value at each of its places in one repetition; None if one has none."""
    every = []
    for terms in there:
        values = [value(run, quantity) for quantity, run in terms]
        known = [term_value for term_value in values if term_value is not None]
        if len(known) < len(values) or (len(known) == 2 and known[1] == 0.0):
            return None
        every.append((known[0] / known[1] if len(known) == 2 else known[0]) / row.divisor)
    return every


def _across(across: str | None, by_place: Sequence[Sequence[float]]) -> list[float]:
    """Return one value a repetition from those at each place.

    ``mean`` is that of all places. The largest and the least are those of the place whose mean is
    the largest or least, as a figure shows it. The largest of each repetition would be too large:
    the places of equal controls differ by chance.
    """
    if not by_place:
        return []
    mean = _OVER["mean"]
    if across == "mean":
        return [mean(values) for values in by_place]
    means = [mean(column) for column in zip(*by_place, strict=True)]
    chosen = means.index(min(means) if across == "least" else max(means))
    return [values[chosen] for values in by_place]


def value(run: StoredRun, quantity: Quantity) -> float | None:
    """Return the value of one run, None where it has none."""
    names = quantity.flows or ()
    window = quantity.window or WHOLE
    if quantity.sample is not None:
        result = _over(quantity, [_sampled(run, index, quantity) for index in _flows(run, names)])
    elif not names:
        result = RunValues(run, window).value(Subject(), str(quantity.metric))
        if result is None and quantity.at_least:
            result = time_to_converge_s(run, metrics.spans(run)[window])
    else:
        values = run.metrics()[window].flows
        result = _over(
            quantity,
            [_number(values[index].get(str(quantity.metric))) for index in _flows(run, names)],
        )
    if result is None:
        return None
    result *= 1.0 if quantity.scale is None else quantity.scale
    if quantity.plus is None:
        return result
    added = value(run, quantity.plus.with_defaults(quantity.model_copy(update={"plus": None})))
    return None if added is None else result + added


def _number(metric: int | float | None) -> float | None:
    return None if metric is None else float(metric)


def _flows(run: StoredRun, names: Sequence[str]) -> list[int]:
    """Return the indices of the flows of some entries, or of one control of a campaign's entry.

    Raises:
        UsageError: the run has no such entry.
    """
    owners = [
        {entry, flow.name.partition("[")[0]}
        for entry, flow in zip(run.entries, run.flows, strict=True)
    ]
    missing = [name for name in names if not any(name in owner for owner in owners)]
    if missing:
        raise UsageError(f"run {run.id} has no flow entry {missing[0]}")
    return [index for index, owner in enumerate(owners) if owner & set(names)]


_OVER: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda values: math.fsum(values) / len(values),
    "sum": math.fsum,
    "least": min,
    "largest": max,
    "deviation": lambda values: float(np.std(values)),
    "jain": lambda values: (
        math.fsum(values) ** 2
        / (len(values) * (math.fsum(each * each for each in values) or math.inf))
    ),
}


def _over(quantity: Quantity, values: Sequence[float | None]) -> float | None:
    """Return what is made of the flows' values; None if one has none."""
    known = [flow_value for flow_value in values if flow_value is not None]
    return _OVER[quantity.over or "mean"](known) if known and len(known) == len(values) else None


_TAKE: Mapping[str, Callable[[npt.NDArray[np.float64]], Any]] = {
    "mean": np.mean,
    "median": np.median,
    "least": np.min,
    "largest": np.max,
    "deviation": np.std,
}


def _sampled(run: StoredRun, flow: int, quantity: Quantity) -> float | None:
    span = metrics.spans(run)[quantity.window or WHOLE]
    if quantity.sample == ESTIMATE:
        samples = estimates(run, flow, span) * 8
    elif quantity.sample == INPUT_RATE:
        samples = _input_rate_bps(run, flow, span)
    elif quantity.sample in (SENDER_STATE_DTYPE.names or ()):
        samples = on_grid(run, flow, span, [quantity.sample]).sampled(quantity.sample)
    else:
        samples = _regular(run, flow, span, str(quantity.sample))
    samples = np.asarray(samples, np.float64)
    samples = samples[np.isfinite(samples)]
    return float(_TAKE[quantity.take or "mean"](samples)) if len(samples) else None


def _regular(run: StoredRun, flow: int, span: Span, name: str) -> Array:
    """Return a column of the sender's samples that every run has, while the flow runs."""
    columns = RegularRun.of(run).tcp_columns(flow, SENDER)
    samples: Array = columns[name][
        within(columns["time_ns"], span) & running(columns, run.flows[flow])
    ]
    return samples


def _input_rate_bps(run: StoredRun, flow: int, span: Span) -> npt.NDArray[np.float64]:
    """Return INPUT_RATE of a flow; its segments are of one size."""
    states = on_grid(run, flow, span, ["snd_cwnd_segments", "rtt_us"])
    sizes_bytes = _regular(run, flow, span, "snd_mss_bytes")
    if not len(sizes_bytes):
        return np.empty(0)
    cwnd, rtt_us = (states.sampled(name) for name in ("snd_cwnd_segments", "rtt_us"))
    time_ns = states.ticks().astype(np.float64) * nanoseconds(run.metrics_grid_s or 0.0)
    return input_rate_bps(time_ns, cwnd, np.full(len(cwnd), sizes_bytes[0]), rtt_us)


def input_rate_bps(
    time_ns: npt.NDArray[np.float64],
    cwnd_segments: npt.NDArray[np.float64],
    mss_bytes: npt.NDArray[np.float64],
    rtt_us: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the filtered input rate cwnd / RTT, one value a round trip; see INPUT_RATE."""
    rates_bps: list[float] = []
    due_ns = -math.inf
    for at_ns, cwnd, mss, rtt in zip(time_ns, cwnd_segments, mss_bytes, rtt_us, strict=True):
        if at_ns < due_ns or rtt <= 0:
            continue
        due_ns = at_ns + rtt * 1e3
        rate_bps = cwnd * mss * 8 / (rtt / 1e6)
        rates_bps.append(_POLE * rates_bps[-1] + (1 - _POLE) * rate_bps if rates_bps else rate_bps)
    return np.asarray(rates_bps, np.float64)
