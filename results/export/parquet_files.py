"""Apache Parquet: the tables of CSV with their types, for pandas, DuckDB, R and others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from results.export.base import also_of_traces, export_format
from results.store.stored import StoredRun
from results.tables import parquet, run_tables
from results.traces import typed_tables
from results.traces.choice import TraceChoice, trace_of_number


@export_format("parquet", run_tables.PARTS)
def write(run: StoredRun, paths: Sequence[Path]) -> None:
    """FILE.parquet: the table of FILE.csv, with its columns as text, integers and doubles.

    FILE.queues.parquet, FILE.flows.parquet, FILE.datagrams.parquet, FILE.transfers.parquet,
    FILE.metrics.parquet, FILE.senders.parquet and FILE.counters.parquet: those of csv by these
    names.
    Unknown values, and an infinite ssthresh or pacing rate, are null.
    """
    _write(run, paths, run_tables.tables(run))


@also_of_traces("parquet", typed_tables.PARTS)
def write_trace(run: StoredRun, paths: Sequence[Path], choice: TraceChoice) -> None:
    """With ``--trace N``: the tables of a trace, FILE.ends.parquet, FILE.acks.parquet,
    FILE.events.parquet, FILE.links.parquet, FILE.drops.parquet, FILE.frames.parquet and
    FILE.hosts.parquet.
    """
    if choice.number is None:
        raise ValueError("a trace must be named")
    head = trace_of_number(run, choice.number)
    trace = run.trace(head.number, typed_tables.PARTS)
    _write(run, paths, typed_tables.tables(run, trace), {"trace": str(head.number)})


def _write(
    run: StoredRun,
    paths: Sequence[Path],
    tables: Iterable[run_tables.TypedTable],
    more: Mapping[str, str] | None = None,
) -> None:
    about = {"run": run.id, "digest": run.row.digest or "", **(more or {})}
    for path, table in zip(paths, tables, strict=True):
        rows = iter(table.rows)
        written = path.open("xb")
        with written as file, parquet.Writer(file, table.kinds, about, parquet.WRITER) as writer:
            while group := list(islice(rows, parquet.GROUP)):
                writer.add(list(zip(*group, strict=True)))
