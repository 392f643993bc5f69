"""Connections that failed, counted by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from results import metrics
from results.experiment.experiments import find
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.experiment.summary_document import document
from results.records.model import WHOLE
from results.store.store import Store
from tests.support.metrics_flows import Data
from tests.support.recordings import flow, head, recording


def test_failures_count_in_their_spans_and_those_of_the_warm_up_in_the_whole_run() -> None:
    """The run lasts 10 s with 2 s of warm-up; the window is from 0 s to 5 s."""
    first = replace(flow("first"), outcome="reset", failed_s=(1.0, 4.0, 6.0, 10.0))
    windows = metrics.compute(Data(flows=[first, flow("second")]))
    assert windows[WHOLE].run["connections_failed"] == 4
    assert [each["connections_failed"] for each in windows[WHOLE].flows] == [4, 0]
    assert windows["quiet"].run["connections_failed"] == 2


def means(folder: Path, failed: list[int], *wanted: str) -> dict[str, Any]:
    """Return the run's metrics in the summary of runs with so many failed connections each."""
    with Store(folder / "runs.db") as store:
        for number, failures in enumerate(failed):
            made = flow("a", failed_s=(5.0,) * failures)
            run = {"experiment": "trial", "repetition": number, "seed": number, "windows": ()}
            store.finish(
                store.begin(head(**run)), recording(flows=[made], digest=f"d{number}"), 1.0
            )
        found, _others = find(store, "trial")
        summary = document(summarise(store, found, ValueSelection(wanted), ()))
    (row,) = [each for each in summary["rows"] if each["flow"] is None]
    assert row["n"] == len(failed)
    metrics: dict[str, Any] = row["metrics"]
    return metrics


def test_means_count_runs_whose_connections_failed(tmp_path: Path) -> None:
    found = means(tmp_path, [0, 3, 0])["connections_failed"]
    assert (found["mean"], found["n"]) == (1, 3)


def test_a_summary_without_failures_shows_their_number_only_if_it_is_asked_for(
    tmp_path: Path,
) -> None:
    for name, wanted in (("all", ()), ("asked", ("connections_failed",))):
        (tmp_path / name).mkdir()
        found = means(tmp_path / name, [0, 0], *wanted)
        assert ("connections_failed" in found) is bool(wanted)
