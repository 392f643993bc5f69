"""Figures of a report: those of the scenario, or a choice that always can be drawn."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestrator.errors import UsageError
from orchestrator.scenario.figures import figures_of
from results.figures import _labels, _style
from results.figures._canvas import TooManyError
from results.figures._drawing import drawn
from results.figures._run import RunFigure
from results.figures._spec import ExperimentFigure
from results.figures._study import Study
from results.figures.bars import BarsFigure
from results.figures.metric import MetricFigure
from results.figures.time import TimeFigure
from results.matrix.axes import axes, key, named, varying
from results.metrics import METRICS
from results.query.conditions import of_variants
from results.report import Picture

if TYPE_CHECKING:
    from results.experiment.experiments import Experiment
    from results.figures import FigureSpec
    from results.matrix.axes import Axis
    from results.records.model import RunRow
    from results.store.store import Store

MOST_FIGURES = 40
"""Most figures of an experiment. A sweep with more is better looked at in parts."""

MOST_OVER_TIME = 6
"""Most flows that a figure over time shows: more lines cover each other."""


DEFAULT_METRICS = ("goodput_bps",)

OF_ONE_VARIANT = (
    "goodput_bps", "rtt_mean_s", "rtt_p95_s", "retransmission_ratio", "utilisation",
    "queue_delay_mean_s", "jain_index",
)  # fmt: skip
"""Columns where there is one variant only: its table has room for them."""


@dataclass(frozen=True)
class ReportSelection:
    """What a report is narrowed to.

    ``metrics`` are those that the user names, ``where`` conditions on variants, ``flows`` flow
    entries, and ``by`` the axis to draw against.
    """

    metrics: Sequence[str] = ()
    where: Sequence[str] = ()
    flows: Sequence[str] = ()
    by: str | None = None

    @property
    def drawn(self) -> Sequence[str]:
        """The metrics of figures that the scenario does not name."""
        return self.metrics or DEFAULT_METRICS

    def columns(self, rows: Sequence[RunRow]) -> Sequence[str]:
        """Return the metrics of the tables of these runs."""
        one_variant = len({key(dict(row.variant)) for row in rows}) == 1
        return self.metrics or (OF_ONE_VARIANT if one_variant else DEFAULT_METRICS)

    def command(self, experiment: Experiment, metrics: Sequence[str], form: str) -> str:
        """Return the command that prints what these metrics' tables are from, in that form."""
        words = ["orchestrator", "summary", experiment.label]
        for option, values in (
            ("--metric", metrics),
            ("--where", self.where),
            ("--flow", self.flows),
            ("--by", () if self.by is None else (self.by,)),
        ):
            words += [word for value in values for word in (option, value)]
        return shlex.join([*words, form])

    def rows(self, experiment: Experiment) -> list[RunRow]:
        """Return the runs whose variants fit, without those that another one replaces.

        Raises:
            UsageError: a condition is not valid.
        """
        there = experiment.axes()
        try:
            keeps = [of_variants(text, there) for text in self.where]
        except ValueError as error:
            raise UsageError(f"where: {error}") from None
        return [row for row in experiment.standing() if all(keep(row.variant) for keep in keeps)]


def pictures(
    store: Store, experiment: Experiment, scenario: str, wanted: ReportSelection
) -> tuple[list[Picture], list[str]]:
    """Return the figures, and notes about those that are not drawn."""
    specs = figures_of(scenario) or list(default(store, experiment, wanted))
    drawn: list[Picture] = []
    notes: list[str] = []
    for spec in specs:
        try:
            parts = list(_parts(store, experiment, _narrowed(spec, wanted), wanted))
        except UsageError as error:
            notes.append(f"The figure {spec.file} is not drawn: {error}.")
            continue
        drawn += parts
    if len(drawn) > MOST_FIGURES:
        notes.append(
            f"{len(drawn) - MOST_FIGURES} of {len(drawn)} figures are left out; "
            "--where and --flow choose others."
        )
    return drawn[:MOST_FIGURES], notes


def _narrowed(spec: FigureSpec, selection: ReportSelection) -> FigureSpec:
    """Return the figure of the chosen flow entries, against the chosen axis."""
    changes: dict[str, Any] = {}
    if selection.flows and isinstance(spec, ExperimentFigure | RunFigure) and not spec.flow:
        changes["flow"] = list(selection.flows)
    if selection.by is not None and isinstance(spec, MetricFigure):
        changes["by"] = selection.by
    return spec.model_copy(update=changes)


