"""Tells whether the runs of a scenario meet what it expects of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.cli import _output, _report

if TYPE_CHECKING:
    from results.expectations import Expectation

Document = Mapping[str, Any]


def evaluate(
    expectations: Sequence[Expectation], ids: Sequence[str], db: Path
) -> list[dict[str, Any]]:
    """Return an entry for each expectation and variant; see ``results.expectations.evaluate``."""
    if not expectations or not ids:
        return []
    from results.expectations import evaluate as judged
    from results.experiments import of_runs
    from results.store import Store

    with Store.open_read_only(db) as store:
        return judged(store, of_runs(store, ids), expectations)


def show(found: Sequence[Document]) -> None:
    """Print a line for each expectation and variant."""
    if not found:
        return
    rows = [
        [
            "met" if each["met"] else "NOT MET",
            _report.variant(each["variant"]) or _output.NO_VALUE,
            each["expectation"],
            measured(each),
            each["reason"] or "",
        ]
        for each in found
    ]
    out = _output.console()
    out.print()
    out.print(_output.table(["expectation", "variant", "of", "measured", "reason"], rows))


def measured(each: Document) -> str:
    """Return the mean with its interval and the number of runs."""
    if each["mean"] is None:
        return _output.NO_VALUE
    interval = "" if each["low"] is None else f" [{each['low']:.5g}, {each['high']:.5g}]"
    return f"{each['mean']:.5g}{interval}, {_output.plural(each['n'], 'run')}"
