"""The tables and the plot of an experiment's page, from its summary.

Numbers are those of ``results.summary``; here they get units and words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from results import left_out
from results.axes import Axis, conditions, shown, varying, with_labels
from results.experiments import Experiment
from results.metrics import METRICS, Metric
from results.statistics.differences import SIGNIFICANT
from web import formats, plot, scales
from web.choices import Choices
from web.plot import Plot
from web.scales import Unit

MOST_ROWS = 500
"""Rows of a table on the page; the files have all."""

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Value:
    """A number of the summary in its stored unit, and as it is shown."""

    raw: float | None
    text: str


@dataclass(frozen=True)
class Mean:
    """A row of means; ``doubtful`` counts the doubtful runs of the mean."""

    place: list[str]
    subject: str
    n: int
    mean: Value
    low: Value
    high: Value
    drifting: bool | None
    rises: bool
    doubtful: int
    left_out: str


@dataclass(frozen=True)
class Difference:
    """A row of differences ``b - a``; ``sign`` is 1, -1, or 0 if none was shown.

    ``where`` is the condition that keeps the variants of ``place``; empty if all are of it.
    """

    place: str
    where: str
    pair: str
    result: str
    sign: int
    mean: Value
    low: Value
    high: Value
    effect: Value
    p: Value
    pairs: str


@dataclass(frozen=True)
class Crossing:
    """Where two flow entries change places."""

    place: str
    pair: str
    axis: str
    mean: Value
    low: Value
    high: Value
    seen: str


@dataclass(frozen=True)
class Answer:
    """All that the page shows of a summary. ``more`` counts rows that are in the files only."""

    metric: Metric
    unit: Unit
    plot: Plot
    means: list[Mean]
    more_means: int
    differences: list[Difference]
    more_differences: int
    paired: bool
    crossings: list[Crossing]
    notes: list[str]


def answer(document: Document, experiment: Experiment, chosen: Choices) -> Answer:
    """Return what the page shows.

    Raises:
        UsageError: a value has no place on a logarithmic axis.
    """
    axes = experiment.axes()
    one = next(metric for (name, _scope), metric in METRICS.items() if name == chosen.metric)
    rows = [row for row in document["rows"] if chosen.metric in row["metrics"]]
    means = [row["metrics"][chosen.metric]["mean"] for row in rows]
    unit = scales.unit_of(one.format, one.unit, [mean for mean in means if mean is not None])
    asked = plot.Asked(
        chosen.metric, one.title, unit, chosen.x, chosen.colour, chosen.facet, chosen.log_x,
        chosen.y_scale == "log", chosen.from_zero, chosen.each, chosen.doubtful,
    )  # fmt: skip
    differences = document["differences"]
    return Answer(
        one,
        unit,
        plot.plot(document, axes, asked),
        [_mean(row, axes, chosen, unit) for row in rows[:MOST_ROWS]],
        max(0, len(rows) - MOST_ROWS),
        [_difference(each, axes, unit) for each in differences[:MOST_ROWS]],
        max(0, len(differences) - MOST_ROWS),
        all(each["method"] == "paired" for each in differences),
        [_crossing(each, axes) for each in document["crossings"]],
        list(_notes(document, chosen)),
    )


def interval(each: Mapping[str, Any], unit: Unit) -> tuple[Value, Value, Value]:
    """Return mean and ends of an interval with the digits that its width gives a meaning."""
    low, high, mean = each["low"], each["high"], each["mean"]
    step = None
    if mean is not None and low is not None:
        step = (high - low) / 2 or abs(mean) / 1000
    return (
        Value(mean, unit.digits(mean, step)),
        Value(low, unit.digits(low, step)),
        Value(high, unit.digits(high, step)),
    )


def _mean(row: Mapping[str, Any], axes: Sequence[Axis], chosen: Choices, unit: Unit) -> Mean:
    found = row["metrics"][chosen.metric]
    return Mean(
        [shown(row["variant"].get(axis.path, "")) for axis in axes],
        row["flow"] or row["link"] or "run",
        found["n"],
        *interval({"low": None, "high": None, **found}, unit),
        found["drifting"],
        (found["rise"] or 0) > 0,
        sum(run in chosen.doubtful for run in found["runs"]),
        left_out.words(row["left_out"]),
    )


def _difference(each: Mapping[str, Any], axes: Sequence[Axis], unit: Unit) -> Difference:
    p, mean = each["p_holm"], each["mean"]
    alike = p is None and each["low"] is not None  # the difference is the same in every run
    shown_to_differ = (alike or (p is not None and p <= SIGNIFICANT)) and bool(mean)
    sign = 0 if not shown_to_differ else 1 if mean > 0 else -1
    result = "no difference shown" if p is not None or alike else "too few repetitions"
    if sign:
        higher, lower = (each["b"], each["a"]) if sign > 0 else (each["a"], each["b"])
        result = f"{higher} above {lower}{', the same in each run' if alike else ''}"
    effect = each["effect"]
    return Difference(
        ", ".join(filter(None, (_place(each["variant"], axes), each["flow"]))) or formats.NONE,
        " and ".join(_conditions(each["variant"], axes)),
        f"{each['b']} − {each['a']}",
        result,
        sign,
        *interval(each, unit),
        Value(effect, formats.NONE if effect is None else f"{effect:+.2f}"),
        Value(p, formats.p_value(p)),
        str(each["paired_n"] or f"{each['a_n']}, {each['b_n']}"),
    )


def _crossing(each: Mapping[str, Any], axes: Sequence[Axis]) -> Crossing:
    axis = next(axis for axis in axes if axis.path == each["axis"])
    format_name = {"bit/s": "rate", "s": "time"}.get(axis.unit or "", "")
    known = [each["mean"]] if each["mean"] is not None else []
    unit = scales.unit_of(format_name, axis.unit or "1", known)
    return Crossing(
        _place(each["variant"], axes) or formats.NONE,
        f"{each['b']} and {each['a']}",
        f"{axis.label} ({unit.name})" if unit.name else axis.label,
        *interval(each, unit),
        f"{each['n']} of {each['of']}",
    )


def _place(variant: Mapping[str, Any], axes: Sequence[Axis]) -> str:
    """Return the values of a variant on the axes that have several."""
    return ", ".join(one.replace("=", " ", 1) for one in _conditions(variant, axes))


def _conditions(variant: Mapping[str, Any], axes: Sequence[Axis]) -> tuple[str, ...]:
    """Return a condition for each value of a variant on the axes that have several."""
    return conditions(with_labels(variant, varying(axes)))


def _notes(document: Document, chosen: Choices) -> Iterator[str]:
    """Yield what a reader of the means must know."""
    for reason, number in left_out.of_rows(document["rows"]).items():
        singular, several = left_out.SENTENCES[reason]
        if number:
            yield f"{formats.plural(number, 'run')} {singular if number == 1 else several}."
    if doubtful := len(chosen.doubtful):
        yield f"{formats.plural(doubtful, 'run')} {'is' if doubtful == 1 else 'are'} doubtful. " + (
            "It counts." if doubtful == 1 else "They count."
        )
    found = [row["metrics"].get(chosen.metric) for row in document["rows"]]
    drifting = sum(bool(one and one["drifting"]) for one in found)
    if drifting:
        yield (
            f"{formats.plural(drifting, 'mean')} still drifting (marked ~): run longer, or "
            "lengthen the warm-up."
        )
    single = sum(one is not None and one["n"] == 1 for one in found)
    if single:
        yield f"{formats.plural(single, 'mean')} of a single run: no interval."
    if not chosen.drift:
        yield "Drifts were not looked for."
