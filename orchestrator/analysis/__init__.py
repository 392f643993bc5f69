"""Runs and stored experiments for notebooks and scripts, as pandas data frames.

::

    import orchestrator.analysis as oa

    oa.plan("scenarios/bbr-vs-cubic.yaml").description.estimated_wall_s
    oa.run("scenarios/bbr-vs-cubic.yaml", jobs=2)
    oa.verify("last").same
    oa.diff("20261120-1015", "last").time_ns
    oa.reproduce("westwoodplus:W3").verdicts
    oa.report("bbr-vs-cubic", folder="report")

    with oa.open("results/runs.db") as results:
        results.summary("bbr-vs-cubic", "goodput_bps")
        results.samples("last", "bbr").plot(x="time_s", y="snd_cwnd_segments")

Values are in SI units, and names of columns end in their units. An experiment is named as on the
command line: ``NAME`` or ``NAME@HASH``. A run is named by its id, a unique start of it, or "last".
Every method raises ``UsageError`` for what is not there, and ``StoreError`` for a store that cannot
be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from orchestrator.analysis.evaluations import evaluate, harm_matrix
from orchestrator.analysis.use_cases import (
    diff,
    explain,
    export,
    judge,
    merge,
    plan,
    plot,
    report,
    reproduce,
    run,
    verify,
    zoom,
)
from orchestrator.errors import StoreError, UsageError
from orchestrator.recording.model import RECEIVER, SENDER
from orchestrator.recording.trace import TABLES
from orchestrator.units import listed
from results import DEFAULT_DB
from results.documents import run_document, trace_document
from results.experiment.experiments import Experiment, find
from results.experiment.experiments import experiments as experiments_of
from results.experiment.model import QuantileSummary
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.matrix.axes import Axis, axes, shown, with_labels
from results.records.model import Variant
from results.runs import listing
from results.statistics.drift import PARTS
from results.store.store import Store
from results.tables import experiment_table
from results.tables.experiment_table import axis_columns
from results.tables.summary_csv import COVERAGE, percent
from results.traces.columns import columns as trace_columns

__all__ = [
    "Results", "StoreError", "UsageError", "diff", "evaluate", "explain", "export", "harm_matrix",
    "judge", "merge", "open", "plan", "plot", "report", "reproduce", "run", "verify", "zoom",
]  # fmt: skip

End = Literal["sender", "receiver"]
_ENDS = {"sender": SENDER, "receiver": RECEIVER}


def open(path: str | Path = DEFAULT_DB) -> Results:  # noqa: A001 - as gzip.open
    """Open a results database for reading, and return its experiments and runs as data frames.

    ::

        with oa.open("results/runs.db") as results:
            results.experiments()

    Raises:
        StoreError: there is none.
    """
    return Results(Store.open_read_only(Path(path)))


class Results:
    """An open results database as data frames; close it, or use it in ``with``."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def experiments(self) -> pd.DataFrame:
        """Return a row for each experiment: name, identity, axes, number of runs, newest run."""
        return pd.DataFrame(
            [
                {
                    "name": experiment.name,
                    "identity": experiment.identity,
                    "axes": [axis.label for axis in experiment.axes()],
                    "runs": len(experiment.rows),
                    "newest": pd.Timestamp(experiment.newest.started_utc),
                }
                for experiment in experiments_of(self._store)
            ]
        )

    def runs(self, experiment: str | None = None) -> pd.DataFrame:
        """Return a row for each run, of all experiments or of one, with the run's own metrics.

        ::

            results.runs("bbr-vs-cubic")[["id", "verdict", "utilisation"]]

        Each axis has a column under its label, with the values as in the scenario. An axis of
        numbers has a second one with them, such as ``limit [BDP]``.
        """
        chosen = [self._experiment(experiment)] if experiment else experiments_of(self._store)
        variants = {row.id: row.variant for of_store in chosen for row in of_store.rows}
        there = axes(list(variants.values()))
        listed = [
            {**axis_columns(variants[run["id"]], there),
             **{key: run[key] for key in run if key != "metrics"}, **run["metrics"]}
            for run in run_document.list_document(listing.read(self._store))["runs"]
            if run["id"] in variants
        ]  # fmt: skip
        return pd.DataFrame(listed)

    def flows(self, experiment: str) -> pd.DataFrame:
        """Return a row for each run and flow, with the metrics of the whole run.

        ::

            results.flows("bbr-vs-cubic").groupby("flow")["goodput_bps"].mean()

        Of a repetition that was made again, as by ``run --verify``, the newest run alone is there.
        """
        rows = self.windows(experiment)
        return rows[(rows["window"] == "") & (rows["flow"] != "")].reset_index(drop=True)

    def windows(self, experiment: str) -> pd.DataFrame:
        """Return a row for each run, window and flow; see ``results.tables.experiment_table``.

        ``window`` is empty for the whole run, and ``flow`` in the rows of the run itself.
        """
        return pd.DataFrame(list(experiment_table.rows(self._store, self._experiment(experiment))))

    def summary(
        self,
        experiment: str,
        *metrics: str,
        window: str = "",
        where: Sequence[str] = (),
        entries: Sequence[str] = (),
        flows: bool = False,
        quantiles: Sequence[float] = (),
    ) -> pd.DataFrame:
        """Return a row for each variant, flow entry and metric, with its mean over repetitions.

        ::

            results.summary("bbr-vs-cubic", "goodput_bps", where=["limit=1bdp"], quantiles=[0.9])

        Columns: the axes, ``flow`` (None for the whole run), ``link``, ``metric``, ``mean``,
        ``low``, ``high`` (95%), ``sd``, ``n``, ``of``, ``flows_n``, ``flows_of``, ``finished``,
        ``drifting``, ``unfaithful``, ``failed``. ``n`` of ``of`` runs have a value, and
        ``flows_n`` of ``flows_of`` flows; ``finished`` is the share of transfers that ended, of
        metrics that only these have (see ``results.experiment.summary_document``). Each of
        ``quantiles``, such as 0.9, adds ``90%``, ``90% low`` and ``90% high``. The arguments are
        the options of ``orchestrator summary``.

        Raises:
            UsageError: a quantile is not between 0 and 1.
        """
        for share in quantiles:
            if not 0 < share < 1:
                raise UsageError(f"quantiles: {share!r} is not between 0 and 1, such as 0.9")
        selection = ValueSelection(metrics, window, where, entries, flows, PARTS)
        summary = summarise(
            self._store, self._experiment(experiment), selection, quantiles=quantiles
        )
        keys = ("mean", "low", "high", "sd", "n", *COVERAGE, "drifting")
        return pd.DataFrame(
            [
                {**_shown(row.variant, summary.axes), "flow": row.flow, "link": row.link,
                 "metric": name, **{key: getattr(metric, key) for key in keys},
                 "unfaithful": row.left_out.unfaithful, "failed": row.left_out.failed,
                 **_quantiles(metric.quantiles)}
                for row in summary.rows
                for name, metric in row.metrics.items()
            ]
        )  # fmt: skip

    def differences(
        self,
        experiment: str,
        *metrics: str,
        by: Sequence[str] = (),
        compare: Sequence[str] = (),
        window: str = "",
        where: Sequence[str] = (),
        entries: Sequence[str] = (),
    ) -> pd.DataFrame:
        """Return the differences ``b - a`` of means, with intervals, p and what they show.

        ::

            results.differences("bbr-vs-cubic", "goodput_bps", compare=["bbr,cubic"])

        ``label`` says what the interval from ``low_family`` to ``high_family`` shows. The intervals
        of a family hold together with 95% (see ``results.experiment.contrasts``); ``low`` and
        ``high`` are of 95% each. ``method`` is "paired", or "welch" for variants without a common
        seed.

        The arguments are the options of ``orchestrator summary``: ``by`` names the axes whose
        values are compared, and each of ``compare`` names, with commas between.
        """
        selection = ValueSelection(metrics, window, where, entries)
        chosen = self._experiment(experiment)
        summary = summarise(self._store, chosen, selection, by, compare=compare)
        return pd.DataFrame(
            [
                {**_shown(difference.variant, summary.axes),
                 **{key: value for key, value in vars(difference).items() if key != "variant"}}
                for difference in summary.differences
            ]
        )  # fmt: skip

    def traces(self, run: str) -> pd.DataFrame:
        """Return a row for each trace of a run: what ``zoom`` has kept, oldest first."""
        heads = self._store.traces(self._store.resolve(run))
        return pd.DataFrame(
            [{**trace_document.trace(head).document(), **head.rows} for head in heads]
        ).drop(columns=["rows", "captured_hosts"], errors="ignore")

    def trace(self, run: str, table: str, number: int | None = None) -> pd.DataFrame:
        """Return a table of a trace of a run: ``acks``, ``events``, ``links``, ``drops``, ...

        ::

            oa.zoom("last", "12s", "13s")
            results.trace("last", "acks").plot(x="time_s", y="cwnd_segments")

        ``number`` is that of the trace, by default the newest one. ``time_s`` is since the start of
        traffic, and ``time_ns`` the same exactly.

        Raises:
            UsageError: there is no such run, trace or table.
        """
        stored = self._store.load(run)
        heads = self._store.traces(stored.id)
        numbers = [head.number for head in heads]
        if not numbers:
            raise UsageError(f"run {stored.id} has no trace: oa.zoom({stored.id!r}, ...) makes one")
        if number is not None and number not in numbers:
            raise UsageError(
                f"run {stored.id} has no trace {number}; it has {listed(map(str, numbers))}"
            )
        if table not in TABLES:
            raise UsageError(f"a trace has no table {table!r}; it has {listed(TABLES)}")
        names = {"ends", table}
        trace = self._store.trace(stored.id, number or numbers[-1], sorted(names))
        made = pd.DataFrame(trace_columns(stored, trace, table))
        if "time_ns" in made:
            made.insert(0, "time_s", made["time_ns"] / 1e9)
        return made

    def samples(self, run: str, flow: str | int, end: End = "sender") -> pd.DataFrame:
        """Return the TCP samples of one end of a flow, a row a sample.

        ::

            results.samples("last", "bbr").plot(x="time_s", y="snd_cwnd_segments")

        ``time_s`` counts from the start of traffic. The other columns are those of tcp_info, with
        their units in their names (docs/metrics.md).
        """
        if end not in _ENDS:
            raise UsageError(f"end {end!r}: choose sender or receiver")
        loaded = self._store.load(run)
        return _frame(loaded.tcp(flow, _ENDS[end]))

    def queue(self, run: str, queue: str | int) -> pd.DataFrame:
        """Return the samples of a queue, a row a sample, with ``time_s`` since traffic began.

        ::

            results.queue("last", "bottleneck:forward:queue")["backlog_packets"].max()

        It is named by its index or as in ``StoredRun.queues``: ``bottleneck:forward:queue``.
        """
        return _frame(self._store.load(run).queue_samples(queue))

    def counters(self, run: str, host: str) -> pd.DataFrame:
        """Return the SNMP counters of a host, as nstat shows them, a row a time of a change.

        ::

            results.counters("last", "a_src0")["TcpExt:TCPTimeouts"].iloc[-1]

        ``time_s`` counts from the start of traffic, and values from right before. A column is there
        for each counter that changed. The times are edges of windows, and those of
        ``sample: {counters: 50ms}`` where the scenario has it.

        Raises:
            UsageError: the run has no counters of such a host; names those that it has.
        """
        stored = self._store.load(run)
        place_of = stored.counter_names.place_of
        if host not in place_of:
            known = listed(place_of) or "none: it was stored before they were read"
            raise UsageError(f"run {stored.id} has no counters of host {host!r}; it has {known}")
        series = {
            name: pd.Series(values, index=times_ns)
            for name, (times_ns, values) in stored.counter_series(place_of[host]).items()
        }
        made = pd.DataFrame(series).sort_index().ffill().fillna(0).astype("int64")
        made.insert(0, "time_s", made.index / 1e9)
        return made.reset_index(drop=True)

    def transfers(self, run: str, flow: str | int) -> pd.DataFrame:
        """Return the transfers of a flow that makes many: start and end in s, and bytes of each.

        ::

            transfers = results.transfers("last", "web")
            (transfers["end_s"] - transfers["start_s"]).median()
        """
        columns = self._store.load(run).transfers(flow)
        return pd.DataFrame(
            {
                "start_s": columns["start_ns"] / 1e9,
                "end_s": np.asarray(columns["end_ns"], np.float64) / 1e9,
                "bytes": columns["bytes"],
            }
        )

    def _experiment(self, text: str) -> Experiment:
        return find(self._store, text)[0]


def _quantiles(quantiles: Sequence[QuantileSummary]) -> dict[str, float | None]:
    return {
        f"{percent(quantile.share)}{end}": value
        for quantile in quantiles
        for end, value in zip(("", " low", " high"), quantile.interval, strict=True)
    }


def _shown(variant: Variant, there: Sequence[Axis]) -> dict[str, str]:
    """Return the values of a variant by the labels of the axes."""
    return {label: shown(value) for label, value in with_labels(variant, there).items()}


def _frame(columns: Any) -> pd.DataFrame:
    frame = pd.DataFrame(dict(columns) if not isinstance(columns, np.ndarray) else columns)
    frame.insert(0, "time_s", frame["time_ns"] / 1e9)
    return frame
