"""The tables that a run is exported as: samples, transfers, flows and metrics.

A run with 3 million samples does not fit into memory as Python values, so a table yields its rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.recording.model import (
    CONGESTION_SLOTS,
    DATAGRAM_DTYPE,
    QUEUE_DTYPE,
    RECEIVER,
    SENDER,
    SENDER_STATE_DTYPE,
    TCP_DTYPE,
    TRANSFER_DTYPE,
)
from results.documents import run_document
from results.metrics import find, of_values
from results.metrics.base import Scope
from results.records.model import Values
from results.runs import result
from results.samples.sample_tables import Array, listed
from results.store.stored import StoredRun
from results.tables import parquet

PARTS = ("", "queues", "flows", "datagrams", "transfers", "metrics", "senders", "counters")
"""The tables of a run by the part of their file's name, in the order of :func:`tables`."""

_SLOTS = tuple(f"congestion_{slot}" for slot in range(CONGESTION_SLOTS))
_ENDPOINTS = {SENDER: "sender", RECEIVER: "receiver"}


@dataclass(frozen=True)
class TypedTable:
    """A table: the type of each column by its name, and its rows."""

    kinds: Mapping[str, parquet.Kind]
    rows: Iterable[Sequence[Any]]


def tables(run: StoredRun) -> list[TypedTable]:
    """Return the tables of a run in the order of ``PARTS``; rows are read when it is their turn."""
    return [
        _tcp(run),
        _queues(run),
        _flows(run),
        _of_flows(run, DATAGRAM_DTYPE.names or (), run.datagrams),
        _of_flows(run, TRANSFER_DTYPE.names or (), run.transfers),
        _metrics(run),
        _of_flows(run, SENDER_STATE_DTYPE.names or (), run.senders),
        _counters(run),
    ]


def _integers(names: Iterable[str]) -> dict[str, parquet.Kind]:
    return dict.fromkeys(names, "integer")


def _texts(*names: str) -> dict[str, parquet.Kind]:
    return dict.fromkeys(names, "text")


def _tcp(run: StoredRun) -> TypedTable:
    keys = ("time_ns", "flow", "endpoint", *_SLOTS)
    columns = ["time_ns", *(name for name in TCP_DTYPE.names or () if name not in keys)]
    named = [[_congestion(field) for field in flow.congestion_fields] for flow in run.flows]
    own = list(dict.fromkeys(name for names in named for name in names))

    def rows() -> Iterator[Sequence[Any]]:
        for index, (flow, names) in enumerate(zip(run.flows, named, strict=True)):
            slot_of = dict(zip(names, _SLOTS, strict=False))
            for endpoint, end in _ENDPOINTS.items():
                samples = run.tcp(index, endpoint, [*columns, *slot_of.values()])
                cells = [listed(name, samples[name]) for name in columns]
                nothing: list[int | None] = [None] * len(cells[0])
                for name in own:  # only a sender reports values of its algorithm
                    known = name in slot_of and endpoint == SENDER
                    cells.append(listed(name, samples[slot_of[name]]) if known else nothing)
                for row in zip(*cells, strict=True):
                    yield [flow.name, end, *row]

    return TypedTable(_texts("flow", "endpoint") | _integers([*columns, *own]), rows())


def _queues(run: StoredRun) -> TypedTable:
    columns = [name for name in QUEUE_DTYPE.names or () if name != "queue"]

    def rows() -> Iterator[Sequence[Any]]:
        for index, queue in enumerate(run.queues):
            samples = run.queue_samples(index, columns)
            head = (queue.name, queue.link, queue.direction, queue.role)
            for values in zip(*(samples[name].tolist() for name in columns), strict=True):
                yield [*head, *values]

    return TypedTable(_texts("queue", "link", "direction", "role") | _integers(columns), rows())


def _of_flows(
    run: StoredRun, names: Sequence[str], read: Callable[[int, Sequence[str]], dict[str, Array]]
) -> TypedTable:
    columns = [name for name in names if name != "flow"]

    def rows() -> Iterator[Sequence[Any]]:
        for index, flow in enumerate(run.flows):
            samples = read(index, columns)
            for values in zip(*(listed(name, samples[name]) for name in columns), strict=True):
                yield [flow.name, *values]

    return TypedTable(_texts("flow") | _integers(columns), rows())


def _counters(run: StoredRun) -> TypedTable:
    columns = ("time_ns", "counter", "value")

    def rows() -> Iterator[Sequence[Any]]:
        for index, hosts in enumerate(run.counter_names.hosts):
            samples, names = run.counters(index, columns), run.counter_names.names
            for time_ns, counter, value in zip(
                *(samples[name].tolist() for name in columns), strict=True
            ):
                yield ["+".join(hosts), time_ns, names[counter], value]

    kinds = _texts("host") | _integers(["time_ns"]) | _texts("counter") | _integers(["value"])
    return TypedTable(kinds, rows())


def _flows(run: StoredRun) -> TypedTable:
    whole = result.of_run(run)
    flows_of = {"": whole.flows, **{name: part.flows for name, part in whole.windows.items()}}
    parts = {
        name: [run_document.flow(flow).document() for flow in flows]
        for name, flows in flows_of.items()
    }
    described = [key for flow in parts[""][:1] for key in flow if find(key, "flow") is None]
    kinds = _texts("window") | {name: _kind(parts.values(), name) for name in described}
    own = [flow.metrics for each in flows_of.values() for flow in each]
    for metric in of_values("flow", own):
        kinds[metric.name] = "integer" if metric.counts else "number"
    names = list(kinds)[1:]
    rows = ([window, *(flow.get(name) for name in names)] for window, flows in parts.items()
            for flow in flows)  # fmt: skip
    return TypedTable(kinds, rows)


def _kind(flows: Iterable[Sequence[Mapping[str, object]]], name: str) -> parquet.Kind:
    """Return the type of a column that describes flows; one without values has text."""
    values = [flow[name] for each in flows for flow in each if flow[name] is not None]
    if not values or any(isinstance(value, str) for value in values):
        return "text"
    return "number" if any(isinstance(value, float) for value in values) else "integer"


def _metrics(run: StoredRun) -> TypedTable:
    def rows() -> Iterator[Sequence[Any]]:
        for window, metrics in run.metrics().items():
            subjects: list[tuple[Scope, str, Values]] = [
                ("run", "", metrics.run),
                *(
                    ("flow", flow.name, of)
                    for flow, of in zip(run.flows, metrics.flows, strict=True)
                ),
                *(("link", name, of_link) for name, of_link in metrics.links.items()),
            ]
            for scope, subject, values in subjects:
                for metric in of_values(scope, [values]):
                    yield [
                        window,
                        scope,
                        subject,
                        metric.name,
                        metric.unit,
                        values.get(metric.name),
                    ]

    kinds = _texts("window", "scope", "subject", "metric", "unit")
    return TypedTable({**kinds, "value": "number"}, rows())


def _congestion(field: tuple[str, str]) -> str:
    """Return the column of an algorithm's own field, from its name and unit."""
    words = ["congestion", *field]
    return "_".join(re.sub(r"\W+", "_", word) for word in words if word not in ("", "1"))
