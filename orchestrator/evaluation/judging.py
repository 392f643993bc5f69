"""Judges criteria by the stored runs: a cell of each row, variant and reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator.evaluation.model import REFERENCE, Criterion, Row
from orchestrator.evaluation.verdicts import (
    DOES_NOT,
    NOT_APPLICABLE,
    Decision,
    Grade,
    decide,
    excess,
    grade,
    mean,
)
from results.experiment.experiments import of_rows
from results.experiment.left_out import LeftOut
from results.experiment.observations import ValueSelection, VariantValues, observe
from results.experiment.values import Subject
from results.matrix.axes import conditions, key
from results.records.model import WHOLE, RunRow, Variant
from results.wording.quantities import plural

if TYPE_CHECKING:
    from orchestrator.evaluation.code import CodeCheck
    from orchestrator.evaluation.controls import Control
    from orchestrator.evaluation.experiments import CardExperiment
    from results.experiment.model import Interval
    from results.store.store import Store

Values = Mapping[int, float]
"""A value of each repetition that has one."""

PairKey = tuple[str, str | None]
"""The control in the candidate's place, and the reference beside it."""


@dataclass(frozen=True)
class MeasuredControl:
    """What one control gave in a cell: the mean in the metric's unit, and the runs that count."""

    control: str
    interval: Interval
    n: int
    runs: Sequence[str]
    left_out: LeftOut


@dataclass(frozen=True)
class Cell:
    """A row in one variant, beside one reference where there is one.

    ``measured`` has the candidate first. ``baseline`` is what the bound is a factor of. ``margin``
    is how far the mean is beyond the bound, in units of what is allowed.
    """

    row: Row
    variant: Variant
    beside: str | None
    decision: Decision
    measured: Sequence[MeasuredControl]
    baseline: MeasuredControl | None
    margin: float

    @property
    def verdict(self) -> Grade:
        """The verdict."""
        return self.decision.verdict

    @property
    def candidate(self) -> MeasuredControl:
        """What the candidate gave."""
        return self.measured[0]


@dataclass(frozen=True)
class JudgedCriterion:
    """A criterion with its cells, row by row. ``rows`` are the runs in the order of the plan.

    ``explained`` is a sentence on a run of the cell that decides, where the criterion is not met.
    ``lack`` says why it is not applicable; nothing was run then. ``checks`` are builds of the
    candidate's module.
    """

    name: str
    criterion: Criterion
    cells: Sequence[Cell]
    experiments: Sequence[CardExperiment]
    rows: Sequence[RunRow]
    explained: str | None = None
    lack: str | None = None
    checks: Sequence[CodeCheck] = ()

    @property
    def grade(self) -> Grade:
        """The grade; see :func:`orchestrator.evaluation.verdicts.grade`."""
        if self.lack is not None:
            return NOT_APPLICABLE
        cells = [(cell.row.level, cell.verdict) for cell in self.cells]
        return grade([*cells, *(("should", check.verdict) for check in self.checks)])

    def of_row(self, row: Row) -> list[Cell]:
        """Return the cells of a row."""
        return [cell for cell in self.cells if cell.row.id == row.id]


def judge(
    name: str,
    criterion: Criterion,
    candidate: Control,
    experiments: Sequence[CardExperiment],
    ids: Mapping[PairKey, Sequence[str]],
    store: Store,
) -> JudgedCriterion:
    """Judge a criterion; ``ids`` has the runs of each experiment by its pairing."""
    rows = {pair: [store.load(run_id).row for run_id in ids[pair]] for pair in ids}
    cells = [cell for row in criterion.rows for cell in _cells(row, candidate.name, rows, store)]
    if criterion.failed_runs == "decide":
        cells = [_decided_by_failures(cell) for cell in cells]
    every = [run for experiment in experiments for run in rows[experiment.pairing.key]]
    return JudgedCriterion(name, criterion, cells, experiments, every)


