"""The values of a row, one for each repetition, from stored runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import UsageError
from orchestrator.recording.model import SENDER
from results import metrics
from results.axes import Axis, key, named, number, shown
from results.claims.model import Quantity
from results.claims.rows import Row
from results.metrics.base import running, within
from results.metrics.estimate import estimates
from results.model import WHOLE, RunRow
from results.stored import StoredRun
from results.values import RunValues, Subject

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
    where: Mapping[str, Any], variants: Sequence[Mapping[str, Any]], axes: Sequence[Axis]
) -> list[int]:
    """Return the indices of the variants that have these values; none for an unknown axis."""
    wanted = {}
    for label, value in where.items():
        try:
            wanted[named(label, axes).path] = value
        except UsageError:
            return []
    return [
        index
        for index, variant in enumerate(variants)
        if all(path in variant and _fits(value, variant[path]) for path, value in wanted.items())
    ]


def _fits(wanted: Any, value: Any) -> bool:
    """Tell whether a value of an axis is the wanted one, by its name, or has its keys."""
    if wanted == ANY or key(wanted) == key(value) or shown(wanted) == shown(value):
        return True
    if (quantity := number(wanted)) is not None and quantity == number(value):
        return True  # 1e-8 and 0.00000001 are one value
    if not isinstance(value, Mapping):
        return False
    if isinstance(wanted, Mapping):
        return all(name in value and _fits(each, value[name]) for name, each in wanted.items())
    return bool(value.get("name") == wanted)


@dataclass
class Runs:
    """The runs of one experiment at one length, by variant and repetition.

    ``variants`` and ``runs`` have the same order.
    """

    variants: Sequence[Mapping[str, Any]]
    axes: Sequence[Axis]
    runs: list[dict[int, StoredRun]]

    def of(self, quantity: Quantity) -> dict[int, StoredRun] | None:
        """Return the runs by repetition of the one variant that a value is of; None without it.

        Raises:
            UsageError: several variants fit.
        """
        found = matching(quantity.where, self.variants, self.axes)
        if len(found) > 1:
            raise UsageError(f"{quantity.where} fits {len(found)} variants: name one")
        return self.runs[found[0]] if found else None


@dataclass(frozen=True)
class Used:
    """What is kept of a run that counts.

    ``modules`` has the hash of each module that it has loaded, ``linux_sha256`` that of its kernel.
    """

    row: RunRow
    modules: Mapping[str, str]
    linux_sha256: str | None


@dataclass
class Series:
    """The values of a row in the order of the repetitions, and what was left out.

    ``present`` is False if the length has no variant of it. ``used`` has the runs that count.
    """

    values: list[float] = field(default_factory=list)
    unfaithful: int = 0
    failed: int = 0
    identical: int = 0
    present: bool = True
    used: dict[str, Used] = field(default_factory=dict)


def series(row: Row, experiments: Mapping[str, Runs]) -> Series:
    """Return the values of a row. Terms are paired by repetition, which means by seed.

    A repetition counts if all its runs are ok and not unfaithful. Repetitions that are equal to the
    bit to an earlier one count once. Of several places the row says what is made (``across``).
    """
    found = Series()
    by_place: list[list[float]] = []
    places = [
        [(each, experiments[each.experiment or ""].of(each)) for each in terms]
        for terms in row.terms
    ]
    there = [
        [(each, runs) for each, runs in terms if runs is not None]
        for terms in places
        if all(runs is not None for _each, runs in terms)
    ]
    if not there:
        return Series(present=False)
    seen: set[tuple[str | None, ...]] = set()
    for repetition in sorted({each for terms in there for _e, made in terms for each in made}):
        runs = [made.get(repetition) for terms in there for _each, made in terms]
        known = [run for run in runs if run is not None]
        found.failed += sum(run.status != "ok" for run in known)
        found.unfaithful += sum(run.row.verdict == "unfaithful" for run in known)
        if len(known) < len(runs) or not all(run.row.counts for run in known):
            continue
        digests = tuple(run.row.digest for run in known)
        if digests in seen:
            found.identical += 1
            continue
        seen.add(digests)
        values = _at_places(
            row, [[(each, runs[repetition]) for each, runs in one] for one in there]
        )
        if values is not None:
            by_place.append(values)
            found.used |= {run.id: _used(run) for run in known}
    found.values = _across(row.across, by_place)
    return found


def _used(run: StoredRun) -> Used:
    loaded = run.provenance.get("modules") or {}
    hashes = {
        name: each.get("sha256") if isinstance(each, Mapping) else each
        for name, each in loaded.items()
    }
    kernel = run.provenance.get("guest_kernel")
    linux = kernel.get("linux_sha256") if isinstance(kernel, Mapping) else None
    return Used(run.row, {name: str(each) for name, each in hashes.items()}, linux)


def _at_places(
    row: Row, there: Sequence[Sequence[tuple[Quantity, StoredRun]]]
) -> list[float] | None:
    """Return the row's value at each of its places in one repetition; None if one has none."""
    every = []
    for terms in there:
        values = [value(run, quantity) for quantity, run in terms]
        known = [each for each in values if each is not None]
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
        found = _over(quantity, [_sampled(run, index, quantity) for index in _flows(run, names)])
    elif not names:
        found = RunValues(run, window).value(Subject(), str(quantity.metric))
    else:
        values = run.metrics()[window].flows
        found = _over(
            quantity,
            [_number(values[index].get(str(quantity.metric))) for index in _flows(run, names)],
        )
    if found is None:
        return None
    found *= 1.0 if quantity.scale is None else quantity.scale
    if quantity.plus is None:
        return found
    added = value(run, quantity.plus.with_defaults(quantity.model_copy(update={"plus": None})))
    return None if added is None else found + added


