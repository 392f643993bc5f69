"""A study: an experiment of an open store, or one run, as figures draw from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from orchestrator.errors import UsageError
from results import left_out
from results.arrangement import Point
from results.axes import Where, axes, conditions, varying
from results.experiments import Experiment
from results.model import WHOLE, RunRow
from results.store import Store
from results.stored import StoredRun

_ANY_METRIC = "goodput_bps"

_REASONS = {
    "unfaithful": "unfaithful",
    "failed": "failed",
    "identical": "equal to the bit to another repetition",
}
"""Why runs are left out, by their names in a summary."""


class Chosen(NamedTuple):
    """A variant and the runs of it that count."""

    variant: Mapping[str, Any]
    runs: Sequence[RunRow]


class Study:
    """An experiment of an open store. ``notes`` says what a figure leaves out.

    ``named`` is the run that the user named, if it was not an experiment. It counts although it
    may be unfaithful, which a note then says.
    """

    def __init__(self, store: Store, experiment: Experiment, named: RunRow | None = None) -> None:
        self.store = store
        self.experiment = experiment
        self.named = named
        self.notes: list[str] = []

    def summary(
        self,
        metrics: Sequence[str],
        where: Where,
        entries: Sequence[str] = (),
        window: str | None = None,
        parts: int = 0,
    ) -> dict[str, Any]:
        """Return the summary of the metrics; see ``results.summary``.

        ``where`` keeps variants, and ``entries`` keeps flow entries. With ``parts``, the number of
        parts of the window, it says which means still drift.

        Raises:
            UsageError: the experiment has no such axis, value, window or flow entry.
        """
        from results.observations import ValueSelection
        from results.summary import summarise

        names = tuple(dict.fromkeys(metrics))
        wanted = ValueSelection(
            names, window or WHOLE, conditions(where), tuple(entries), parts=parts
        )
        document = summarise(self.store, self.experiment, wanted)
        self._note_left_out(left_out.of_rows(document["rows"]))
        return document

    def _note_left_out(self, numbers: left_out.Numbers) -> None:
        """Note how many runs are left out, by reason."""
        for reason, number in numbers.items():
            if number:
                self.note(f"left out: {number} run{'s' * (number > 1)} {_REASONS[reason]}")

    def note_single(self, metrics: Sequence[Mapping[str, Any]]) -> None:
        """Note how many of the values that a figure shows are of one run, without an interval."""
        number = sum(one.get("low") is None for one in metrics)
        if number:
            self.note(f"no interval: {number} of {len(metrics)} values are of a single run")

    def note_signs(self, points: Sequence[Point]) -> None:
        """Note how many means of a figure have which sign."""
        signs = [sign for point in points for sign in point.signs]
        for sign in dict.fromkeys(signs):
            self.note(f"{sign[0]}: {signs.count(sign)} of {len(points)} means: {sign[1]}")

    def note(self, text: str) -> None:
        """Add what the user should know about the figure, once."""
        if text not in self.notes:
            self.notes.append(text)

    def runs(self, where: Where) -> list[Chosen]:
        """Return the variants with the runs that count, in the order of the axes.

        Raises:
            UsageError: there are no such runs.
        """
        from results.observations import ValueSelection, observe

        if self.named is not None:
            if where:
                raise UsageError(
                    f"where: it chooses among the variants of an experiment, and "
                    f"{self.named.id} is a run"
                )
            return [self._named(self.named)]
        wanted = ValueSelection((_ANY_METRIC,), where=conditions(where))
        groups, _axes = observe(self.store, self.experiment, wanted)
        self._note_left_out(left_out.total(group.left_out.numbers for group in groups))
        found = [Chosen(group.variant, group.runs) for group in groups if group.runs]
        if not found:
            raise UsageError(f"{self.experiment.name} has no faithful run to draw from")
        return found

    def _named(self, row: RunRow) -> Chosen:
        if row.status != "ok":
            raise UsageError(f"run {row.id} is {row.status}: it has no samples to draw")
        if row.verdict == "unfaithful":
            self.note(f"run {row.id} is unfaithful: `orchestrator show {row.id}` says why")
        return Chosen(row.variant, [row])

    def run(self, where: Where, repetition: int) -> StoredRun:
        """Return the only run that the conditions and the repetition leave.

        Raises:
            UsageError: they leave none, or several.
        """
        found = self.runs(where)
        if self.named is not None:
            return self.load(self.named)
        if len(found) > 1:
            there = varying(axes([dict(each.variant) for each in found]))
            (example,) = conditions({there[0].label: there[0].values[0]})
            raise UsageError(
                f"{self.experiment.name} has {len(found)} variants, and this figure is of one run: "
                f"keep one by `where`, such as {example} "
                f"(axes: {', '.join(axis.label for axis in there)})"
            )
        rows = [row for row in found[0].runs if row.repetition == repetition]
        if not rows:
            valid = ", ".join(str(row.repetition) for row in found[0].runs)
            raise UsageError(
                f"{self.experiment.name} has no faithful repetition {repetition}; there are {valid}"
            )
        return self.load(rows[-1])

    def load(self, row: RunRow) -> StoredRun:
        """Return a run whose samples can be read."""
        return self.store.load(row.id)
