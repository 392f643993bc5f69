"""A study of runs that are planned and not made: finds what a figure would refuse.

Every value that a run can have is there, and all are equal. A figure that such a study refuses
cannot be drawn from the runs either. It has too many lines, too few runs, or what it shows is not
in the scenario.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal, cast

import numpy as np

from orchestrator.errors import UsageError
from orchestrator.recording.counters import COUNTER_NAME, CounterNames
from orchestrator.recording.model import (
    CONGESTION_SLOTS,
    DATAGRAM_DTYPE,
    QUEUE_DTYPE,
    TCP_DTYPE,
    TRANSFER_DTYPE,
    FlowRecord,
    QueueRecord,
)
from orchestrator.recording.trace import Capture
from results.experiment.left_out import LeftOut
from results.experiment.model import MetricSummary, Summary, SummaryRow
from results.figures._study import ChosenVariant, Study
from results.matrix.axes import Where, axes, conditions, key
from results.metrics import find
from results.metrics.base import Scope
from results.metrics.estimate import ESTIMATES
from results.query.conditions import of_variants
from results.records.model import WHOLE, RunEvent
from results.samples.sample_tables import Array, Columns
from results.store.stored import StoredRun

_TRANSPORTS: Mapping[str, Literal["tcp", "udp", "icmp"]] = {
    "datagrams": "udp", "echoes": "icmp", "estimate": "tcp", "recovery": "tcp",
    "retransmission": "tcp", "rtt": "tcp",
}  # fmt: skip
"""Modules of metrics that only flows of one transport have."""


__all__ = [
    "PlannedFlow", "PlannedStudy", "PlannedVariant", "QueueRecord", "any_fields", "flow_record",
    "queue_record",
]  # fmt: skip


@dataclass(frozen=True)
class PlannedFlow:
    """A flow: its entry, what it is as a record, and whether its traffic makes transfers."""

    entry: str
    record: FlowRecord
    transfers: bool


@dataclass(frozen=True)
class PlannedVariant:
    """The runs of a variant: its values by path, how many there are, and what each consists of.

    ``capture`` is what they trace.
    """

    values: Mapping[str, Any]
    repetitions: int
    duration_s: float
    warmup_s: float
    flows: Sequence[PlannedFlow]
    queues: Sequence[QueueRecord]
    windows: Sequence[str] = ()
    capture: Capture | None = None


class _AnyCounter(CounterNames):
    """The counters of a run that is not made yet: all whose names have the form of one."""

    def named(self, wanted: str) -> str | None:
        """Return the name of a counter that the run may have."""
        written = wanted if ":" in wanted else f"TcpExt:{wanted}"
        return written if re.fullmatch(COUNTER_NAME, written) else None


@dataclass
class PlannedRun:
    """What figures of a single run ask of it; see ``results.store.stored.StoredRun``."""

    id: str
    variant: PlannedVariant
    repetition: int
    events: Sequence[RunEvent] = ()
    windows: Sequence[Any] = ()

    def __post_init__(self) -> None:
        self.duration_s = self.variant.duration_s
        self.warmup_s = self.variant.warmup_s
        self.metrics_grid_s = 0.1
        self.flows = [flow.record for flow in self.variant.flows]
        self.entries = [flow.entry for flow in self.variant.flows]
        self.queues = list(self.variant.queues)
        self.row = SimpleNamespace(
            variant=self.variant.values, repetition=self.repetition, seed=0, verdict=None
        )

    def _ones(self, dtype: np.dtype[np.void], there: bool, *states: str) -> Columns:
        """Return three samples of ones over the run; none where there are none."""
        number = 3 if there else 0
        columns: dict[str, Any] = {name: np.ones(number, np.float64) for name in dtype.names or ()}
        times_ns = np.linspace(0, self.duration_s * 1e9, number).astype(np.int64)
        return cast("Columns", columns | dict.fromkeys(("time_ns", *states), times_ns))

    def tcp_columns(self, flow: int, endpoint: int) -> Columns:
        """Return samples of a flow of TCP."""
        del endpoint
        made = self._ones(TCP_DTYPE, self.flows[flow].transport == "tcp", "bytes_received")
        return cast("Columns", {**made, "state": np.ones(len(made["time_ns"]), np.int64)})

    def sender_states(self, flow: int) -> Columns:
        """Return the states of a sender on the metrics' grid."""
        return self.tcp_columns(flow, 0)

    def datagram_columns(self, flow: int) -> Columns:
        """Return samples of a flow of UDP."""
        return self._ones(DATAGRAM_DTYPE, self.flows[flow].transport == "udp")

    def transfer_columns(self, flow: int) -> Columns:
        """Return transfers of a flow that makes many."""
        there = self.variant.flows[flow].transfers
        made = self._ones(TRANSFER_DTYPE, there, "start_ns")
        return cast("Columns", {**made, "end_ns": made["start_ns"] + 1})

    def queue_columns(self, queue: int) -> Columns:
        """Return samples of a queue."""
        del queue
        return self._ones(QUEUE_DTYPE, True)

    @property
    def counter_names(self) -> CounterNames:
        """The counters of the flows' hosts, which have no names yet."""
        ends = dict.fromkeys(host for flow in self.flows for host in (flow.source, flow.sink))
        return _AnyCounter(tuple((host,) for host in ends))

    def counter_growth(self, host: int, name: str) -> tuple[Array, Array]:
        """Return that a counter grew at half of the run."""
        del host, name
        return np.array([self.duration_s * 5e8]), np.ones(1)


