"""Writes the comparison of variants over their repetitions as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from orchestrator.cli.render import terminal
from results.experiment import contrasts, left_out
from results.wording import quantities
from results.wording.summary_tables import family_interval, fixed, mean_with_half

if TYPE_CHECKING:
    from rich.console import Console

    from results.comparison.variants import (
        ComparedMetric,
        ComparedVariant,
        VariantComparison,
    )


def print_text(comparison: VariantComparison, out: Console) -> None:
    """Print a row for each metric of a subject that has a difference, and what is left out."""
    names = [variant.name for variant in comparison.variants]
    headings = ["of", "metric", "unit", *(f"{name}, mean" for name in names)]
    for name in names[1:]:
        headings += [f"{name} - {names[0]} [interval]", "result"]
    rows = [_row(line) for line in comparison.values if any(line.differences)]
    out.print(terminal.table(headings, rows, range(3, len(headings))))
    for line in (*_notes(comparison.variants), *_families(comparison.values)):
        terminal.print_line(line, out)
    out.print()


def _row(line: ComparedMetric) -> Sequence[str]:
    unit = fixed(line.unit)
    cells = [line.subject, line.metric, unit.name]
    cells += [
        quantities.NO_VALUE if one is None else mean_with_half(one, unit) for one in line.means
    ]
    for one in line.differences[1:]:
        cells += (
            [quantities.NO_VALUE] * 2
            if one is None
            else [family_interval(one, unit), one.short_label]
        )
    return cells


def _families(values: Sequence[ComparedMetric]) -> Iterator[str]:
    """Yield what the intervals of the metrics' differences are, once for families of one size."""
    sizes: dict[int, list[str]] = {}
    for line in values:
        for difference in line.differences:
            if difference is not None:
                sizes.setdefault(difference.family_n, []).append(line.metric)
    for number, metrics in sizes.items():
        of = ", ".join(dict.fromkeys(metrics)) if len(sizes) > 1 else "each metric"
        yield f"differences of {of}: {contrasts.sentence(number)}"


def _notes(variants: Sequence[ComparedVariant]) -> Iterator[str]:
    for variant in variants:
        if words := left_out.words(variant.left_out):
            yield f"{variant.name}: left out: {words}"
