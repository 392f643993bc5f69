"""Commands of the tests on other kernels, which `make test-kernels` fetches and builds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "scenarios"
SERIES = ("6.1", "6.12", "7.3")


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