class PlannedStudy(Study):
    """The planned runs of an experiment."""

    def __init__(self, name: str, variants: Sequence[PlannedVariant]) -> None:
        self.variants = variants
        self.experiment = cast("Any", SimpleNamespace(name=name, doubtful=frozenset, newest=None))
        self.named = None
        self.only = ()
        self.has_caption = False
        self.notes = []
        self.shown = []
        self.drawn = None
        self.is_planned = True

    def _kept(self, where: Where) -> list[PlannedVariant]:
        there = axes([variant.values for variant in self.variants])
        keeps = [of_variants(text, there) for text in conditions(where)]
        return [variant for variant in self.variants if all(keep(variant.values) for keep in keeps)]

    def summary(
        self,
        metrics: Sequence[str],
        where: Where,
        entries: Sequence[str] = (),
        window: str | None = None,
        parts: int = 0,
    ) -> Summary:
        """Return a summary in which every value that is possible is 1."""
        del parts
        kept = self._kept(where)
        known = {flow.entry for variant in kept for flow in variant.flows}
        for entry in entries:
            if entry not in known:
                raise UsageError(
                    f"there is no flow entry {entry}; the entries are {', '.join(sorted(known))}"
                )
        if not kept:
            raise UsageError("no variant fits")
        there = axes([variant.values for variant in self.variants])
        rows = [
            row
            for variant in kept
            if (window or WHOLE) in (WHOLE, *variant.windows)
            for row in _rows(variant, list(dict.fromkeys(metrics)), entries)
        ]
        self.shown = [variant.repetitions for variant in kept]
        return Summary(self.experiment.name, "", window, there, rows)

    def runs(self, where: Where) -> list[ChosenVariant]:
        """Return the variants with as many runs as are planned."""
        chosen = [
            ChosenVariant(variant.values, cast("Any", _planned_rows(variant)))
            for variant in self._kept(where)
        ]
        if not chosen:
            raise UsageError("no variant fits")
        self.shown = [len(chosen_variant.runs) for chosen_variant in chosen]
        return chosen

    def load(self, row: Any) -> StoredRun:
        """Return a planned run in place of a stored one."""
        return cast("StoredRun", PlannedRun("planned", row.planned, row.repetition))


