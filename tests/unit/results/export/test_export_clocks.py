"""Captures on lab hosts have times by several clocks, which files and texts tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from orchestrator.cli import commands
from orchestrator.errors import StoreError
from orchestrator.recording.trace import HOSTS_DTYPE
from results.export import export
from results.runs.captures import captured_hosts, host_clocks
from results.store.store import Store
from results.store.stored import StoredRun
from results.traces.choice import TraceChoice
from tests.support.recordings import head, whole
from tests.support.traced_frames import received, sent, trace

LAB = {
    "hosts": {
        "m1": {"plays": ["s"], "clock": {"uncertainty_ns": 80_000, "drift_ns": -20_000}},
        "m2": {"plays": ["d"], "clock": {"uncertainty_ns": 300_000, "drift_ns": 5_000}},
        "m3": {"plays": [], "clock": {"uncertainty_ns": 1, "drift_ns": 0}},
    }
}
"""Lab hosts of a run, as far as their clocks are concerned."""

CLOCKS = {
    "s": "the clock of m1, within 0.1 ms of the controller's",
    "d": "the clock of m2, within 0.305 ms of the controller's",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def of_lab(store: Store, provenance: dict[str, object], with_hosts: bool = True) -> StoredRun:
    captured = trace([sent(1000, 1), received(8000, 1)])
    if with_hosts:
        captured.tables["hosts"] = np.array(
            [(0, 0, 10**10, 100, 0), (1, 0, 10**10, 50, 0)], HOSTS_DTYPE
        )
    run_id = store.begin(head(backend="lab"))
    base = whole()
    made = replace(base, provenance={**base.provenance, **provenance})
    store.finish(run_id, made, 1.0, evidence={"network": {"hosts": ["s", "d"]}})
    store.add_trace(run_id, captured)
    return store.load(run_id)


def said(store: Path, place: str) -> list[str]:
    words = ["export", "last", "--db", str(store), "--at", place, "--force"]
    done = CliRunner().invoke(commands, [*words, "-o", str(store.with_name("told.pcapng"))])
    assert done.exit_code == 0, done.stderr
    return done.stderr.splitlines()


def test_the_clocks_of_lab_hosts_are_in_the_file_and_told(store: Store, tmp_path: Path) -> None:
    run = of_lab(store, {"lab": LAB})
    for name, clock in CLOCKS.items():
        path = tmp_path / f"{name}.pcapng"
        export(run, "pcapng", path, choice=TraceChoice(place=name))
        told = f"frames that the host sent and received; times are by {clock}"
        assert told.encode() in path.read_bytes()
    lines = [f"times at {name} are by {clock}" for name, clock in CLOCKS.items()]
    db = tmp_path / "runs.db"
    assert said(db, "all") == lines
    assert said(db, "s") == []
    shown = CliRunner().invoke(commands, ["show", "last", "--db", str(db)])
    assert "packets\n" + "".join(f"  {line}\n" for line in lines) in shown.stdout


@pytest.mark.parametrize(
    ("provenance", "with_hosts"), [({}, True), ({"lab": LAB}, False), ({"lab": 7}, False)]
)
def test_what_is_by_one_clock_tells_of_none(
    store: Store, provenance: dict[str, object], with_hosts: bool
) -> None:
    run = of_lab(store, provenance, with_hosts)
    (head,) = run.traces
    assert host_clocks(run, captured_hosts(run, head)) == []


@pytest.mark.parametrize("lab", [{}, {"hosts": {"m1": {"plays": ["s"]}}}, {"hosts": []}, 7])
def test_clocks_that_are_not_stored_are_an_error(store: Store, lab: object) -> None:
    run = of_lab(store, {"lab": lab})
    (head,) = run.traces
    with pytest.raises(StoreError, match="the clocks of its lab hosts are not stored"):
        host_clocks(run, captured_hosts(run, head))
