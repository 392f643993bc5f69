"""Contents of the pages, made from stored runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from results.metrics import Metric, channel, columns_of, of_scope
from results.metrics.base import Scope, Table
from results.model import Status
from results.stored import StoredRun
from web import formats

STATUSES: tuple[str, ...] = get_args(Status)

_TAIL_LINES = 60


def matches(run: Mapping[str, Any], words: str, status: str) -> bool:
    """Return whether a listed run has the status, and its names contain every word."""
    if status and run["status"] != status:
        return False
    text = " ".join(
        str(part)
        for part in (
            run["id"], run["experiment"], run["scenario"], formats.variant(run["variant"]),
            f"seed={run['seed']}", run["status"], run["fidelity"]["verdict"] or "",
            run["backend"], run["error"] or "", *run["tags"],
        )
    ).lower()  # fmt: skip
    return all(word in text for word in words.lower().split())


@dataclass(frozen=True)
class MetricLine:
    """The formatted values of a metric in all windows; ``definition`` names its source."""

    name: str
    label: str
    definition: str
    values: tuple[str, ...]


def metric_table(run: Mapping[str, Any]) -> list[MetricLine]:
    """Return the run's metrics, each over the whole run first and then over every window.

    Those with a column come first, in its order. A metric without any value is left out.
    """
    whole, windows = run["metrics"], [window["metrics"] for window in run["windows"].values()]
    placed = [one for _column, one in columns_of("run")]
    metrics = [*placed, *(one for one in of_scope("run") if one not in placed)]
    return [
        MetricLine(
            one.name,
            one.title,
            _definition(one),
            tuple(formats.metric(values.get(one.name), one.format) for values in (whole, *windows)),
        )
        for one in metrics
        if any(values.get(one.name) is not None for values in (whole, *windows))
    ]


@dataclass(frozen=True)
class MetricColumn:
    """A metric as a column of a table of runs, flows or links."""

    name: str
    heading: str
    definition: str
    format: str

    def of(self, values: Mapping[str, Any]) -> str:
        """Return the formatted value of a subject."""
        return formats.metric(values.get(self.name), self.format)


def short_columns(table: Table, subjects: Sequence[Mapping[str, Any]]) -> list[MetricColumn]:
    """Return the columns of a short table, some of which depend on the subjects' values."""
    return [
        _column(one, _capital(column.heading))
        for column, one in columns_of(table)
        if not column.where_not_zero or any(subject.get(one.name) for subject in subjects)
    ]


def all_columns(scope: Scope, subjects: Sequence[Mapping[str, Any]]) -> list[MetricColumn]:
    """Return a column for every metric of the scope that one of the subjects has a value of."""
    return [
        _column(one, one.title)
        for one in of_scope(scope)
        if any(subject.get(one.name) is not None for subject in subjects)
    ]


def run_columns(chosen: Sequence[str]) -> list[MetricColumn]:
    """Return the metrics in the list of runs: the usual ones, then the chosen ones."""
    usual = short_columns("runs", [])
    known = {column.name for column in usual}
    return [*usual, *(one for one in choosable() if one.name in chosen and one.name not in known)]


def choosable() -> list[MetricColumn]:
    """Return every metric of a run as a column for the list of runs."""
    return [_column(one, one.title) for one in of_scope("run")]


def paired(names: Iterable[str], subjects: Iterable[Mapping[str, Any]]) -> Iterable[Any]:
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

    name: str
    bottleneck: bool
    queue: Any
    delay_s: float | None
    loss: float | None
    metrics: Mapping[str, Any]

    @property
    def rate(self) -> str:
        """The formatted rate; if it changes, the first and the last rate, or their range."""
        rates = [rate_bps for _time, rate_bps in self.queue.rate_steps]
        if len(rates) == 2:
            return " → ".join(map(formats.rate, rates))
        if rates:
            return f"{formats.rate(min(rates))} … {formats.rate(max(rates))}"
        return formats.rate(self.queue.rate_bps)

    @property
    def limit(self) -> str:
        """The formatted limit of the queue."""
        if self.queue.limit_packets is not None:
            return f"{formats.number(self.queue.limit_packets)} packets"
        return formats.size(self.queue.limit_bytes)


def links(run: StoredRun, metrics: Sequence[Mapping[str, Any]]) -> list[LinkLine]:
    """Return the run's channels that have a queue, bottlenecks first."""
    by_name = {f"{one['name']}:{one['direction']}": one for one in metrics}
    delays = {channel(one): one for one in run.queues if one.role == "delay"}
    lines = []
    for queue in run.queues:
        if queue.role == "queue":
            name = channel(queue)
            delay = delays.get(name)
            lines.append(
                LinkLine(
                    name,
                    queue.bottleneck,
                    queue,
                    delay.delay_s if delay else queue.delay_s,
                    delay.loss if delay else queue.loss,
                    by_name[name],
                )
            )
    return sorted(lines, key=lambda line: not line.bottleneck)


def links_note(lines: Sequence[LinkLine]) -> str:
    """Return where the values in the table of links are from."""
    if not lines:
        return "no queue of this run is known: its links are not emulated or have no rate"
    changing = any(line.queue.rate_steps for line in lines)
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
