"""Contents of the pages, made from stored runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from results.experiment import overview
from results.experiment.experiments import Experiment
from results.matrix.axes import Axis, conditions
from results.metrics import Metric, channel, columns_of, of_scope, of_values
from results.metrics.base import Scope, Table
from results.records.model import State, Status, Values, Variant
from results.runs.model import LinkResult, ListedRun, RunResult
from results.store.parts.notes import Remarks
from results.store.stored import StoredRun
from web.html import formats

STATUSES: tuple[str, ...] = get_args(Status)

_TAIL_LINES = 60


DRAWN = 6
"""Flows that a run's charts draw unless others are ticked: more are hard to follow."""

MOST_CELLS = (12, 40)
"""Variants and repetitions of a grid in the list of experiments."""


@dataclass(frozen=True)
class ExperimentLine:
    """An experiment in the list. ``cells`` are states by variant, None where there is no run."""

    label: str
    name: str
    identity: str
    question: str
    variants: int
    repetitions: int
    cells: list[list[State | None]]
    counts: list[tuple[State, int]]
    runs: int
    age: str
    newest_utc: str
    tags: list[str]
    notes: int

    @property
    def shape(self) -> str:
        """The number of variants and repetitions in words."""
        variants = formats.plural(self.variants, "variant")
        return f"{variants} × {formats.plural(self.repetitions, 'repetition')}"

    @property
    def states(self) -> str:
        """The number of runs in each state in words, such as ``5 faithful, 1 failed``."""
        return ", ".join(f"{number} {state}" for state, number in self.counts)


def experiment_line(
    experiment: Experiment, remarks: Mapping[str, Remarks], now: datetime
) -> ExperimentLine:
    """Return what the list shows of an experiment."""
    rows, grid = experiment.rows, overview.grid(experiment)
    states = Counter(overview.state(row) for row in experiment.standing())
    most_variants, most_repetitions = MOST_CELLS
    of_runs = [remarks[row.id] for row in rows if row.id in remarks]
    return ExperimentLine(
        experiment.label,
        experiment.name,
        experiment.identity,
        experiment.newest.description,
        len(grid.variants),
        len(grid.repetitions),
        [
            [None if row is None else overview.state(row) for row in line[:most_repetitions]]
            for line in grid.lines[:most_variants]
        ],
        [(state, states[state]) for state in overview.STATES if states[state]],
        len(rows),
        formats.age(experiment.newest.started_utc, now),
        experiment.newest.started_utc,
        sorted({tag for one in of_runs for tag in one.tags}),
        len({note.text for one in of_runs for note in one.notes}),
    )


@dataclass(frozen=True)
class MetricLine:
    """The formatted values of a metric in all windows; ``definition`` names its source."""

    name: str
    label: str
    definition: str
    values: tuple[str, ...]


def metric_table(run: RunResult) -> list[MetricLine]:
    """Return the run's metrics, each over the whole run first and then over every window.

    Those with a column come first, in its order. A metric without any value is left out.
    """
    whole, windows = run.metrics, [window.metrics for window in run.windows.values()]
    placed = [metric for _column, metric in columns_of("run")]
    metrics = [*placed, *(metric for metric in of_scope("run") if metric not in placed)]
    return [
        MetricLine(
            metric.name,
            metric.title,
            _definition(metric),
            tuple(
                formats.metric(values.get(metric.name), metric.format)
                for values in (whole, *windows)
            ),
        )
        for metric in metrics
        if any(values.get(metric.name) is not None for values in (whole, *windows))
    ]


@dataclass(frozen=True)
class MetricColumn:
    """A metric as a column of a table of runs, flows or links."""

    name: str
    heading: str
    definition: str
    format: str

    def of(self, values: Values) -> str:
        """Return the formatted value of a subject."""
        return formats.metric(values.get(self.name), self.format)


def short_columns(table: Table, subjects: Sequence[Values]) -> list[MetricColumn]:
    """Return the columns of a short table, some of which depend on the subjects' values."""
    return [
        _column(metric, _capital(column.heading))
        for column, metric in columns_of(table)
        if not column.where_not_zero or any(subject.get(metric.name) for subject in subjects)
    ]


def all_columns(scope: Scope, subjects: Sequence[Values]) -> list[MetricColumn]:
    """Return a column for every metric of the scope that one of the subjects has a value of."""
    return [
        _column(metric, metric.title)
        for metric in of_values(scope, subjects)
        if any(subject.get(metric.name) is not None for subject in subjects)
    ]


def all_metrics(scope: Scope) -> list[MetricColumn]:
    """Return a column for every metric of the scope."""
    return [_column(metric, metric.title) for metric in of_scope(scope)]


MOST_AXES = 6
"""Axes in the heading of the list of runs, to sort by."""

MOST_ERROR = 140
"""Characters of an error in the list of runs."""


