"""Prints whether the runs of a scenario meet what it expects of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from orchestrator.cli.render import terminal
from results.wording import intervals, quantities, variant_names

if TYPE_CHECKING:
    from results.experiment.expectations import ExpectationResult


def show(found: Sequence[ExpectationResult]) -> None:
    """Print a line for each expectation and variant."""
    if not found:
        return
    rows = [
        [
            "met" if expectation.met else "NOT MET",
            variant_names.one_line(expectation.variant) or quantities.NO_VALUE,
            expectation.expectation,
            measured(expectation),
            expectation.reason or "",
        ]
        for expectation in found
    ]
    out = terminal.console()
    out.print()
    out.print(terminal.table(["expectation", "variant", "of", "measured", "reason"], rows))


def measured(each: ExpectationResult) -> str:
    """Return the mean with its interval and the number of runs."""
    if each.mean is None:
        return quantities.NO_VALUE
    mean = intervals.with_interval(each, "{:.5g}".format)
    return f"{mean}, {quantities.plural(each.n, 'run')}"
