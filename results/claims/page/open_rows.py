"""The page of open rows: what would decide them, those first that cost the least for each row."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from results.claims.page.parts import COLUMNS, line
from results.claims.stated.model import Length

OPEN_ROWS = "open-rows.md"
"""File of the page, in the folder of the papers' pages."""

BUDGET_HOURS = 6.0
"""Time of one CPU that one sitting may take, on which the page draws its line."""

HEAD = """\
# What is open, and what would decide it

This page has every statement with open rows. The number of repetitions is what decides its rows
with a probability of 90% ([how](../reproduction.md#how-a-verdict-is-made)). For a statement that
was not measured, it is the first repetitions. For a largest, least or mean of some places, it is
the first repetitions of all places at full length. The times are estimates for one CPU of the
kind that [performance](../performance.md) names. Runs that several statements use are counted for
each of them.
"""


@dataclass(frozen=True)
class OpenStatement:
    """What would decide the open rows of a statement.

    ``runs`` is None where no number of runs decides. ``wall_s`` is estimated for one CPU.
    """

    paper: str
    id: str
    rows: int
    length: Length
    runs: int | None
    wall_s: float

    @property
    def wall_s_a_row(self) -> float:
        """The time for each row that it decides."""
        return self.wall_s / self.rows


def open_rows(statements: Iterable[OpenStatement]) -> str:
    """Return the page as Markdown."""
    every = list(statements)
    possible = sorted(
        (each for each in every if each.runs is not None),
        key=lambda each: (each.wall_s_a_row, each.paper, each.id),
    )
    within, left_out = _divided(possible)
    never = [each for each in every if each.runs is None]
    lines = [
        HEAD,
        f"## Within {BUDGET_HOURS:g} hours",
        "",
        *_table(within, "Nothing that is open costs so little."),
        "",
        "## Left out, as it costs more",
        "",
        *_table(left_out, "Nothing is left out.", sum(each.wall_s for each in within)),
    ]
    if never:
        named = ", ".join(_name(each) for each in never)
        lines += ["", "## No number of runs decides", "", *textwrap.wrap(named, COLUMNS)]
    return "\n".join([*lines, ""])


def _divided(
    statements: Sequence[OpenStatement],
) -> tuple[Sequence[OpenStatement], Sequence[OpenStatement]]:
    """Return the statements whose sum of times is within the budget, and the others."""
    spent_s = 0.0
    for number, statement in enumerate(statements):
        spent_s += statement.wall_s
        if spent_s > 3600 * BUDGET_HOURS:
            return statements[:number], statements[number:]
    return statements, ()


def _table(
    statements: Sequence[OpenStatement], without: str, spent_s: float = 0.0
) -> Iterator[str]:
    if not statements:
        yield without
        return
    yield "| statement | open rows | length | further runs | minutes | hours so far |"
    yield "|---|---|---|---|---|---|"
    for statement in statements:
        spent_s += statement.wall_s
        yield line(
            _name(statement), str(statement.rows), statement.length, str(statement.runs),
            f"{statement.wall_s / 60:.1f}", f"{spent_s / 3600:.2f}",
        )  # fmt: skip


def _name(statement: OpenStatement) -> str:
    anchor = statement.id.split(".")[0].lower()
    return f"[{statement.paper}:{statement.id}]({statement.paper}.md#{anchor})"
