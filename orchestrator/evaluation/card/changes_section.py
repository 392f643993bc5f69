"""The section of the page that says what changed from the baseline's card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.evaluation import wording
from orchestrator.evaluation.card import document
from orchestrator.evaluation.tones import TONES
from results.experiment.model import Interval
from results.report import LabelledValue, Section, Table
from results.wording import intervals, quantities, variant_names

if TYPE_CHECKING:
    from orchestrator.evaluation.judging import JudgedCriterion
    from orchestrator.evaluation.prepared import PreparedEvaluation
    from results.contract.evaluations import CardChanges, ChangedCell

METHODS = (
    "Cells are compared that both cards have. One is listed if its verdict is another one, or if "
    "the 95% intervals of both means are apart. Intervals that overlap may differ, too. Of a "
    "hundred cells of one and the same control, less than one is expected to be listed.",
)


def section(
    prepared: PreparedEvaluation,
    judged: Sequence[JudgedCriterion],
    changes: CardChanges,
    db: Path,
) -> Section:
    """Return the section."""
    names = [one.name for one in judged]
    return Section(
        title=f"Changes from {changes.baseline}",
        label="baseline",
        question="What is different from the baseline?",
        facts=[
            LabelledValue("baseline", changes.baseline),
            LabelledValue("kernel of the baseline", ", ".join(changes.kernels)),
            LabelledValue("cells in both cards", str(changes.compared)),
        ],
        findings=wording.changes(changes),
        network=(),
        setup=(),
        results=list(tables(changes)),
        notes=(),
        methods=METHODS,
        trust=(),
        provenance=[LabelledValue("digest of the baseline's runs", changes.digest)],
        command="\n".join(document.command(prepared, name, db) for name in names),
        scenario="Each criterion below has its scenario.",
    )


def tables(changes: CardChanges) -> Iterator[Table]:
    """Yield a table of changed grades, and one of changed cells, where there are any."""
    if changes.grades:
        yield Table(
            "Criteria whose grade is another one.",
            ["criterion", "before", "after"],
            [[one.name, one.before, one.after] for one in changes.grades],
            tones=TONES,
        )
    if changes.cells:
        labels = variant_names.short_names(cell.variant for cell in changes.cells)
        yield Table(
            "Cells whose verdict is another one, or whose intervals are apart.",
            ["cell", "before", "after", "baseline", "candidate"],
            [_line(cell, labels) for cell in changes.cells],
            tones=TONES,
        )


def _line(cell: ChangedCell, labels: dict[str, str]) -> list[str]:
    where = [variant_names.one_line(cell.variant, labels)]
    where += [f"beside {cell.beside}"] if cell.beside is not None else []
    place = ", ".join(filter(None, where))
    return [
        f"{cell.criterion}: {cell.row}{f' at {place}' if place else ''}",
        cell.before,
        cell.after,
        _value(cell, cell.mean_before, cell.low_before, cell.high_before),
        _value(cell, cell.mean_after, cell.low_after, cell.high_after),
    ]


def _value(cell: ChangedCell, mean: float | None, low: float | None, high: float | None) -> str:
    text = intervals.with_interval(
        Interval(mean, low, high), lambda value: quantities.quantity(value, cell.unit)
    )
    return f"{text} {quantities.unit(cell.unit)}".rstrip()