def short_error(text: str) -> str:
    """Return the first line of an error, shortened; the run's page has all of it."""
    lines = text.strip().splitlines()
    first = lines[0] if lines else ""
    return first if len(lines) < 2 and len(first) <= MOST_ERROR else f"{first[:MOST_ERROR]} …"


def variant_words(variant: Variant, axes: Sequence[Axis]) -> str:
    """Return the values of a run's matrix by the short labels of their axes."""
    labels = {axis.path: axis.label for axis in axes}
    return ", ".join(conditions({labels[path]: value for path, value in variant.items()}))


def congestion(run: ListedRun) -> str:
    """Return the congestion controls of a run's flows with the numbers of flows."""
    counts = Counter(flow.congestion_control or "none" for flow in run.flows)
    return ", ".join(
        f"{number} × {control}" if number > 1 else control for control, number in counts.items()
    )


def paired(names: Iterable[str], subjects: Iterable[Values]) -> Iterable[tuple[str, Values]]:
    """Return pairs (name, subject) of equally many names and subjects."""
    return zip(names, subjects, strict=True)


def _column(one: Metric, heading: str) -> MetricColumn:
    return MetricColumn(one.name, heading, _definition(one), one.format)


def _definition(one: Metric) -> str:
    return " ".join(one.definition.split())


def _capital(heading: str) -> str:
    return heading[:1].upper() + heading[1:]


@dataclass(frozen=True)
class LinkLine:
    """One channel: its settings, requested or read back (see QueueRecord), and its metrics."""

    channel: LinkResult
    bottleneck: bool
    delay_s: float | None
    loss: float | None

    @property
    def rate(self) -> str:
        """The formatted rate; if it changes, the first and the last rate, or their range."""
        queue = self.channel.queue
        rates = [rate_bps for _time, rate_bps in queue.rate_steps]
        if len(rates) == 2:
            return " → ".join(map(formats.rate, rates))
        if rates:
            return f"{formats.rate(min(rates))} … {formats.rate(max(rates))}"
        return formats.rate(queue.rate_bps)

    @property
    def limit(self) -> str:
        """The formatted limit of the queue."""
        queue = self.channel.queue
        if queue.limit_packets is not None:
            return f"{formats.number(queue.limit_packets)} packets"
        return formats.size(queue.limit_bytes)


def links(run: StoredRun, results: Sequence[LinkResult]) -> list[LinkLine]:
    """Return the run's channels that have a queue, bottlenecks first."""
    by_name = {link.name: link for link in results}
    delays = {channel(one): one for one in run.queues if one.role == "delay"}
    lines = []
    for queue in run.queues:
        if queue.role == "queue":
            name = channel(queue)
            delay = delays.get(name)
            lines.append(
                LinkLine(
                    by_name[name],
                    queue.bottleneck,
                    delay.delay_s if delay else queue.delay_s,
                    delay.loss if delay else queue.loss,
                )
            )
    return sorted(lines, key=lambda line: not line.bottleneck)


def links_note(lines: Sequence[LinkLine]) -> str:
    """Return where the values in the table of links are from."""
    if not lines:
        return "no queue of this run is known: its links are not emulated or have no rate"
    changing = any(line.channel.queue.rate_steps for line in lines)
    read_back = "constant rates and first delays" if changing else "rates and delays"
    requested = "changing rates, queue kinds" if changing else "queue kinds"
    by_number = "; a loss without a value is one of listed packets"
    return (
        f"each direction by itself; {read_back} as read back from the kernel before traffic, "
        f"{requested}, limits and losses as requested"
        f"{by_number if any(line.loss is None for line in lines) else ''}"
    )


@dataclass(frozen=True)
class PolicerLine:
    """The settings of a policer, and its counters over the whole run."""

    name: str
    rate_bps: float | None
    burst_bytes: int | None
    passed_bytes: int
    dropped_packets: int


def policers(run: StoredRun) -> list[PolicerLine]:
    """Return the run's policers."""
    lines = []
    for index, queue in enumerate(run.queues):
        if queue.role == "policer":
            counted = run.queue_samples(index, ["time_ns", "bytes", "drops"])
            grown = {
                name: int(counted[name][-1] - counted[name][0]) if len(counted[name]) else 0
                for name in ("bytes", "drops")
            }
            lines.append(
                PolicerLine(
                    channel(queue),
                    queue.rate_bps,
                    queue.limit_bytes,
                    grown["bytes"],
                    grown["drops"],
                )
            )
    return lines


def tail(text: str) -> str:
    """Return the last lines of a text, after a line with the number of those left out."""
    lines = text.rstrip("\n").split("\n")
    if len(lines) <= _TAIL_LINES:
        return text
    return "\n".join([f"… {len(lines) - _TAIL_LINES} lines before …", *lines[-_TAIL_LINES:]])
