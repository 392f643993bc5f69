"""How much of what a statement says was measured: at how many places, and how long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from results.claims.judged_statements import JudgedRow
from results.claims.stated.model import Design, Length, Statement
from results.claims.stated.rows import rows


def measured_part(
    statement: Statement, judged: Sequence[JudgedRow], designs: Mapping[str, Design], length: Length
) -> str:
    """Return in words what was measured of a statement with rows; empty where it is all.

    Args:
        statement: one that can be tested.
        judged: its rows that have values.
        designs: the experiments of its paper by name.
        length: that of its values.
    """
    return "; ".join([*_places(statement, judged), *measured_times(judged, designs, length)])


def _places(statement: Statement, judged: Sequence[JudgedRow]) -> Iterator[str]:
    """Yield at how many of its places a statement was measured, if not at all.

    A row of the largest, least or mean of all says so itself. A monotone statement has a place for
    each value of its axis, and an ordering one for all of its steps.
    """
    if statement.across is not None:
        return
    stated = rows(statement)
    if statement.relation == "monotone":
        there, every = (
            len({repr(quantity) for row in some for quantity in row.quantities()})
            for some in ([judged_row.row for judged_row in judged], stated)
        )
    else:
        steps = max(len(statement.compare) - 1, 1)
        there, every = len(judged) // steps, len(stated) // steps
    if there < every:
        yield f"{there} of {every} places"


def measured_times(
    judged: Sequence[JudgedRow], designs: Mapping[str, Design], length: Length
) -> Iterator[str]:
    """Yield the times that the experiments of the rows measure, where they are a small part."""
    names = [
        quantity.experiment for judged_row in judged for quantity in judged_row.row.quantities()
    ]
    known = [designs[name].at(length).measures for name in dict.fromkeys(names) if name is not None]
    for said in dict.fromkeys(known):
        if said is not None:
            yield said
