"""The pages of report cards: their list, and a card with its criteria, rows and cells."""

from __future__ import annotations

from collections import Counter

from flask import Blueprint, current_app, render_template, request

from results.contract.evaluations import Card, CardCell, MeasuredControl
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
    """List the cards with the number of criteria of each grade."""
    query.check_names(request.args, ())
    found = cards.listed()
    return render_template(
        "cards.html",
        cards=found,
        grades=GRADES,
        counts={
            one.name: Counter(criterion.grade for criterion in one.card.criteria)
            for one in found
            if one.card is not None
        },
        folder=current_app.config[cards.FOLDER],
    )


@pages.get("/cards/<name>")
def card(name: str) -> str:
    """Show a card. Its runs are links where this store has them."""
    query.check_names(request.args, ())
    found = cards.named(name)
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
