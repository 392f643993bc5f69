"""Comma-separated values: for spreadsheets, pandas, R and gnuplot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from results.export.base import export_format
from results.store.stored import StoredRun
from results.tables import run_tables
from results.tables.csv_lines import CsvLines


@export_format("csv", run_tables.PARTS)
def write(run: StoredRun, paths: Sequence[Path]) -> None:
    """FILE.csv: TCP samples; FILE.queues.csv: queue samples; FILE.flows.csv: flows and metrics.

    FILE.datagrams.csv: samples of UDP flows; FILE.transfers.csv: transfers of flows that make many.
    FILE.metrics.csv: every metric of the run, its flows and links, a line for each value.
    FILE.senders.csv: what metrics use of TCP senders; a row holds until the next one of its flow.
    FILE.counters.csv: SNMP counters of hosts, a row where one has changed since the reading before;
    ``value`` is the growth since right before traffic.
    The end of a column's name is its unit (``rtt_us``, ``snd_cwnd_segments``). An algorithm's own
    values have names such as ``congestion_min_rtt_us``. Unknown values, and an infinite ssthresh or
    pacing rate, are empty.
    """
    for path, table in zip(paths, run_tables.tables(run), strict=True):
        with path.open("x", encoding="utf-8", newline="") as file:
            lines = CsvLines(file)
            lines.add(table.kinds)
            texts = [at for at, kind in enumerate(table.kinds.values()) if kind == "text"]
            lines.add_all(table.rows, texts)
