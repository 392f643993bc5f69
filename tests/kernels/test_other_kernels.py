"""Runs on other kernels than the default one: faithful, and with equal digests.

`make test-kernels` fetches and builds the kernels, which takes 5 minutes each where they are not
cached. The default kernel has all other tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "scenarios"
OTHERS = ("6.1", "7.3")
SERIES = ("6.1", "6.12", "7.3")
TRIED = (
    "quickstart.yaml",
    "tutorial/12-rtt-split.yaml",
    "tutorial/16-satellite.yaml",
    "tutorial/20-red.yaml",
    "tutorial/22-codel.yaml",
    "tutorial/24-fair-queueing.yaml",
    "tutorial/27-policer.yaml",
    "tutorial/23-pie.yaml",
    "tutorial/42-udp-on-off.yaml",
    "tutorial/50-rate-changes.yaml",
    "tutorial/63-request-response.yaml",
)

pytestmark = [pytest.mark.guest, pytest.mark.long]


def orchestrator(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orchestrator", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def document(*words: str) -> dict[str, Any]:
    """Return the document of ``run``, which must end well."""
    done = orchestrator("run", *words, "--quiet", "--json")
    assert done.returncode == 0, done.stderr
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def run(*words: str) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = document(*words)["runs"]
    return runs


def kernels(series: Sequence[str]) -> list[str]:
    return [word for one in series for word in ("--kernel", one)]


@pytest.mark.parametrize("name", TRIED)
def test_three_runs_on_each_kernel_are_faithful_and_equal_to_the_bit(
    name: str, tmp_path: Path
) -> None:
    db = ("--db", str(tmp_path / "runs.db"))
    first = document(str(SCENARIOS / name), *kernels(SERIES), *db)
    made = first["runs"]
    assert [each["variant"]["kernel"] for each in made] == list(SERIES)
    assert [each["fidelity"]["verdict"] for each in made] == ["faithful"] * len(SERIES)
    releases = [each["kernel"] for each in made]
    for release, series in zip(releases, SERIES, strict=True):
        assert release.startswith(f"{series}.")
    for _time in range(2):
        again = run("--verify", first["experiment"], *db)
        assert [each["digest"] for each in again] == [each["digest"] for each in made]
        assert [each["kernel"] for each in again] == releases


@pytest.mark.parametrize("series", OTHERS)
def test_our_modules_run_on_each_kernel(series: str, tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text(
        (SCENARIOS / "tutorial/12-rtt-split.yaml").read_text()
        + "matrix: {flows.0.congestion: [westwoodplus, logwestwood, tibet, fast]}\n"
    )
    made = run(str(file), "--kernel", series, "--db", str(tmp_path / "runs.db"))
    assert [each["fidelity"]["verdict"] for each in made] == ["faithful"] * 4
    assert len({each["digest"] for each in made}) == 4


def test_what_a_kernel_lacks_is_an_error_with_the_kernels_that_have_it(tmp_path: Path) -> None:
    words = ("run", "scenarios/quickstart.yaml", "--db", str(tmp_path / "runs.db"))
    done = orchestrator(*words, "--kernel", "7.3", "--set", "tcp.recovery=dupack")
    assert done.returncode == 2
    assert "has no recovery by duplicate ACKs" in done.stderr
    assert "kernels before 6.17 do" in done.stderr
    lossy = ("run", "scenarios/tutorial/30-random-loss.yaml", *words[2:])
    done = orchestrator(*lossy, "--kernel", "6.1")
    assert done.returncode == 2
    assert "cannot seed the random losses" in done.stderr
    assert "kernels from 6.6 on do" in done.stderr
    done = orchestrator(*words, "--kernel", "5.4")
    assert done.returncode == 4
    assert "orchestrator guest fetch 5.4" in done.stderr


def test_a_run_of_another_kernel_can_be_looked_at_closely(tmp_path: Path) -> None:
    db = ("--db", str(tmp_path / "runs.db"))
    (made,) = run("scenarios/quickstart.yaml", "--kernel", "6.1", *db)
    done = orchestrator("zoom", made["id"], "--window", "12s..12.5s", *db)
    assert done.returncode == 0, done.stderr
    shown = json.loads(orchestrator("show", made["id"], "--json", *db).stdout)
    assert shown["runs"][0]["traces"]
