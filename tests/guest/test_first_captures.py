"""A first run with `capture` is the run without, and keeps what zoom keeps of the same window."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from results.store.store import Store
from tests.support.run import orchestrator

pytestmark = pytest.mark.guest

SCENARIO = """\
version: 1
name: traced
duration: 2s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms, queue: {limit: 20p}}
  access: {rate: 100mbit, delay: 5ms}
  groups: [{name: a, hosts: 2}]
flows:
  - {name: mine, group: a, congestion: cubic, count: 2}
matrix:
  case:
    without: {sample.tcp: 100ms}
    with: {sample.tcp: 99ms, capture: {window: 1s..2s, flows: ["mine[0]"]}}
    cut: {sample.tcp: 98ms, capture: {limit: 1MiB}}
"""


def test_a_first_run_keeps_what_zoom_keeps_and_is_the_run_without(tmp_path: Path) -> None:
    file, db = tmp_path / "traced.yaml", tmp_path / "runs.db"
    file.write_text(SCENARIO)
    made = orchestrator("run", str(file), "--db", str(db), "--json", "--jobs", "2")
    assert made.exit_code == 1, made.stderr
    runs = json.loads(made.stdout)["runs"]
    without, traced, cut = runs
    assert [run["status"] for run in runs] == ["ok", "ok", "failed"]
    assert without["digest"] == traced["digest"]
    assert "the trace is larger than its limit of 1 MiB" in cut["error"]
    assert "give `capture.window` 0s.." in cut["error"]

    options = ["--flow", "mine[0]", "--db", str(db), "--quiet"]
    zoomed = orchestrator("zoom", without["id"], "--window", "1s..2s", *options)
    assert zoomed.exit_code == 0, zoomed.stderr
    with Store.open_read_only(db) as store:
        first, second = store.trace(traced["id"], 1), store.trace(without["id"], 1)
        assert store.traces(cut["id"]) == []
    assert first.capture == second.capture
    assert first.frame_bytes == second.frame_bytes
    for name, rows in first.tables.items():
        assert rows.tobytes() == second.tables[name].tobytes(), name
        assert len(rows) or name in ("drops", "hosts"), name
