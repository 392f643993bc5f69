"""Runs of the papers' committed summaries, drawn by chance, have their digests on this kernel.

Each day draws others. ``SUMMARIES_SEED`` draws those of another day again.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.reproduction.drawn_runs import draw
from results.claims import claim_folders
from results.claims.stated.loading import load_all
from results.store.store import Store
from tests.guest.conftest import Quiet

pytestmark = [pytest.mark.guest, pytest.mark.long]

CLAIMS = claim_folders.folder()
NUMBER = 10
LONGEST_S = 30.0
"""Estimated wall time: forty runs then take some seven minutes."""


@pytest.mark.parametrize("paper", sorted(load_all(CLAIMS)))
def test_drawn_runs_have_the_digests_of_the_summaries(
    kernel: GuestKernel, tmp_path: Path, paper: str
) -> None:
    seed = os.environ.get("SUMMARIES_SEED") or date.today().isoformat()
    drawn = draw(paper, NUMBER, seed, LONGEST_S, CLAIMS)
    assert len(drawn.runs) == NUMBER
    db = tmp_path / "runs.db"
    ids = run_plan(drawn.plan, RunOptions(db, Guest(kernel)), Quiet())
    with Store.open_read_only(db) as store:
        made = [store.load(run_id) for run_id in ids]
    wrong = [
        f"{each.target}: {dict(each.recorded.variant)}, repetition {each.recorded.repetition}: "
        f"{run.row.digest} ({run.row.status}), and {each.recorded.digest} is committed"
        for each, run in zip(drawn.runs, made, strict=True)
        if run.row.digest != each.recorded.digest
    ]
    assert not wrong, f"SUMMARIES_SEED={seed}: {wrong}"
