"""A study: an experiment of an open store, or one run, as figures draw from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from orchestrator import plaintext
from orchestrator.errors import UsageError
from results.experiment import coverage
from results.experiment.experiments import Experiment
from results.experiment.left_out import LeftOut
from results.experiment.model import HasInterval, Summary
from results.experiment.observations import ValueSelection, observe
from results.experiment.summary import summarise
from results.figures._labels import metric_title
from results.layout.arrangement import MeanPoint
from results.layout.series import Cell, cells, missing_cells
from results.matrix.axes import Axis, Where, axes, conditions, differing
from results.records.model import WHOLE, RunRow, Variant
from results.store.store import Store
from results.store.stored import StoredRun
from results.wording import variant_names

_ANY_METRIC = "goodput_bps"

_REASONS = {
    "unfaithful": "unfaithful",
    "failed": "failed",
    "identical": "equal to the bit to another repetition",
}
"""Why runs are left out, by their names in a summary."""


class ChosenVariant(NamedTuple):
    """A variant and the runs of it that count."""

    variant: Variant
    runs: Sequence[RunRow]


class Study:
    """An experiment of an open store. ``notes`` says what a figure leaves out.

    ``shown`` counts the runs of each value that a figure has asked for, and ``drawn`` is the run
    that it is of. ``only`` are conditions on variants, beside those of figures. ``named`` is the
    run that the user named, if it was not an experiment. It counts although it may be unfaithful,
    which a note then says. With ``has_caption`` the figure's caption is shown, too, so that no note
    repeats that no value has an interval. ``is_planned`` tells that no run is made yet.
    """

    def __init__(
        self,
        store: Store,
        experiment: Experiment,
        named: RunRow | None = None,
        only: Sequence[str] = (),
        has_caption: bool = False,
    ) -> None:
        self.store = store
        self.experiment = experiment
        self.named = named
        self.only = tuple(only)
        self.has_caption = has_caption
        self.notes: list[str] = []
        self.shown: list[int] = []
        self.drawn: StoredRun | None = None
        self.is_planned = False

    def summary(
        self,
        metrics: Sequence[str],
        where: Where,
        entries: Sequence[str] = (),
        window: str | None = None,
        parts: int = 0,
    ) -> Summary:
        """Return the summary of the metrics; see ``results.experiment.summary``.

        ``where`` keeps variants, and ``entries`` keeps flow entries. With ``parts``, the number of
        parts of the window, it says which means still drift.

        Raises:
            UsageError: the experiment has no such axis, value, window or flow entry.
        """
        names = tuple(dict.fromkeys(metrics))
        selection = ValueSelection(
            names, window or WHOLE, (*conditions(where), *self.only), tuple(entries), parts=parts
        )
        summary = summarise(self.store, self.experiment, selection)
        self.shown = [
            metric.n for row in summary.rows for metric in row.metrics.values()
            if metric.mean is not None
        ]  # fmt: skip
        self._note_left_out(summary.left_out)
        self._note_parts(summary, names)
        return summary

    def _note_parts(self, summary: Summary, names: Sequence[str]) -> None:
        """Note which metrics no run has, and how many means are of a part of the runs."""
        # Below a figure of a report stand the words that its axis has, and not a metric's key.
        words = {name: metric_title(name) if self.has_caption else name for name in names}
        for name in summary.without_values:
            self.note(f"{words[name]}: no run has a value")
        for name in names:
            drawn = cells(summary, [name])
            means = [cell.metrics[name] for cell in drawn]
            texts = [text for mean in means if (text := coverage.words(mean))]
            if texts:
                example = f"such as {texts[0]}" if len(texts) > 1 else texts[0]
                of_all = f"{len(texts)} of {len(means)}"
                self.note(f"{words[name]}: {of_all} means are of a part: {example}")
            if missing := missing_cells(summary, drawn):
                of_all = f"{len(missing)} of {len(missing) + len(drawn)}"
                variant = variant_names.one_line(missing[0].variant, summary.labels())
                example = plaintext.one_line(f"{variant} {missing[0].subject or ''}".strip())
                if len(missing) > 1:
                    example = f"such as {example}"
                self.note(
                    f"{words[name]}: {of_all} means are not drawn, as no run has a value: {example}"
                )

    def _note_left_out(self, left_out: LeftOut) -> None:
        """Note how many runs are left out, by reason."""
        for reason, number in left_out.numbers.items():
            if number:
                self.note(f"left out: {number} run{'s' * (number > 1)} {_REASONS[reason]}")

    def placed(self, plotted: Sequence[Cell], *axes: Axis) -> list[Cell]:
        """Return the cells with a place on the axes, and note how many have none.

        Raises:
            UsageError: none has a place.
        """
        there = [cell for cell in plotted if all(axis.path in cell.variant for axis in axes)]
        without = f"no value of {' or '.join(axis.label for axis in axes)}"
        if not there:
            raise UsageError(f"no variant can be drawn: they have {without}")
        if len(there) < len(plotted):
            number = len(plotted) - len(there)
            self.note(f"not drawn: {number} of {len(plotted)} means, whose variants have {without}")
        return there

    def note_single(self, metrics: Sequence[HasInterval]) -> None:
        """Note how many of the values that a figure shows are of one run, without an interval."""
        number = sum(metric.low is None for metric in metrics)
        if number and not (self.has_caption and number == len(metrics)):
            self.note(f"no interval: {number} of {len(metrics)} values are of a single run")

    def note_signs(self, points: Sequence[MeanPoint]) -> None:
        """Note how many means of a figure have which sign."""
        signs = [sign for point in points for sign in point.signs]
        for sign in dict.fromkeys(signs):
            self.note(f"{sign[0]}: {signs.count(sign)} of {len(points)} means: {sign[1]}")

    def note(self, text: str) -> None:
        """Add what the user should know about the figure, once."""
        if text not in self.notes:
            self.notes.append(text)

    def runs(self, where: Where) -> list[ChosenVariant]:
        """Return the variants with the runs that count, in the order of the axes.

        Raises:
            UsageError: there are no such runs.
        """
        if self.named is not None:
            if where:
                raise UsageError(
                    f"where: it chooses among the variants of an experiment, and "
                    f"{self.named.id} is a run"
                )
            return [self._named(self.named)]
        selection = ValueSelection((_ANY_METRIC,), where=(*conditions(where), *self.only))
        groups, _axes = observe(self.store, self.experiment, selection)
        self._note_left_out(sum((group.left_out for group in groups), LeftOut()))
        variants = [ChosenVariant(group.variant, group.runs) for group in groups if group.runs]
        self.shown = [len(variant.runs) for variant in variants]
        if not variants:
            raise UsageError(f"{self.experiment.name} has no faithful run to draw from")
        return variants

    def _named(self, row: RunRow) -> ChosenVariant:
        if row.status != "ok":
            raise UsageError(f"run {row.id} is {row.status}: it has no samples to draw")
        if row.verdict == "unfaithful":
            self.note(f"run {row.id} is unfaithful: `orchestrator show {row.id}` says why")
        return ChosenVariant(row.variant, [row])

    def run(self, where: Where, repetition: int) -> StoredRun:
        """Return the only run that the conditions and the repetition leave.

        Raises:
            UsageError: they leave none, or several.
        """
        chosen = self.runs(where)
        if self.named is not None:
            self.drawn = self.load(self.named)
            return self.drawn
        if len(chosen) > 1:
            variants = [dict(variant.variant) for variant in chosen]
            there = differing(axes(variants), variants)
            (example,) = conditions({there[0].label: there[0].values[0]})
            raise UsageError(
                f"{self.experiment.name} has {len(chosen)} variants, and this figure is of one "
                f"run: keep one by `where`, such as {example} "
                f"(axes: {', '.join(axis.label for axis in there)})"
            )
        rows = [row for row in chosen[0].runs if row.repetition == repetition]
        if not rows:
            valid = ", ".join(str(row.repetition) for row in chosen[0].runs)
            raise UsageError(
                f"{self.experiment.name} has no faithful repetition {repetition}; there are {valid}"
            )
        self.drawn = self.load(rows[-1])
        return self.drawn

    def repetitions(self) -> str:
        """Return how many runs a value is of, such as ``5 runs`` or ``3 to 5 runs``."""
        counts = sorted(set(self.shown))
        if not counts:
            return "no run"
        text = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
        return f"{text} run{'s' * (counts[-1] > 1)}"

    def load(self, row: RunRow) -> StoredRun:
        """Return a run whose samples can be read."""
        return self.store.load(row.id)
