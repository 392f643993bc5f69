"""Comma-separated values: for spreadsheets, pandas, R and gnuplot."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from orchestrator.recording.model import (
    CONGESTION_SLOTS,
    DATAGRAM_DTYPE,
    QUEUE_DTYPE,
    RECEIVER,
    SENDER,
    TCP_DTYPE,
    TRANSFER_DTYPE,
)
from results import documents
from results.export.base import export_format
from results.metrics import METRICS
from results.samples import Array, listed
from results.stored import StoredRun

_SLOTS = tuple(f"congestion_{slot}" for slot in range(CONGESTION_SLOTS))
_ENDPOINTS = {SENDER: "sender", RECEIVER: "receiver"}


@export_format("csv", ("", "queues", "flows", "datagrams", "transfers", "metrics"))
def write(run: StoredRun, paths: Sequence[Path]) -> None:
    """FILE.csv: TCP samples; FILE.queues.csv: queue samples; FILE.flows.csv: flows and metrics.

    FILE.datagrams.csv: samples of UDP flows; FILE.transfers.csv: transfers of flows that make many.
    FILE.metrics.csv: every metric of the run, its flows and links, a line for each value.
    The end of a column's name is its unit (``rtt_us``, ``snd_cwnd_segments``). An algorithm's own
    values have names such as ``congestion_min_rtt_us``. Unknown values, and an infinite ssthresh or
    pacing rate, are empty.
    """
    tcp, queues, flows, datagrams, transfers, values = paths
    _write(tcp, _tcp(run))
    _write(queues, _queues(run))
    _write(flows, _flows(run))
    _write(datagrams, _of_flows(run, DATAGRAM_DTYPE.names or (), run.datagrams))
    _write(transfers, _of_flows(run, TRANSFER_DTYPE.names or (), run.transfers))
    _write(values, _metrics(run))


def _write(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    with path.open("x", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _tcp(run: StoredRun) -> Iterable[Sequence[Any]]:
    keys = ("time_ns", "flow", "endpoint", *_SLOTS)
    columns = ["time_ns", *(name for name in TCP_DTYPE.names or () if name not in keys)]
    named = [[_congestion(field) for field in flow.congestion_fields] for flow in run.flows]
    own = list(dict.fromkeys(name for names in named for name in names))
    yield ["flow", "endpoint", *columns, *own]
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


def _queues(run: StoredRun) -> Iterable[Sequence[Any]]:
    columns = [name for name in QUEUE_DTYPE.names or () if name != "queue"]
    yield ["queue", "link", "direction", "role", *columns]
    for index, queue in enumerate(run.queues):
        samples = run.queue_samples(index, columns)
        head = (queue.name, queue.link, queue.direction, queue.role)
        for values in zip(*(samples[name].tolist() for name in columns), strict=True):
            yield [*head, *values]


def _of_flows(
    run: StoredRun, names: Sequence[str], read: Callable[[int, Sequence[str]], dict[str, Array]]
) -> Iterable[Sequence[Any]]:
    columns = [name for name in names if name != "flow"]
    yield ["flow", *columns]
    for index, flow in enumerate(run.flows):
        rows = read(index, columns)
        for values in zip(*(listed(name, rows[name]) for name in columns), strict=True):
            yield [flow.name, *values]


def _flows(run: StoredRun) -> Iterable[Sequence[Any]]:
    whole = documents.run_document(run)
    parts = {"": whole["flows"], **{name: part["flows"] for name, part in whole["windows"].items()}}
    described = [key for flow in whole["flows"][:1] for key in flow if (key, "flow") not in METRICS]
    names = described + [name for name, scope in METRICS if scope == "flow"]
    yield ["window", *names]
    for window, flows in parts.items():
        for flow in flows:
            yield [window, *(flow[name] for name in names)]


def _metrics(run: StoredRun) -> Iterable[Sequence[Any]]:
    yield ["window", "scope", "subject", "metric", "unit", "value"]
    for window, found in run.metrics().items():
        subjects = [
            ("run", "", found.run),
            *(("flow", flow.name, of) for flow, of in zip(run.flows, found.flows, strict=True)),
            *(("link", name, of_link) for name, of_link in found.links.items()),
        ]
        for scope, subject, values in subjects:
            for one in METRICS.values():
                if one.scope == scope:
                    yield [window, scope, subject, one.name, one.unit, values.get(one.name)]


def _congestion(field: tuple[str, str]) -> str:
    """Return the column of an algorithm's own field, from its name and unit."""
    words = ["congestion", *field]
    return "_".join(re.sub(r"\W+", "_", word) for word in words if word not in ("", "1"))
