"""A guest whose kernel holds its processes by seccomp: the same runs, to the bit, in less time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.backends.guest import stubs
from tests.support.other_kernels import ROOT, SCENARIOS, document, orchestrator, run

KERNEL = "7.3"
TRIED = (
    "quickstart.yaml",
    "tutorial/22-codel.yaml",
    "tutorial/42-udp-on-off.yaml",
    "tutorial/63-request-response.yaml",
)

pytestmark = [pytest.mark.guest, pytest.mark.long]


@pytest.mark.parametrize("name", TRIED)
def test_digests_are_those_of_processes_held_by_ptrace(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (str(SCENARIOS / name), "--kernel", KERNEL, "--db", str(tmp_path / "runs.db"))
    made = {}
    for held_by, switch in (("seccomp", ""), ("ptrace", "off")):
        monkeypatch.setenv(stubs.SWITCH, switch)
        made[held_by] = run(*words)
        shown = orchestrator("show", made[held_by][0]["id"], *words[-2:])
        assert ("kernel processes: held by seccomp" in shown.stdout) == (held_by == "seccomp")
    for runs in made.values():
        assert {one["fidelity"]["verdict"] for one in runs} == {"faithful"}
    assert [one["digest"] for one in made["ptrace"]] == [one["digest"] for one in made["seccomp"]]


def test_a_run_is_verified_and_looked_at_closely(tmp_path: Path) -> None:
    """The trace's modules and larger memory are in the guest, too."""
    db = ("--db", str(tmp_path / "runs.db"))
    first = document("scenarios/quickstart.yaml", "--kernel", KERNEL, *db)
    (again,) = run("--verify", first["experiment"], *db)
    assert again["digest"] == first["runs"][0]["digest"]
    done = orchestrator("zoom", again["id"], "--window", "12s..12.5s", *db)
    assert done.returncode == 0, done.stderr


def test_commands_about_kernels_tell_how_they_hold_processes() -> None:
    for series, held_by in (("6.12", "ptrace"), (KERNEL, "seccomp")):
        told = orchestrator("guest", "info", series)
        assert f"processes held by {held_by}\n" in told.stdout
        info = json.loads(orchestrator("guest", "info", series, "--json").stdout)
        assert info["stubs"] == held_by


def test_a_network_shell_is_as_before() -> None:
    words = [sys.executable, "-m", "orchestrator", "shell", "scenarios/quickstart.yaml", "a_src0"]
    done = subprocess.run(
        [*words, "--kernel", KERNEL],
        input="sleep 3\nuname -r\n",
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert f"{KERNEL}." in done.stdout