def _parts(
    store: Store, experiment: Experiment, spec: FigureSpec, selection: ReportSelection
) -> Iterator[Picture]:
    """Yield the figure; if it has too many lines for one, a figure for each value of an axis.

    Raises:
        UsageError: the runs do not have what it shows.
    """
    try:
        yield _drawn(store, experiment, spec, selection)
        return
    except TooManyError:
        axis = _axis_to_split(experiment, spec, selection)
        if axis is None and not _of_whole_runs(spec):
            raise
    if axis is None:
        yield _drawn(store, experiment, spec.model_copy(update={"of": "run"}), selection)
        return
    for value in axis.values:
        where = {**spec.where, axis.path: value} if isinstance(spec.where, Mapping) else spec.where
        part = spec.model_copy(update={"where": where})
        try:
            yield from _parts(store, experiment, part, selection)
        except TooManyError:
            raise
        except UsageError:  # no variant has this value together with the others
            continue


def _of_whole_runs(spec: FigureSpec) -> bool:
    """Tell whether the figure's metric has values of whole runs that could stand for entries."""
    return getattr(spec, "of", "run") is None and (getattr(spec, "metric", ""), "run") in METRICS


def _axis_to_split(
    experiment: Experiment, spec: FigureSpec, selection: ReportSelection
) -> Axis | None:
    """Return the axis with the fewest values that the figure does not show itself."""
    if spec.source == "RUN" or not isinstance(spec.where, Mapping):
        return None
    axes = varying(_axes(experiment, selection))
    used = [path for _place, path in spec.named_axes()]
    taken = {named(label, axes).path for label in (*used, *spec.where)}
    free = [axis for axis in axes if axis.path not in taken]
    return min(free, key=lambda axis: len(axis.values), default=None)


def _axes(experiment: Experiment, selection: ReportSelection) -> list[Axis]:
    """Return the axes of the variants that fit the conditions."""
    return axes([row.variant for row in selection.rows(experiment)])


def _drawn(
    store: Store, experiment: Experiment, spec: FigureSpec, selection: ReportSelection
) -> Picture:
    study = Study(store, experiment, only=selection.where, has_caption=True)
    with _style.applied():
        svg = drawn(spec, study).content("svg")
    where = _where_words(spec, experiment)
    notes = "".join(f" {note[:1].upper()}{note[1:]}." for note in study.notes)
    return Picture(f"{spec.caption(study)}{where}{notes}", spec.file, svg)


def _where_words(spec: FigureSpec, experiment: Experiment) -> str:
    """Return the conditions of a figure; the caption of a single run's names its variant."""
    if not spec.where or isinstance(spec, RunFigure):
        return ""
    if isinstance(spec.where, str):
        return f" Where {spec.where}."
    axes = experiment.axes()
    full = {named(axis, axes).path: value for axis, value in spec.where.items()}
    return f" With {_labels.variant_words(full)}."


def default(
    store: Store, experiment: Experiment, selection: ReportSelection
) -> Iterator[FigureSpec]:
    """Yield each metric against each axis of numbers; else bars, or a run over time.

    Without any axis of numbers the axis with the most values is taken.
    """
    axes = varying(_axes(experiment, selection))
    if selection.by is not None:
        against = [named(selection.by, axes)]
    else:
        against = [axis for axis in axes if axis.numbers is not None]
        against = against or sorted(axes, key=lambda axis: -len(axis.values))[:1]
    for axis in against:
        for name in selection.drawn:
            spec = MetricFigure.model_validate(
                {"kind": "metric", "metric": name, "by": axis.path, "width": "ieee-wide",
                 "file": f"{name}-{axis.label}.svg"}
            )  # fmt: skip
            yield spec.with_few_lines()
    if not against:
        if len({row.repetition for row in selection.rows(experiment)}) > 1:
            for name in selection.drawn:
                yield BarsFigure.model_validate(
                    {"kind": "bars", "metric": name, "file": f"{name}.svg"}
                )
        yield from _over_time(store, experiment, selection)


def _over_time(
    store: Store, experiment: Experiment, selection: ReportSelection
) -> Iterator[FigureSpec]:
    """Yield the newest faithful run over time; of many flows, the first ones of each entry."""
    usable = [
        row
        for row in selection.rows(experiment)
        if row.status == "ok" and row.verdict != "unfaithful"
    ]
    if not usable:
        return
    run = store.load(usable[-1].id)
    kept = [
        index
        for index, entry in enumerate(run.entries)
        if not selection.flows or entry in selection.flows
    ]
    rank = {
        index: [other for other in kept if run.entries[other] == run.entries[index]].index(index)
        for index in kept
    }
    chosen = sorted(sorted(kept, key=lambda index: rank[index])[:MOST_OVER_TIME])
    some = {"flow": [run.flows[index].name for index in chosen]} if len(chosen) < len(kept) else {}
    if chosen:
        yield TimeFigure.model_validate(
            {"kind": "time", "file": "time.svg", "width": "ieee-wide",
             "repetition": run.row.repetition, **some}
        )  # fmt: skip