def _decided_by_failures(cell: Cell) -> Cell:
    """Return a cell that is not met if a run of the candidate failed."""
    failed = cell.candidate.left_out.failed
    if not failed:
        return cell
    reason = f"{plural(failed, 'run')} of the candidate failed"
    return replace(cell, decision=Decision(DOES_NOT, reason))


@dataclass(frozen=True)
class Group:
    """The values of one control in one variant."""

    values: Values
    variant: VariantValues

    @property
    def identical(self) -> bool:
        """Whether other repetitions were equal to the bit, and left out."""
        return self.variant.left_out.identical > 0

    @property
    def missing(self) -> int:
        """Repetitions that count and have no value."""
        return len(self.variant.runs) - len(self.values)

    def measured(self, control: str) -> MeasuredControl:
        """Return the mean of a control with its interval and its runs."""
        found = mean(list(self.values.values()), self.identical)
        runs = [run.id for run in self.variant.runs]
        return MeasuredControl(control, found, len(self.values), runs, self.variant.left_out)


def _cells(
    row: Row, candidate: str, rows: Mapping[PairKey, Sequence[RunRow]], store: Store
) -> Iterator[Cell]:
    """Yield the cells of a row, reference by reference and variant by variant."""
    asked = {pair: made for pair, made in rows.items() if row.is_of(pair[1])}
    groups = {pair: groups_of(row, made, store) for pair, made in asked.items()}
    for pair, own in groups.items():
        if pair[0] != candidate:
            continue
        beside = pair[1]
        base = row.of if row.of != REFERENCE else beside
        for place, group in own.items():
            others = {
                control: found[place]
                for (control, reference), found in groups.items()
                if reference == beside and control != candidate and place in found
            }
            everyone = {candidate: group, **others}
            yield _cell(row, beside, everyone, base)


def groups_of(row: Row, made: Sequence[RunRow], store: Store) -> dict[str, Group]:
    """Return the values of a row's metric by the key of the variant."""
    selection = ValueSelection(
        (row.metric,), row.window or WHOLE, conditions(row.where), missing=True
    )
    variants, _axes = observe(store, of_rows(made[0].experiment, made), selection)
    series = Subject(flow=row.flow), row.metric
    return {
        key(dict(one.variant)): Group(
            {each.repetition: each.value for each in one.values.get(series, ())}, one
        )
        for one in variants
    }


def _cell(row: Row, beside: str | None, groups: Mapping[str, Group], base: str | None) -> Cell:
    """Return a cell; ``groups`` has the candidate's values first.

    Of two controls the repetitions count that both have: one whose run was unfaithful is left out.
    """
    measured = [group.measured(control) for control, group in groups.items()]
    own = next(iter(groups.values()))
    if base is None:
        values = list(own.values.values())
        decision = decide(row, values, None, own.identical, own.missing)
        return Cell(
            row, own.variant.variant, beside, decision, measured, None, _margin(row, measured[0])
        )
    other = groups[base]
    both = sorted(own.values.keys() & other.values.keys())
    missing = max(own.missing, other.missing)
    decision = decide(
        row,
        [own.values[at] for at in both],
        [other.values[at] for at in both],
        own.identical and other.identical,
        missing,
    )
    baseline = measured[list(groups).index(base)]
    margin = _margin(row, measured[0], baseline)
    return Cell(row, own.variant.variant, beside, decision, measured, baseline, margin)


def _margin(row: Row, own: MeasuredControl, baseline: MeasuredControl | None = None) -> float:
    """Return how far a mean is beyond the bound, as a share of the bound; 0 without a value."""
    value = own.interval.mean
    other = None if baseline is None else baseline.interval.mean
    if value is None or (baseline is not None and other is None):
        return 0.0
    beyond = excess(row, row.asked, value, other)
    allowed = row.asked if other is None else row.asked * abs(other) + row.allowed
    return beyond / allowed if allowed else beyond
