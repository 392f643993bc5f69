"""Every example of one idea is long enough: at full length, no mean that `summary` shows drifts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.experiment.experiments import experiments
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.records.model import WHOLE
from results.statistics.drift import PARTS
from results.store.store import Store
from tests.guest.conftest import Quiet

pytestmark = [pytest.mark.guest, pytest.mark.long]

ROOT = Path(__file__).resolve().parents[2] / "scenarios"
FILES = [
    ROOT / "quickstart.yaml",
    ROOT / "own-module" / "own-module.yaml",
    *(
        file
        for file in sorted((ROOT / "tutorial").glob("*.yaml"))
        # Those of another kernel are of tests/kernels.
        if "kernel:" not in file.read_text().partition("version:")[2]
    ),
]

TRANSIENTS = {
    # How long the shares need until they are equal: the window begins when a flow joins.
    ("68-convergence.yaml", "joined"),
    # How long they need after the rate has doubled: the window begins with that event.
    ("68-convergence.yaml", "faster"),
    # What a list of ten seconds has: the frames of the film vary, and the queue with them.
    ("44-udp-replay.yaml", ""),
    # How long a page takes: the other flow has the link alone then.
    ("80-program.yaml", ""),
    # How long pages take: a client that ends by itself ends before the run.
    ("85-program-numbers.yaml", ""),
    # How long rounds take: after the last one nothing is sent.
    ("82-incast.yaml", ""),
    # What a program prints: it fetches its last page before the run ends.
    ("86-program-numbers.yaml", ""),
}
"""Windows whose subject is a transient, by file and window, each with its reason. No others may
drift, and these must."""


def cases() -> Iterator[object]:
    """Yield each file with the windows of ``measure`` that must be steady, and the others."""
    for file in FILES:
        transient = {window for name, window in TRANSIENTS if name == file.name}
        yield pytest.param(file, transient, id=str(file.relative_to(ROOT)))


def drifts(db: Path, window: str) -> list[str]:
    """Return the means that drift within a window."""
    with Store.open_read_only(db) as store:
        (experiment,) = experiments(store)
        summary = summarise(store, experiment, ValueSelection(window=window, parts=PARTS))
    means = [
        (row.variant, row.subject, name, metric)
        for row in summary.rows
        for name, metric in row.metrics.items()
    ]
    assert any(metric.drifting is not None for *_of, metric in means)
    return [
        f"{variant} {of} {name}: {metric.rise:+.0%}, steady from {metric.steady_from_s} s"
        for variant, of, name, metric in means
        if metric.drifting
    ]


@pytest.mark.parametrize(("file", "transient"), list(cases()))
def test_no_mean_of_an_example_drifts(
    file: Path, transient: set[str], kernel: GuestKernel, db: Path
) -> None:
    loaded = load(file)
    windows = [window.name for window in loaded.scenario.measure]
    assert transient <= {WHOLE, *windows}
    run_plan(plan(loaded), RunOptions(db, Guest(kernel)), Quiet())
    found = {window: drifts(db, window) for window in [WHOLE, *windows]}
    steady = {window: means for window, means in found.items() if window not in transient}
    assert not any(steady.values()), "run it longer, or lengthen its warm-up or window"
    assert all(found[window] for window in transient), "it is no transient: take it off the table"
