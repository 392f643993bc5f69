"""What changed between two cards: of two versions of a module, two controls or two kernels."""

from __future__ import annotations

from collections.abc import Iterator

from results.contract import evaluations as contract
from results.matrix.axes import key

Place = tuple[str, str, str, str | None]
"""Criterion, row, key of the variant, and the reference beside the candidate."""


def changes(before: contract.Card, after: contract.Card) -> contract.CardChanges:
    """Return what differs, by the criteria and cells that both cards have.

    A cell is listed if its verdict is another one, or if the 95% intervals of the candidates' means
    are apart. Intervals that overlap may differ, too: the runs of both cards are not paired here.
    """
    grades = {one.name: one.grade for one in before.criteria}
    names = [one.name for one in after.criteria]
    earlier = dict(_cells(before))
    both = [
        (place, row, cell, earlier[place])
        for place, (row, cell) in _cells(after)
        if place in earlier
    ]
    changed = [
        _changed(place, row, was, cell)
        for place, row, cell, (_row, was) in both
        if cell.verdict != was.verdict or _apart(was.candidate, cell.candidate)
    ]
    return contract.CardChanges.model_construct(
        baseline=before.candidate,
        module_sha256=before.module_sha256,
        kernels=before.kernels,
        digest=before.digest,
        compared=len(both),
        only_before=[name for name in grades if name not in names],
        only_after=[name for name in names if name not in grades],
        grades=[
            contract.ChangedGrade.model_construct(
                name=one.name, before=grades[one.name], after=one.grade
            )
            for one in after.criteria
            if grades.get(one.name, one.grade) != one.grade
        ],
        cells=changed,
    )


def _cells(
    card: contract.Card,
) -> Iterator[tuple[Place, tuple[contract.CardRow, contract.CardCell]]]:
    for criterion in card.criteria:
        for row in criterion.rows:
            for cell in row.cells:
                yield (criterion.name, row.id, key(cell.variant), cell.beside), (row, cell)


def _apart(one: contract.MeasuredControl, other: contract.MeasuredControl) -> bool:
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.high < other.low or other.high < one.low


def _changed(
    place: Place, row: contract.CardRow, before: contract.CardCell, after: contract.CardCell
) -> contract.ChangedCell:
    was, found = before.candidate, after.candidate
    return contract.ChangedCell.model_construct(
        criterion=place[0],
        row=row.id,
        metric=row.metric,
        unit=row.unit,
        variant=after.variant,
        beside=after.beside,
        before=before.verdict,
        after=after.verdict,
        apart=_apart(was, found),
        mean_before=was.mean,
        low_before=was.low,
        high_before=was.high,
        mean_after=found.mean,
        low_after=found.low,
        high_after=found.high,
    )
