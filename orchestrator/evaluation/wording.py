"""What the card says in words: bounds, values, and what decides a grade."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from orchestrator.evaluation.verdicts import DOES_NOT, LIMITED, MEETS, NOT_DECIDED
from results.wording import intervals, quantities, variant_names

if TYPE_CHECKING:
    from orchestrator.evaluation.judging import Cell, JudgedCriterion, MeasuredControl
    from orchestrator.evaluation.model import Criterion, Row
    from results.contract.evaluations import CardChanges

_ORDER = {DOES_NOT: 0, NOT_DECIDED: 1, LIMITED: 2, MEETS: 3}

_GROUPS = {"rfc9743": "RFC 9743", "tcpeval": "TCP evaluation suite"}


def groups(criteria: Iterable[Criterion]) -> str:
    """Return what some criteria are of, such as ``RFC 9743``."""
    return " and ".join(dict.fromkeys(_GROUPS[one.group] for one in criteria))


def quantity(row: Row, value: float) -> str:
    """Return a value of a row's metric with its unit."""
    unit = row.definition.unit
    return f"{quantities.quantity(float(value), unit)} {quantities.unit(unit)}".rstrip()


def measured(row: Row, each: MeasuredControl) -> str:
    """Return a mean with its interval, without the unit."""
    unit = row.definition.unit
    return intervals.with_interval(each.interval, lambda value: quantities.quantity(value, unit))


def bound(row: Row, beside: str | None = None) -> str:
    """Return what is asked, such as ``at most 1.25 x that of cubic and 5.000 ms``."""
    if row.of is None:
        return f"{row.relation} {quantity(row, row.asked)}"
    own_kind = "the reference" if beside is None else beside
    whose = f"that beside {own_kind} itself" if row.of == "reference" else f"that of {row.of}"
    sign = "plus" if row.relation == "at most" else "less"
    more = f" {sign} {quantity(row, row.allowed)}" if row.allowed else ""
    return f"{row.relation} {row.asked:g} x {whose}{more}"


def limit(row: Row) -> str:
    """Return the limit beyond which the row is not met; a factor where the bound is one."""
    return f"{row.most:g} x" if row.of is not None else quantity(row, row.most)


def place(cell: Cell, labels: dict[str, str]) -> str:
    """Return what a cell is of: its variant, and the reference."""
    variant = variant_names.one_line(cell.variant, labels)
    beside = "" if cell.beside is None else f"beside {cell.beside}"
    return ", ".join(part for part in (variant, beside) if part)


def labels(cells: Sequence[Cell]) -> dict[str, str]:
    """Return the short names of the axes of some cells."""
    return variant_names.short_names(cell.variant for cell in cells)


def why(judged: JudgedCriterion) -> str:
    """Return what decides a grade in a sentence: the worst cell, and how many are like it."""
    if judged.lack is not None:
        return judged.lack
    worst = worst_cell(judged)
    if judged.checks and (worst is None or worst.verdict == MEETS):
        return _builds(judged)
    if worst is None:
        return "no cell was run"
    names = labels(judged.cells)
    if worst.verdict == MEETS:
        number = len(judged.cells)
        every = {1: "the one cell is within its bound", 2: "both cells are within their bounds"}
        return every.get(number, f"all {number} cells are within their bounds")
    alike = [cell for cell in judged.cells
             if cell.verdict == worst.verdict and cell.row.level == worst.row.level]  # fmt: skip
    row = worst.row
    where = place(worst, names)
    value = f"{measured(row, worst.candidate)} {quantities.unit(row.definition.unit)}".rstrip()
    of = f" of {row.flow}" if row.flow is not None else ""
    baseline = ""
    if worst.baseline is not None and worst.baseline is not worst.candidate:
        baseline = f" ({worst.baseline.control}: {measured(row, worst.baseline)})"
    count = f"{len(alike)} of {len(judged.cells)} cells: " if len(alike) > 1 else ""
    asked = f"{row.level} be {bound(row, worst.beside)}"
    reason = f"; {worst.decision.reason}" if worst.decision.reason else ""
    return (
        f"{count}{row.id}{f' at {where}' if where else ''}: {row.metric}{of} is {value}"
        f"{baseline}, and {asked}{reason}"
    )


def _builds(judged: JudgedCriterion) -> str:
    """Return what decides where all cells meet their rows: the first build that does not."""
    runs = "all runs survive" if judged.cells else "it has no parameters"
    worst = min(judged.checks, key=lambda check: _ORDER[check.verdict])
    if worst.verdict == MEETS:
        number = quantities.plural(len(judged.checks), "kernel")
        return f"{runs}, and it compiles without warnings on {number}"
    alike = sum(check.verdict == worst.verdict for check in judged.checks)
    what = "does not compile" if worst.verdict == DOES_NOT else "compiles with warnings"
    return (
        f"{runs}; on {alike} of {quantities.plural(len(judged.checks), 'kernel')} it {what}, such "
        f"as {worst.kernel}: {' '.join(worst.messages[:2])}"
    )


def worst_cell(judged: JudgedCriterion) -> Cell | None:
    """Return the cell that decides a grade: failures of a "must" first, then what is not decided.

    Of several, it is the one whose mean is farthest beyond its bound.
    """
    return min(judged.cells, key=_rank, default=None)


def _rank(cell: Cell) -> tuple[int, int, float]:
    level = int(cell.row.level != "must")
    if cell.verdict == MEETS:
        return 2, _ORDER[MEETS], -cell.margin
    return level, _ORDER[cell.verdict], -cell.margin


def changes(found: CardChanges) -> list[str]:
    """Return what changed from a baseline's card, in some sentences."""
    said = [f"{one.name}: {one.before} before, now {one.after}" for one in found.grades]
    if not said:
        said = [f"no grade differs from that of {found.baseline}"]
    cells = quantities.plural(found.compared, "cell")
    said.append(f"{len(found.cells)} of {cells} changed")
    for names, where in (
        (found.only_before, "the baseline's card alone"), (found.only_after, "this card alone"),
    ):  # fmt: skip
        if names:
            said.append(f"in {where}: {', '.join(names)}")
    return said
