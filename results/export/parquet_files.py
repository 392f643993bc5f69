"""Apache Parquet: the tables of CSV with their types, for pandas, DuckDB, R and others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from results.export.base import export_format
from results.store.stored import StoredRun
from results.tables import parquet, run_tables


@export_format("parquet", run_tables.PARTS)
def write(run: StoredRun, paths: Sequence[Path]) -> None:
    """FILE.parquet: the table of FILE.csv, with its columns as text, integers and doubles.

    FILE.queues.parquet, FILE.flows.parquet, FILE.datagrams.parquet, FILE.transfers.parquet,
    FILE.metrics.parquet and FILE.senders.parquet: those of csv by these names.
    Unknown values, and an infinite ssthresh or pacing rate, are null.
    """
    about = {"run": run.id, "digest": run.row.digest or ""}
    for path, table in zip(paths, run_tables.tables(run), strict=True):
        rows = iter(table.rows)
        written = path.open("xb")
        with written as file, parquet.Writer(file, table.kinds, about, parquet.WRITER) as writer:
            while group := list(islice(rows, parquet.GROUP)):
                writer.add(list(zip(*group, strict=True)))
