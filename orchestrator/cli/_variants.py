"""Writes the comparison of variants over their repetitions as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.cli import _output
from orchestrator.cli._summary import fixed, interval, mean_with_half, p_value

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]


def print_text(document: Document, out: Console) -> None:
    """Print a row for each metric of a subject that has a difference, and what is left out."""
    names = [one["name"] for one in document["variants"]]
    headings = ["of", "metric", "unit", *(f"{name}, mean" for name in names)]
    for name in names[1:]:
        headings += [f"{name} - {names[0]} [95% interval]", "p (Holm)"]
    rows = [_row(line) for line in document["values"] if any(line["differences"])]
    out.print(_output.table(headings, rows, range(3, len(headings))))
    for line in _notes(document["variants"]):
        out.print(line, markup=False)
    out.print()


def _row(line: Document) -> Sequence[str]:
    unit = fixed(line["unit"])
    cells = [line["flow"] or line["link"] or "run", line["metric"], unit.name]
    cells += [
        _output.NO_VALUE if one is None else mean_with_half(one, unit) for one in line["means"]
    ]
    for one in line["differences"][1:]:
        cells += (
            [_output.NO_VALUE] * 2 if one is None else [interval(one, unit), p_value(one["p_holm"])]
        )
    return cells


def _notes(variants: Sequence[Document]) -> Iterator[str]:
    from results import left_out

    for one in variants:
        if words := left_out.words(one["left_out"]):
            yield f"{one['name']}: left out: {words}"
