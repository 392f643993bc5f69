"""The values of rows on filters, which the modules' arithmetic gives without a network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kmods import filters
from results.claims.judged_statements import RowValues
from results.claims.stated.rows import rows
from results.experiment.left_out import LeftOut

if TYPE_CHECKING:
    from results.claims.stated.model import Statement
    from results.claims.stated.rows import ClaimRow

REPETITIONS = 20
"""Sequences of arrivals, each with a seed of its own. They take no runs, so all lengths have them.
"""


def computed(row: ClaimRow) -> bool:
    """Tell whether the values of a row are computed, and not those of runs."""
    return any(quantity.filter is not None for quantity in row.quantities())


def require(statements: Iterable[Statement]) -> None:
    """Check that the values of statements can be computed, before runs are made.

    Raises:
        MachineError: a statement is on filters, and there is no compiler.
    """
    if any(computed(row) for statement in statements for row in rows(statement)):
        filters.require_compiler()


def values(row: ClaimRow) -> RowValues:
    """Return the values of a row of filters; sequences that give equal ones count once.

    Raises:
        MachineError: the program cannot be compiled.
    """
    biases = filters.biases(tuple(range(REPETITIONS)))
    (terms,) = row.terms
    columns = [biases[str(each.arrivals), str(each.filter)] for each in terms]
    every = list(zip(*columns, strict=True))
    distinct = list(dict.fromkeys(every))
    ratios = [each[0] / each[1] if len(each) == 2 else each[0] for each in distinct]
    left_out = LeftOut(identical=len(every) - len(distinct))
    return RowValues([ratio / row.divisor for ratio in ratios], REPETITIONS, left_out)
