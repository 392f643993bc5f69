"""``report`` and ``compare`` say which flows the network ended, in how many runs of a variant."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.application.report import experiment_section
from orchestrator.application.report.section_figures import ReportSelection
from orchestrator.cli import commands
from results.experiment.experiments import experiments
from results.store.store import Store
from tests.support.recordings import flow, head, queue, recording

LIMIT = "topology.bottleneck.queue.limit"
ROWS = [
    {"time_s": time_s, "flow": index, "endpoint": end, "rtt_us": 100_000}
    for time_s in (0.0, 10.0) for index in (0, 1) for end in (0, 1)
]  # fmt: skip


def stored(store: Store, limit: str, repetition: int, outcome: str) -> str:
    """Store a run whose first flow ended so, and return its id."""
    how = {} if outcome == "ended" else {"outcome": outcome, "failed_s": (4.0,), "ended_s": 4.0}
    flows = [flow("a", **how), flow("b")]
    known = {"experiment": "trial", "experiment_sha256": "e1", "variant": {LIMIT: limit}}
    run_id = store.begin(
        head(**known, repetition=repetition, seed=repetition + 1, windows=(), warmup_s=0.0)
    )
    made = recording(ROWS, [], flows, [queue()], digest=f"{limit} {repetition}")
    store.finish(run_id, made, 1.0)
    return run_id


@pytest.mark.slow
def test_failed_flows_are_said_in_one_line_for_each_variant(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Store(path) as store:
        ids = [
            stored(store, limit, repetition, outcome)
            for limit, outcomes in (
                ("10p", ("ended", "timed_out", "timed_out")),
                ("20p", ("ended", "ended", "ended")),
                ("30p", ("reset", "ended", "never_connected")),
            )
            for repetition, outcome in enumerate(outcomes)
        ]
        (trial,) = experiments(store)
        notes = experiment_section.section(store, trial, ReportSelection()).notes
    said = [note for note in notes if "onnections failed" in note]
    assert [note.partition("onnections failed")[2] for note in said] == [
        " in 2 of 3 runs: a timed_out in 2.",
        " in 2 of 3 runs: a reset in 1, a never_connected in 1.",
    ]
    assert ["10" in said[0], "30" in said[1]] == [True, True]
    shown = CliRunner().invoke(commands, ["compare", *ids, "--db", str(path)])
    lines = [line for line in shown.stdout.splitlines() if ": connections failed in " in line]
    assert [line.partition(": ")[2] for line in lines] == [
        "connections failed in 2 of 3 runs: a timed_out in 2",
        "connections failed in 2 of 3 runs: a reset in 1, a never_connected in 1",
    ]
    shown = CliRunner().invoke(commands, ["compare", *ids[:2], "--db", str(path)])
    assert f"{ids[1]}: connections failed in 1 of 1 run: a timed_out in 1\n" in shown.stdout
    assert f"{ids[0]}: connections" not in shown.stdout
