"""One try of one fault; ``make test-faults`` makes many of all kinds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from guest.build import GuestKernel

pytestmark = pytest.mark.guest
ROOT = Path(__file__).resolve().parents[2]


def test_after_a_fault_runs_resume_to_equal_digests_and_nothing_is_left(
    kernel: GuestKernel,
) -> None:
    kinds = "kill -9 controller and crash reaper"
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", "--tries", "1", "--seed", "1", "--only", kinds],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all resumed to equal digests, and nothing was left" in done.stdout
