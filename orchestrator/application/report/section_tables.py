"""Tables of a report, from an experiment's summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from results.experiment.model import Summary, SummaryRow
from results.figures import _labels
from results.matrix.axes import Axis, axes, differing, key, shown
from results.metrics import any_scope
from results.records.model import Variant
from results.report import Table
from results.wording import quantities, summary_tables

MOST_COLUMNS = 5
"""Most flow entries and links that have a column each; of more, each has a row."""

MOST_ROWS = 120
"""Most rows of a table of means: three pages. The rest is counted, and the command prints it."""


def value_words(summary: Summary, path: str) -> dict[str, str]:
    """Return the words for the values of an axis, by what a difference calls them."""
    axis = next(candidate for candidate in summary.axes if candidate.path == path)
    texts = _labels.short_texts(axis.values)
    return {shown(axis_value): text for axis_value, text in zip(axis.values, texts, strict=True)}


def in_words(summary: Summary) -> Summary:
    """Return a summary whose variants have short words in place of mappings."""
    short_names = {
        axis.path: dict(zip(map(key, axis.values), _labels.short_texts(axis.values), strict=True))
        for axis in summary.axes
        if any(isinstance(axis_value, Mapping) for axis_value in axis.values)
    }

    def shortened(row: SummaryRow) -> SummaryRow:
        values = {
            path: short_names[path][key(axis_value)] if path in short_names else axis_value
            for path, axis_value in row.variant.items()
        }
        return replace(row, variant=values)

    return replace(summary, rows=[shortened(row) for row in summary.rows])


class VariantAxes:
    """The columns that say which variant a row is of: words and units of the axes."""

    def __init__(self, summary: Summary) -> None:
        self._axes = varying(summary)
        self.headings: list[str] = []
        self._texts: list[dict[str, str]] = []
        for axis in self._axes:
            texts, title = _labels.tick_labels(axis)
            self.headings.append(title)
            keys = [key(axis_value) for axis_value in axis.values]
            self._texts.append(dict(zip(keys, texts, strict=True)))

    def cells(self, variant: Variant) -> list[str]:
        """Return a cell for each axis; those that the variant has no value on are empty."""
        return [
            texts[key(variant[axis.path])] if axis.path in variant else ""
            for axis, texts in zip(self._axes, self._texts, strict=True)
        ]


def varying(summary: Summary) -> list[Axis]:
    """Return the axes on which the variants of a summary's rows differ, with their values alone."""
    variants = [row.variant for row in summary.rows]
    return differing(axes(variants), variants)


def means(summary: Summary, metrics: Sequence[str], command: str) -> Iterator[Table]:
    """Yield the tables of means: a row for each variant, or for each flow entry of a variant.

    ``command`` prints all rows.
    """
    rows = [row for row in summary.rows if _known(row, metrics)]
    subjects = list(dict.fromkeys(map(_subject, rows)))
    variants = list({key(row.variant): row.variant for row in rows}.values())
    if not rows:
        return
    if len(variants) > 1 and len(subjects) <= MOST_COLUMNS:
        for metric in metrics:
            of_metric = [row for row in rows if _known(row, [metric])]
            if of_metric:
                yield from cut(_by_variant(summary, metric, of_metric), command)
    else:
        yield from cut(_by_subject(summary, metrics, rows), command)


def _by_variant(summary: Summary, metric: str, rows: Sequence[SummaryRow]) -> Table:
    axes, unit = VariantAxes(summary), summary_tables.units_of(summary)[metric]
    subjects = list(dict.fromkeys(map(_subject, rows)))
    by_variant: dict[str, dict[str, SummaryRow]] = {}
    for row in rows:
        by_variant.setdefault(key(row.variant), {})[_subject(row)] = row
    lines = []
    for of in by_variant.values():
        first = next(iter(of.values()))
        cells = [
            _mean(of[subject], metric, unit) if subject in of else quantities.NO_VALUE
            for subject in subjects
        ]
        lines.append([*axes.cells(first.variant), str(first.n), *cells])
    headings = [*axes.headings, "Runs", *subjects]
    caption = f"{title(metric)}{in_unit(unit)}: {_labels.lower(_what(rows))}"
    return Table(caption, headings, lines, len(axes.headings) + 1)


