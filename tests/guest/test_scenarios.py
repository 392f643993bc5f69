"""Every scenario that is shipped: valid, planned, and run in its short form.

``make test`` runs the first scenario of each paper and of the tutorial's topics that no other test
of guests is about. ``make test-long`` runs the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.documents import run_document
from results.store.store import Store
from tests.guest.conftest import Quiet

pytestmark = pytest.mark.guest

ROOT = Path(__file__).resolve().parents[2] / "scenarios"
FILES = [
    file
    for file in sorted(ROOT.rglob("*.yaml"))
    if "kind: live-path" not in file.read_text()
    and "kernel:" not in file.read_text().partition("version:")[2]
    and file.parent not in (ROOT / "papers" / "claims", ROOT / "programs", ROOT / "quic")
]
"""All but those over a real network (tests/unit/scenario/test_shipped_lab.py), those that name
another kernel (tests/kernels), those of programs (test_known_programs.py), and the one that needs
aioquic (test_quic.py). Claims are none."""
SHORT_S = 10.0
"""Estimated wall time from which a scenario needs a reduced form."""


def subject(file: Path) -> Path:
    """Return what files have in common of which one is run: a paper, a topic of the tutorial, or
    the changes between kernels.

    The tutorial's files are numbered by topics: those of 40 to 49 are on UDP.
    """
    if file.parent.name == "tutorial" and file.name[0] in EACH:
        return file
    if ROOT / "papers" in file.parents or file.parent == ROOT / "changes":
        return file.parent
    return file.parent / file.name[0] if file.parent.name == "tutorial" else file


EACH = "8"
"""The tutorial's topics of which each file has traffic of its own: programs and workloads."""

OF_OTHER_TESTS = "4567"
"""The tutorial's topics UDP, changing links, on-off, and BBR against CUBIC: their first digits."""

FIRST = {
    min(group)
    for subject_, group in itertools.groupby(FILES, key=subject)
    if subject_.parent.name != "tutorial" or subject_.name not in OF_OTHER_TESTS
}


def cases() -> Iterator[object]:
    """Yield each file, with its mark."""
    for file in FILES:
        marks = [] if file in FIRST else [pytest.mark.long]
        yield pytest.param(file, id=str(file.relative_to(ROOT)), marks=marks)


@pytest.mark.parametrize("file", list(cases()))
def test_every_scenario_is_faithful_in_its_short_form(
    file: Path, kernel: GuestKernel, db: Path
) -> None:
    whole = load(file)
    short = plan(whole)
    if whole.reducible:
        short = plan(load(file, reduced=True))
    assert short.describe().estimated_wall_s < SHORT_S, "give it a reduced form, or a shorter one"
    ids = run_plan(short, RunOptions(db, Guest(kernel)), Quiet())
    with Store.open_read_only(db) as store:
        runs = run_document.of_ids(store, ids)["runs"]
    assert len(runs) == len(short.runs)
    for run in runs:
        assert run["status"] == "ok", run["error"]
        checks = [check for check in run["fidelity"]["checks"] if check["ok"] is not True]
        assert run["fidelity"]["verdict"] == "faithful", checks
