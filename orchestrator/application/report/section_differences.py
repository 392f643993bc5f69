"""Tables of differences and of crossings: the decisive rows, and the command that prints all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.application.report.section_tables import (
    VariantAxes,
    cut,
    in_unit,
    title,
    value_words,
)
from results.experiment import contrasts
from results.experiment.model import Comparison, Summary
from results.figures import _labels
from results.metrics import METRICS
from results.report import Table
from results.wording import quantities, summary_tables

MOST_ROWS = 30
"""Most rows of a table: two thirds of a page."""

FEW_ROWS = 10
"""As many rows has a table of many differences of which few, or none, are shown."""


def differences(summary: Summary, commands: Mapping[str, str]) -> Iterator[Table]:
    """Yield a table for each family of differences that has intervals.

    ``commands`` print all differences of a metric.
    """
    for (metric, axis), number in contrasts.families(summary.differences).items():
        if number:
            of_family = [
                difference
                for difference in summary.differences
                if (difference.metric, difference.axis) == (metric, axis)
            ]
            yield from _differences(summary, metric, of_family, commands[metric]).fitted()


def _differences(
    summary: Summary, metric: str, of_family: Sequence[Comparison], command: str
) -> Table:
    axes, unit = VariantAxes(summary), summary_tables.units_of(summary)[metric]
    chosen = _most_decisive(of_family)
    path = of_family[0].axis
    value_names = value_words(summary, path) if path is not None else {}
    rows = [
        [
            *axes.cells(difference.variant),
            whose(difference) or quantities.NO_VALUE,
            "{} − {}".format(*compared(difference, value_names)),
            summary_tables.family_interval(difference, unit),
            _result(difference, value_names),
            summary_tables.p_value(difference.p_family),
            difference.pairs,
        ]
        for difference in chosen
    ]
    headings = [
        *axes.headings, "Of", "Difference", "Mean [interval]", "Result", "p (Bonferroni)", "Pairs"
    ]  # fmt: skip
    paired = all(difference.method == "paired" for difference in of_family)
    how = "paired by seed" if paired else "paired by seed, or (two numbers of runs) Welch's t test"
    between = _between(summary, of_family)
    caption = f"Differences of {_labels.in_sentence(metric)}{in_unit(unit)} {between}, {how}."
    if len(chosen) == len(of_family):
        command = ""
    else:
        caption += _left_out(of_family, len(chosen))
    table = Table(caption, headings, rows, len(axes.headings) + 2, command)
    return table.without_empty_columns(quantities.NO_VALUE)


def compared(difference: Comparison, words: Mapping[str, str]) -> tuple[str, str]:
    """Return the words for what is compared: b, and a, which is taken away."""
    a, b = difference.a, difference.b
    return words.get(b, b), words.get(a, a)


def _result(difference: Comparison, words: Mapping[str, str]) -> str:
    """Return what a difference shows; that it is the same in each run shows its interval."""
    way = difference.sign
    if not way:
        return difference.label
    b, a = compared(difference, words)
    return f"{b} above {a}" if way > 0 else f"{a} above {b}"


def _between(summary: Summary, found: Sequence[Comparison]) -> str:
    """Return between what the differences of a family are."""
    path = found[0].axis
    if path is None:
        return "between flow entries"
    axis = next(axis_of_summary for axis_of_summary in summary.axes if axis_of_summary.path == path)
    return f"between values of {_labels.axis_words(axis)}"


def _most_decisive(found: Sequence[Comparison]) -> Sequence[Comparison]:
    """Return all of a few differences; of many, those that are shown, with the smallest p first.

    Where few are shown, the next ones by their p are there, too.
    """
    if len(found) <= MOST_ROWS:
        return found

    def rank(each: Comparison) -> tuple[bool, float]:
        return not each.sign, each.p if each.p is not None else 2.0

    shown = sum(each.sign != 0 for each in found)
    return sorted(found, key=rank)[: min(max(shown, FEW_ROWS), MOST_ROWS)]


def _left_out(found: Sequence[Comparison], number: int) -> str:
    """Return how many comparisons there are, and which of them the table has."""
    shown = sum(difference.sign != 0 for difference in found)
    share = f"{shown or 'None'} of {len(found)} comparisons {'show' if shown > 1 else 'shows'}"
    return f" {share} a difference; these are the {number} with the smallest p."


def whose(difference: Comparison) -> str:
    """Return whose values are compared along an axis; empty where flow entries are."""
    if difference.axis is None:
        return ""
    whole = "the whole run" if (difference.metric, "run") in METRICS else ""
    return difference.flow or whole


def crossings(summary: Summary, command: str) -> Iterator[Table]:
    """Yield a table of the places where flow entries change places, of most repetitions first.

    ``command`` prints all.
    """
    found = summary.crossings
    if not found:
        return
    axes = {axis.path: axis for axis in summary.axes}
    varying = VariantAxes(summary)
    if len(found) > MOST_ROWS:
        found = sorted(found, key=lambda each: -each.n)
    rows = []
    for each in found:
        axis = axes[each.axis]
        unit = summary_tables.fixed(axis.unit or "1")
        at = f"{_labels.axis_words(axis)} {summary_tables.interval(each, unit)}"
        rows.append(
            [
                *varying.cells(each.variant),
                f"{each.b} and {each.a}",
                title(each.metric),
                f"{at} {unit.name}".strip(),
                f"{each.n} of {each.of}",
            ]
        )
    headings = [*varying.headings, "Flows", "Metric", "At", "Repetitions"]
    words = "Where two flows change places, by interpolation in each repetition."
    table = Table(words, headings, rows, len(varying.headings) + 2)
    yield from cut(table.without_empty_columns(), command, MOST_ROWS)
