"""Stored experiments as pandas data frames, for notebooks and scripts.

::

    import orchestrator.analysis as oa

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

from orchestrator.errors import StoreError, UsageError
from orchestrator.recording.model import RECEIVER, SENDER
from results import DEFAULT_DB, tidy
from results.axes import shown
from results.experiments import Experiment, find
from results.experiments import experiments as experiments_of
from results.observations import ValueSelection
from results.statistics.drift import PARTS
from results.store import Store
from results.summary import summarise
from results.summary_csv import percent

__all__ = ["Results", "StoreError", "UsageError", "open"]

End = Literal["sender", "receiver"]
_ENDS = {"sender": SENDER, "receiver": RECEIVER}


def open(path: str | Path = DEFAULT_DB) -> Results:  # noqa: A001 - as gzip.open
    """Open a store for reading; StoreError when there is none."""
    return Results(Store.open_read_only(Path(path)))


class Results:
    """An open store; close it, or use it in ``with``."""

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
                    "name": each.name,
                    "identity": each.identity,
                    "axes": [axis.label for axis in each.axes()],
                    "runs": len(each.rows),
                    "newest": pd.Timestamp(each.newest.started_utc),
                }
                for each in experiments_of(self._store)
            ]
        )

    def runs(self, experiment: str | None = None) -> pd.DataFrame:
        """Return a row for each run, of all experiments or of one, with the run's own metrics."""
        kept = None if experiment is None else {row.id for row in self._experiment(experiment).rows}
        listed = [
            {**{key: run[key] for key in run if key != "metrics"}, **run["metrics"]}
            for run in self._store.listing()["runs"]
            if kept is None or run["id"] in kept
        ]
        return pd.DataFrame(listed)

    def flows(self, experiment: str) -> pd.DataFrame:
        """Return a row for each run and flow, with the metrics of the whole run."""
        found = self.windows(experiment)
        return found[(found["window"] == "") & (found["flow"] != "")].reset_index(drop=True)

    def windows(self, experiment: str) -> pd.DataFrame:
        """Return a row for each run, window and flow; see ``results.tidy``.

        ``window`` is empty for the whole run, and ``flow`` in the rows of the run itself.
        """
        return pd.DataFrame(list(tidy.rows(self._store, self._experiment(experiment))))

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
        """Return a row for each variant, flow entry and metric.

        Columns: the axes, ``flow`` (None for the whole run), ``link``, ``metric``, ``mean``,
        ``low``, ``high`` (95%), ``sd``, ``n``, ``drifting``, ``unfaithful``, ``failed``. Each of
        ``quantiles``, such as 0.9, adds ``90%``, ``90% low`` and ``90% high``. The arguments are
        the options of ``orchestrator summary``.

        Raises:
            UsageError: a quantile is not between 0 and 1.
        """
        for share in quantiles:
            if not 0 < share < 1:
                raise UsageError(f"quantiles: {share!r} is not between 0 and 1, such as 0.9")
        wanted = ValueSelection(metrics, window, where, entries, flows, PARTS)
        document = summarise(self._store, self._experiment(experiment), wanted, quantiles=quantiles)
        keys = ("mean", "low", "high", "sd", "n", "drifting")
        return pd.DataFrame(
            [
                {**_axes(document, row), "flow": row["flow"], "link": row["link"], "metric": name,
                 **{key: metric[key] for key in keys},
                 "unfaithful": row["left_out"]["unfaithful"], "failed": row["left_out"]["failed"],
                 **_quantiles(metric["quantiles"])}
                for row in document["rows"]
                for name, metric in row["metrics"].items()
            ]
        )  # fmt: skip

    def differences(
        self,
        experiment: str,
        *metrics: str,
        by: Sequence[str] = (),
        window: str = "",
        where: Sequence[str] = (),
    ) -> pd.DataFrame:
        """Return the differences ``b - a``, with intervals, p and Holm's p.

        ``method`` is "paired", or "welch" for variants without a common seed.

        ``by`` names the axes whose values are compared, as in ``orchestrator summary --by``.
        """
        wanted = ValueSelection(metrics, window, where)
        document = summarise(self._store, self._experiment(experiment), wanted, by)
        return pd.DataFrame(
            [
                {**_axes(document, each), **{key: each[key] for key in each if key != "variant"}}
                for each in document["differences"]
            ]
        )

    def samples(self, run: str, flow: str | int, end: End = "sender") -> pd.DataFrame:
        """Return the TCP samples of one end of a flow, a row a sample, with ``time_s``."""
        if end not in _ENDS:
            raise UsageError(f"end {end!r}: choose sender or receiver")
        loaded = self._store.load(run)
        return _frame(loaded.tcp(flow, _ENDS[end]))

    def queue(self, run: str, queue: str | int) -> pd.DataFrame:
        """Return the samples of a queue, a row a sample, with ``time_s``.

        It is named by its index or as in ``StoredRun.queues``: ``bottleneck:forward:queue``.
        """
        return _frame(self._store.load(run).queue_samples(queue))

    def transfers(self, run: str, flow: str | int) -> pd.DataFrame:
        """Return the transfers of a flow that makes many: start, end and bytes of each."""
        found = self._store.load(run).transfers(flow)
        return pd.DataFrame(
            {
                "start_s": found["start_ns"] / 1e9,
                "end_s": np.asarray(found["end_ns"], np.float64) / 1e9,
                "bytes": found["bytes"],
            }
        )

    def _experiment(self, text: str) -> Experiment:
        return find(self._store, text)[0]


def _quantiles(found: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    return {
        f"{percent(each['share'])}{end}": each[key]
        for each in found
        for end, key in (("", "value"), (" low", "low"), (" high", "high"))
    }


def _axes(document: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a variant by the labels of the axes."""
    return {
        axis["label"]: shown(row["variant"][axis["path"]])
        for axis in document["axes"]
        if axis["path"] in row["variant"]
    }


def _frame(columns: Any) -> pd.DataFrame:
    frame = pd.DataFrame(dict(columns) if not isinstance(columns, np.ndarray) else columns)
    frame.insert(0, "time_s", frame["time_ns"] / 1e9)
    return frame