def _planned_rows(variant: PlannedVariant) -> list[Any]:
    return [
        SimpleNamespace(
            variant=variant.values, repetition=number, planned=variant, id="planned", seed=number
        )
        for number in range(variant.repetitions)
    ]


def _rows(
    variant: PlannedVariant, metrics: Sequence[str], entries: Sequence[str]
) -> Iterator[SummaryRow]:
    """Yield the rows of a variant: of the run, of its flow entries, and of its bottlenecks."""
    by_entry: dict[str, list[PlannedFlow]] = {}
    for flow in variant.flows:
        if not entries or flow.entry in entries:
            by_entry.setdefault(flow.entry, []).append(flow)
    links = dict.fromkeys(
        queue.name for queue in variant.queues if queue.bottleneck and queue.role == "queue"
    )
    everything = list(variant.flows)
    yield _row(variant, None, None, _values(variant, metrics, "run", everything))
    for entry, flows in by_entry.items():
        yield _row(variant, entry, None, _values(variant, metrics, "flow", flows))
    alone = [name for name in metrics if not _has(name, "run") and not _has(name, "flow")]
    for link in links:
        yield _row(variant, None, link, _values(variant, alone, "link", everything))


def _has(metric: str, scope: Scope) -> bool:
    return find(metric, scope) is not None


def _values(
    variant: PlannedVariant, metrics: Sequence[str], scope: Scope, flows: Sequence[PlannedFlow]
) -> dict[str, MetricSummary]:
    number = variant.repetitions
    end = 1.0 if number > 1 else None
    return {
        name: MetricSummary(
            mean=1.0,
            low=end,
            high=end,
            sd=None,
            n=number,
            rule="student",
            of=number,
            flows_n=0,
            flows_of=0,
            finished=None,
            values=[1.0] * number,
            runs=[f"{key(dict(variant.values))} {repetition}" for repetition in range(number)],
        )
        for name in metrics
        if _has(name, scope) and _possible(name, scope, flows)
    }


def _possible(metric: str, scope: Scope, flows: Sequence[PlannedFlow]) -> bool:
    """Tell whether one of the flows can give a value."""
    entry = find(metric, scope)
    assert entry is not None, "it is there at this scope"
    module = entry.function.__module__.rpartition(".")[2]
    if module == "transfers":
        return any(flow.transfers for flow in flows)
    transport = _TRANSPORTS.get(module)
    return transport is None or any(flow.record.transport == transport for flow in flows)


def _row(
    variant: PlannedVariant,
    flow: str | None,
    link: str | None,
    metrics: Mapping[str, MetricSummary],
) -> SummaryRow:
    return SummaryRow(variant.values, flow, link, variant.repetitions, LeftOut(), metrics)


def any_fields(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return fields of an algorithm of which nothing is known before it runs: all wanted ones."""
    return (*ESTIMATES[:1], *((name, "1") for name in names))[:CONGESTION_SLOTS]


def flow_record(
    name: str,
    transport: Literal["tcp", "udp", "icmp"],
    traffic: str,
    path: tuple[str, ...],
    fields: tuple[tuple[str, str], ...],
) -> FlowRecord:
    """Return a flow as a run would record it, as far as figures ask for it."""
    return FlowRecord(
        name=name, group="", source="", sink="", engine="", congestion_asked=None,
        congestion_control=None, start_s=0.0, stop_s=None, base_rtt_s=0.0,
        base_rtt_measured_s=None, path=path, congestion_fields=fields, transport=transport,
        traffic=traffic,
    )  # fmt: skip


def queue_record(
    link: str, forward: bool, kind: str, bottleneck: bool, fields: tuple[tuple[str, str], ...]
) -> QueueRecord:
    """Return a queue as a run would record it, as far as figures ask for it."""
    return QueueRecord(
        name=link, link=link, direction="forward" if forward else "reverse", role="queue",
        kind=kind, bottleneck=bottleneck, statistics=fields,
    )  # fmt: skip