def _what(rows: Sequence[SummaryRow]) -> str:
    """Return what the cells of a table of means are."""
    if any(row.n > 1 for row in rows):
        return "Means over runs ± half of the 95% interval."
    return "Values of single runs."


def _by_subject(summary: Summary, metrics: Sequence[str], rows: Sequence[SummaryRow]) -> Table:
    axes, units = VariantAxes(summary), summary_tables.units_of(summary)
    there = [name for name in metrics if any(_known(row, [name]) for row in rows)]
    lines = [
        [
            *axes.cells(row.variant), _subject(row), str(row.n),
            *(_mean(row, name, units[name]) for name in there),
        ]
        for row in rows
    ]  # fmt: skip
    headings = [
        *axes.headings,
        "Of",
        "Runs",
        *(f"{title(name)}{in_unit(units[name])}" for name in there),
    ]
    return Table(_what(rows), headings, lines, len(axes.headings) + 2)


def _known(row: SummaryRow, metrics: Sequence[str]) -> bool:
    return any(map(row.has, metrics))


def _subject(row: SummaryRow) -> str:
    return row.flow or row.link or "whole run"


def _mean(row: SummaryRow, metric: str, unit: summary_tables.DisplayUnit) -> str:
    """Return a mean, which says itself of what part of the runs it is."""
    if not row.has(metric):
        return quantities.NO_VALUE
    return summary_tables.mean_with_half(row.metrics[metric], unit)


def title(metric: str) -> str:
    """Return the words for a metric."""
    return _labels.metric_title(metric)


def in_unit(unit: summary_tables.DisplayUnit) -> str:
    """Return a unit in brackets, as it follows a title."""
    return f" ({unit.name})" if unit.name else ""


def cut(table: Table, command: str, most: int = MOST_ROWS) -> Iterator[Table]:
    """Yield the table in parts that fit the page; of a longer one the first ``most`` rows.

    It then says how many there are, and the command that prints all.
    """
    if len(table.rows) > most:
        table = replace(
            table,
            caption=f"{table.caption} The first {most} of {len(table.rows)} rows.",
            rows=table.rows[:most],
            command=command,
        )
    yield from table.fitted()


def flows(rows: Sequence[Any], entries: Sequence[str]) -> Iterator[Table]:
    """Yield a table of the flow entries of a run; ``rows`` are its flows."""
    if not rows:
        return
    lines = []
    for entry in dict.fromkeys(entries):
        of = [flow for flow, name in zip(rows, entries, strict=True) if name == entry]
        bases_s = sorted({flow.base_rtt_s for flow in of})
        ends = f"{1e3 * bases_s[0]:.6g}" if bases_s else ""
        if len(bases_s) > 1:
            ends += f" to {1e3 * bases_s[-1]:.6g}"
        controls = dict.fromkeys(flow.congestion_control or "-" for flow in of)
        lines.append([entry, str(len(of)), ", ".join(controls), of[0].traffic, ends])
    headings = ["Flow entry", "Flows", "Congestion control", "Traffic", "Base RTT (ms)"]
    yield Table("Flows of the run in the drawing.", headings, lines[:MOST_ROWS])


def metric_definitions(metrics: Sequence[str]) -> Iterator[str]:
    """Yield what each metric is, in the words of its definition's first sentence."""
    for name in metrics:
        entry = any_scope(name)
        first = " ".join(entry.definition.split("\n\n")[0].split())
        yield f"{title(name)} ({name}, {quantities.unit(entry.unit) or 'no unit'}): {first}"
