"""The single comparisons that a statement is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from results.claims.stated.accepted import AcceptedRange
from results.claims.stated.model import ComparedQuantity, Quantity, Statement, StatementCase
from results.claims.stated.scales import is_index
from results.claims.stated.zones import near
from results.matrix.axes import shown


@dataclass(frozen=True)
class ClaimRow:
    """One comparison with the paper.

    ``terms`` has the values that it is made of: one, or a numerator and a denominator. Where
    several places are judged by one value (``across``), it has those of each place.
    ``divisor`` divides the value. ``near`` is what agrees or is near. ``paper`` says what the paper
    has, and ``numbers`` has its numbers.
    """

    label: str
    paper: str
    accepted: AcceptedRange
    near: AcceptedRange
    terms: tuple[tuple[Quantity, ...], ...]
    across: str | None = None
    divisor: float = 1.0
    numbers: tuple[float, ...] = ()

    @property
    def index(self) -> bool:
        """Whether its value is an index between 0 and 1, and not a ratio of two."""
        return all(len(terms) == 1 and is_index(terms[0]) for terms in self.terms)

    def quantities(self) -> list[Quantity]:
        """Return all values of runs that it needs."""
        return [quantity for terms in self.terms for quantity in terms]


def rows(statement: Statement, planned: Callable[[Quantity], bool] | None = None) -> list[ClaimRow]:
    """Return the rows of a statement; none for one that cannot be tested.

    A monotone statement has a row for each step from a value of its axis to the next. ``planned``
    tells whether a length has runs of a value. A step leaves out values without runs.
    """
    if statement.relation is None:
        return []
    cases = list(_cases(statement))
    if statement.across is not None:
        every = [row for case in cases for row in _rows(statement, case)]
        first = every[0]
        terms = tuple(row.terms[0] for row in every)
        label = f"{statement.across} of all"
        return [replace(first, label=label, terms=terms, across=statement.across)]
    if statement.relation == "monotone":
        return _steps(
            statement,
            lambda values: pairwise(
                quantity for quantity in values if planned is None or planned(quantity)
            ),
        )
    return [row for case in cases for row in _rows(statement, case)]


def rows_of_any_length(statement: Statement) -> list[ClaimRow]:
    """Return the rows that any length can have: of a monotone statement, all possible steps."""
    if statement.relation == "monotone":
        return _steps(statement, lambda values: combinations(values, 2))
    return rows(statement)


def _cases(statement: Statement) -> Iterator[StatementCase]:
    """Yield the cases, at each value of the axis; one without a label where there is none."""
    for case in statement.cases or (StatementCase(label=""),):
        if statement.along is None:
            yield case
            continue
        for value in statement.along.values:
            place = f"{statement.along.axis} {shown(value)}"
            label = f"{case.label}, {place}" if case.label else place
            of = case.of.model_copy(
                update={"where": {**case.of.where, statement.along.axis: value}}
            )
            yield StatementCase.model_construct(label=label, of=of, paper=case.paper)


def _rows(statement: Statement, case: StatementCase) -> Iterator[ClaimRow]:
    base = case.of.with_defaults(statement.of)
    paper = case.paper or statement.paper
    if statement.relation == "ordering":
        for upper, lower in pairwise(statement.compare):
            label = f"{upper.name} / {lower.name}"
            accepted = AcceptedRange(1.0 + _tolerance(statement, 1.0), None, above=True)
            yield ClaimRow(
                f"{case.label}: {label}" if case.label else label,
                "above 1",
                accepted,
                near(statement, accepted, (1.0, None), index=False),
                ((_of(upper, base), _of(lower, base.model_copy(update={"at_least": None}))),),
            )
        return
    accepted, text = _accepted(statement, paper)
    stated = dict.fromkeys(number for number in paper or () if number is not None)
    index = is_index(base) and statement.relation != "factor"
    zone = near(statement, accepted, paper or (None, None), index)
    row = ClaimRow(
        case.label, text, accepted, zone, ((base,),), None, statement.whole or 1.0, tuple(stated)
    )
    if statement.relation == "factor":
        upper, lower = statement.compare
        label = f"{upper.name} / {lower.name}"
        label = f"{case.label}: {label}" if case.label else label
        row = replace(row, label=label, terms=((_of(upper, base), _of(lower, base)),))
    yield row


def _steps(
    statement: Statement,
    pairs: Callable[[Iterable[Quantity]], Iterable[tuple[Quantity, Quantity]]],
) -> list[ClaimRow]:
    """Return a row for each step along the axis: the value after it divided by that before.

    ``pairs`` chooses the steps from the values along the axis.
    """
    slack = _tolerance(statement, 1.0)
    falls = statement.direction == "falls"
    accepted = AcceptedRange(None, 1.0 + slack) if falls else AcceptedRange(1.0 - slack, None)
    zone = near(statement, accepted, (1.0, 1.0), index=False)
    if statement.along is None:
        raise AssertionError("a validated statement has an axis")
    axis = statement.along.axis
    steps = []
    for case in statement.cases or (StatementCase(label=""),):
        base = case.of.with_defaults(statement.of)
        values = [
            Quantity(where={axis: value}).with_defaults(base) for value in statement.along.values
        ]
        for before, after in pairs(values):
            step = f"{axis} {shown(before.where[axis])} to {shown(after.where[axis])}"
            label = f"{case.label}, {step}" if case.label else step
            told = f"{statement.direction}"
            steps.append(ClaimRow(label, told, accepted, zone, ((after, before),)))
    return steps


def _of(compared: ComparedQuantity, base: Quantity) -> Quantity:
    return compared.of.with_defaults(base)


def _tolerance(statement: Statement, number: float) -> float:
    if statement.tolerance is None:
        raise AssertionError("a validated statement has a tolerance")
    return statement.tolerance.around(number)


def _accepted(
    statement: Statement, paper: tuple[float | None, float | None] | None
) -> tuple[AcceptedRange, str]:
    """Return what is accepted, and the paper's number as text."""
    low, high = paper or (None, None)
    if statement.relation == "at-most":
        low = None
    elif statement.relation == "at-least":
        high = None
    accepted = AcceptedRange(
        None if low is None else low - _tolerance(statement, low),
        None if high is None else high + _tolerance(statement, high),
    )
    if low is None:
        return accepted, f"at most {high:g}"
    if high is None:
        return accepted, f"at least {low:g}"
    return accepted, f"{low:g}" if low == high else f"{low:g} to {high:g}"
