"""Runs of committed summaries are drawn by a seed, once each, and none that takes too long."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.planning.costs.estimate import wall_s
from orchestrator.reproduction.drawn_runs import draw
from results.claims import claim_folders

CLAIMS = claim_folders.folder()


@pytest.mark.slow
def test_a_seed_draws_the_same_runs_and_another_seed_others() -> None:
    digests = [
        [drawn.recorded.digest for drawn in draw("tibet", 10, seed, 30, CLAIMS).runs]
        for seed in ("a", "a", "b")
    ]
    assert len(set(digests[0])) == 10
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.slow
def test_a_drawn_run_is_the_recorded_one() -> None:
    drawn = draw("libra", 5, "a", 30, CLAIMS)
    for each, planned in zip(drawn.runs, drawn.plan.runs, strict=True):
        assert (planned.seed, planned.repetition) == (
            each.recorded.seed, each.recorded.repetition,
        )  # fmt: skip


@pytest.mark.slow
def test_runs_that_take_too_long_are_left_out_and_counted() -> None:
    drawn = draw("libra", 5, "a", 10, CLAIMS)
    assert drawn.too_long > 0
    assert max(map(wall_s, drawn.plan.runs)) <= 10


def with_summaries(folder: Path, *names: str) -> Path:
    """Copy the papers into a folder, with few of their summaries, and return their claims."""
    shutil.copytree(CLAIMS.parent, folder / "papers")
    claims = folder / "papers" / CLAIMS.name
    for summary in (claims / "measured").rglob("*.json"):
        if summary.name not in names:
            summary.unlink()
    return claims


@pytest.mark.slow
def test_a_run_that_two_experiments_have_is_left_out_and_counted(tmp_path: Path) -> None:
    claims = with_summaries(tmp_path, "logwestwood-L3-rack-quick.json", "logwestwood-L3-quick.json")
    drawn = draw("logwestwood", 10_000, "a", 1e9, claims)
    # The ablation has the queues of 25 and 300 packets in two lengths.
    assert drawn.ambiguous >= 12
    assert drawn.runs
    assert all(len(run.plan.runs) == 1 for run in drawn.runs)


def test_a_summary_with_a_run_that_no_scenario_has_is_an_error(tmp_path: Path) -> None:
    claims = with_summaries(tmp_path, "tibet-T10.3-quick.json")
    summary = claims / "measured" / "tibet-T10.3-quick.json"
    document = json.loads(summary.read_text())
    document["runs"] = [[*run[:3], run[3] + 1000, *run[4:]] for run in document["runs"]]
    summary.write_text(json.dumps(document))
    with pytest.raises(UsageError, match=r"T10\.3: its summary has a run .* seed 10\d\d"):
        draw("tibet", 1, "a", 30, claims)
