"""The pages of report cards: their list, a card with its rows and cells, and matrices of harm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from flask import Blueprint, current_app, render_template, request

from results.contract.evaluations import (
    Card,
    CardCell,
    HarmMatrix,
    MatrixCell,
    MeasuredControl,
)
from results.experiment.model import Interval
from results.store.store import Store
from results.wording import intervals, quantities, variant_names
from web.http import query
from web.http.reader import DB, reading_store
from web.views import cards

pages = Blueprint("cards", __name__)

GRADES = ("meets", "meets with limits", "does not meet", "not decided", "not applicable")


@pages.get("/cards")
def overview() -> str:
    """List the cards with the number of criteria of each grade, and the matrices of harm."""
    query.check_names(request.args, ())
    return render_template(
        "cards.html",
        cards=cards.listed(),
        references=cards.references(),
        matrices=cards.matrices(),
        grades=GRADES,
        count=_count,
        folder=current_app.config[cards.FOLDER],
    )


def _count(card: Card) -> Counter[str]:
    """Return how many criteria of a card have each grade."""
    return Counter(criterion.grade for criterion in card.criteria)


@pages.get("/cards/<name>")
def card(name: str) -> str:
    """Show a card. Its runs are links where this store has them."""
    query.check_names(request.args, ())
    return _shown(name, cards.named(name))


@pages.get("/cards/library/<name>")
def reference(name: str) -> str:
    """Show a reference card of this program."""
    query.check_names(request.args, ())
    return _shown(name, cards.reference(name))


@pages.get("/cards/matrix/<name>")
def matrix(name: str) -> str:
    """Show a matrix of harm: a table of each metric and variant, newcomers by incumbents."""
    query.check_names(request.args, ())
    found = cards.matrix(name)
    return render_template("matrix.html", name=name, matrix=found, tables=_tables(found))


class MatrixTable(NamedTuple):
    """A metric in one variant; ``rows`` has a newcomer and its cell beside each incumbent."""

    title: str
    rows: list[tuple[str, list[str]]]


def _tables(found: HarmMatrix) -> Iterator[MatrixTable]:
    labels = variant_names.short_names(
        cell.variant for metric in found.metrics for cell in metric.cells
    )
    for metric in found.metrics:
        unit = quantities.unit(metric.unit)
        of = f"{metric.metric}{f' in {unit}' if unit else ''} of the incumbent"
        by_variant: dict[str, dict[tuple[str, str], MatrixCell]] = {}
        for cell in metric.cells:
            where = variant_names.one_line(cell.variant, labels)
            by_variant.setdefault(where, {})[cell.newcomer, cell.incumbent] = cell
        for where, cells in by_variant.items():
            rows = [
                (
                    newcomer,
                    [_harm(cells.get((newcomer, one)), metric.unit) for one in found.controls],
                )
                for newcomer in found.controls
            ]
            yield MatrixTable(f"{of}{f', {where}' if where else ''}", rows)


def _harm(cell: MatrixCell | None, unit: str) -> str:
    """Return the mean, and the change in percent with its interval and verdict."""
    if cell is None or cell.mean is None:
        return quantities.NO_VALUE
    text = quantities.quantity(cell.mean, unit)
    if cell.change is not None:
        change = f"{100 * cell.change:+.0f}%"
        if cell.change_low is not None and cell.change_high is not None:
            change += f" [{100 * cell.change_low:+.0f}, {100 * cell.change_high:+.0f}]"
        text += f" ({change})"
    return f"{text} {cell.verdict}" if cell.verdict else text


def _shown(name: str, found: Card) -> str:
    return render_template(
        "card.html", name=name, card=found, known=_known(found), place=_place, value=_value
    )


def _known(card: Card) -> set[str]:
    """Return which runs of a card the store has."""
    if not current_app.config[DB].exists():
        return set()
    with reading_store() as store:
        return _ids(store) & {
            run
            for criterion in card.criteria
            for row in criterion.rows
            for cell in row.cells
            for run in cell.candidate.runs
        }


def _ids(store: Store) -> set[str]:
    return {row.id for row in store.list_runs()}


def _place(cell: CardCell) -> str:
    """Return what a cell is of: its variant, and the reference."""
    labels = variant_names.short_names([cell.variant])
    variant = variant_names.one_line(cell.variant, labels)
    beside = "" if cell.beside is None else f"beside {cell.beside}"
    return ", ".join(part for part in (variant, beside) if part) or "all"


def _value(each: MeasuredControl, unit: str) -> str:
    """Return a mean with its interval and unit."""
    interval = Interval(each.mean, each.low, each.high)
    text = intervals.with_interval(interval, lambda value: quantities.quantity(value, unit))
    return f"{text} {quantities.unit(unit)}".rstrip()