def _number(found: int | float | None) -> float | None:
    return None if found is None else float(found)


def _flows(run: StoredRun, names: Sequence[str]) -> list[int]:
    """Return the indices of the flows of some entries, or of one control of a campaign's entry.

    Raises:
        UsageError: the run has no such entry.
    """
    owners = [
        {entry, flow.name.partition("[")[0]}
        for entry, flow in zip(run.entries, run.flows, strict=True)
    ]
    missing = [name for name in names if not any(name in each for each in owners)]
    if missing:
        raise UsageError(f"run {run.id} has no flow entry {missing[0]}")
    return [index for index, each in enumerate(owners) if each & set(names)]


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
    known = [each for each in values if each is not None]
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
        return float(_TAKE[quantity.take or "mean"](samples)) if len(samples) else None
    columns = run.tcp_columns(flow, SENDER)
    chosen = within(columns["time_ns"], span) & running(columns, run.flows[flow])
    if quantity.sample == INPUT_RATE:
        samples = input_rate_bps(
            *(
                np.asarray(columns[name], np.float64)[chosen]
                for name in ("time_ns", "snd_cwnd_segments", "snd_mss_bytes", "rtt_us")
            )
        )
    else:
        samples = np.asarray(columns[str(quantity.sample)], np.float64)[chosen]
    samples = samples[np.isfinite(samples)]
    return float(_TAKE[quantity.take or "mean"](samples)) if len(samples) else None


def input_rate_bps(
    time_ns: npt.NDArray[np.float64],
    cwnd_segments: npt.NDArray[np.float64],
    mss_bytes: npt.NDArray[np.float64],
    rtt_us: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the filtered input rate cwnd / RTT, one value a round trip; see INPUT_RATE."""
    found: list[float] = []
    due_ns = -math.inf
    for at_ns, cwnd, mss, rtt in zip(time_ns, cwnd_segments, mss_bytes, rtt_us, strict=True):
        if at_ns < due_ns or rtt <= 0:
            continue
        due_ns = at_ns + rtt * 1e3
        rate_bps = cwnd * mss * 8 / (rtt / 1e6)
        found.append(_POLE * found[-1] + (1 - _POLE) * rate_bps if found else rate_bps)
    return np.asarray(found, np.float64)
