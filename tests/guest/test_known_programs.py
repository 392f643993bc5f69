"""The programs of scenarios/programs in the guest: faithful runs, and equal bits for equal seeds.

``make test`` runs the quick ones twice in their short form. ``make test-long`` runs all of them for
a simulated minute, with two seeds.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest import Guest
from orchestrator.execution.runner import RunOptions, run_plan
from orchestrator.planning.plan import plan
from orchestrator.protocol.programs import SEARCH_PATH
from orchestrator.scenario import load
from results.documents import run_document
from results.store.store import Store
from tests.guest.conftest import QUICKSTART, Quiet

pytestmark = pytest.mark.guest

FOLDER = QUICKSTART.parent / "programs"

NEEDED = {
    "curl-parallel": ("curl", "python3"),
    "dns": ("dig", "dnsmasq"),
    "iperf3-udp": ("iperf3",),
    "nginx": ("curl", "nginx"),
    "ping": ("ping",),
    "rsync": ("rsync",),
    "ssh": ("curl", "python3", "scp", "sshd", "ssh-keygen"),
    "wget": ("python3", "wget"),
}
"""The programs of each scenario that ``tools/setup test`` installs."""
NEEDED_LONG = NEEDED | {"hls": ("ffmpeg", "python3")}
"""The same, with those that ``tools/setup long`` installs."""

METRICS: dict[str, dict[str, float]] = {
    "curl-parallel": {"connections": 5},
    "dns": {"connections": 0, "program_answers": 3, "program_query_time_s": 0.061},
    "hls": {"connections": 26, "program_segments": 25},
    "iperf3-udp": {"connections": 1},
    "nginx": {"connections": 1, "program_page_s": 1.894},
    "ping": {"connections": 0, "program_rtt_s": 0.0602, "program_lost_ratio": 0.0},
    "rsync": {"connections": 1, "program_received_bytes": 2_001_000},
    "ssh": {"connections": 2},
    "wget": {"connections": 1},
}
"""Of the short form; of hls, of the long one."""
_TOLERANCE = 0.03

SLOW = {"iperf3-udp"}
"""Those of which also the short form takes ten seconds of CPU."""


def runs_of(
    name: str, kernel: GuestKernel, folder: Path, times: int, reduced: bool, seed: int = 1
) -> list[dict[str, Any]]:
    """Run a scenario so often, and return the documents of its runs; each must be good."""
    missing = [
        program for program in NEEDED_LONG[name] if shutil.which(program, path=SEARCH_PATH) is None
    ]
    assert not missing, f"install {', '.join(missing)}: tools/setup {_set_up(name)} does"
    db = folder / "runs.db"
    planned = plan(load(FOLDER / f"{name}.yaml", [f"seed={seed}"], reduced=reduced))
    ids = [
        run_id
        for _time in range(times)
        for run_id in run_plan(planned, RunOptions(db, Guest(kernel)), Quiet())
    ]
    with Store.open_read_only(db) as store:
        runs: list[dict[str, Any]] = run_document.of_ids(store, ids)["runs"]
    for run in runs:
        assert run["status"] == "ok", run["error"]
        assert run["fidelity"]["verdict"] == "faithful"
        (flow,) = run["flows"]
        assert (flow["outcome"], flow["exit_status"]) == ("ended", 0), run["programs"]
    assert len({run["digest"] for run in runs}) == 1
    return runs


def _set_up(name: str) -> str:
    return "test" if name in NEEDED else "long"


def require_metrics(name: str, run: dict[str, Any]) -> None:
    """Require the metrics that the table has."""
    (flow,) = run["flows"]
    expected = METRICS[name]
    assert {key: flow[key] for key in expected} == pytest.approx(expected, rel=_TOLERANCE)


def test_all_scenarios_are_here() -> None:
    assert {file.stem for file in FOLDER.glob("*.yaml")} == set(NEEDED_LONG) == set(METRICS)


@pytest.mark.parametrize("name", sorted(set(NEEDED) - SLOW))
def test_a_known_program_runs_twice_with_equal_bits(
    name: str, kernel: GuestKernel, tmp_path: Path
) -> None:
    one, _two = runs_of(name, kernel, tmp_path, 2, reduced=True)
    require_metrics(name, one)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(NEEDED_LONG))
def test_a_minute_of_a_known_program_has_equal_bits_for_each_seed(
    name: str, kernel: GuestKernel, tmp_path: Path
) -> None:
    one, _two, _three = runs_of(name, kernel, tmp_path, 3, reduced=False)
    runs_of(name, kernel, tmp_path, 2, reduced=False, seed=2)
    if name not in NEEDED:
        require_metrics(name, one)
