"""Run the tests of the core headers: with sanitizers, for branch coverage, and with mutants."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
TESTS = (
    "arith",
    "exponential",
    "westwoodplus",
    "logwestwood",
    "tibet",
    "westwood",
    "windows",
    "packetpair",
    "prr",
    "figures",
    "chosen",
    "sojourn",
    "prague",
    "prague_fallback",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test program, built with warnings as errors and both sanitizers."""
    build = tmp_path_factory.mktemp("core")
    made = subprocess.run(
        ["make", "-C", str(HERE), f"BUILD={build}", str(build / "test_core")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return build / "test_core"


@pytest.mark.parametrize("name", TESTS)
def test_a_header_agrees_with_its_reference_implementation(program: Path, name: str) -> None:
    ran = subprocess.run([program, name], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_program_runs_every_test_named_here(program: Path) -> None:
    ran = subprocess.run([program], capture_output=True, text=True, check=True)
    assert f"{len(TESTS)} tests," in ran.stdout


def test_an_unknown_test_is_an_error(program: Path) -> None:
    assert subprocess.run([program, "no_such"], check=False).returncode != 0


def test_the_tests_take_every_branch_of_the_headers(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(HERE / "coverage.py"), str(tmp_path / "coverage")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.long
def test_a_test_fails_for_every_changed_constant(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(HERE / "mutate.py"), str(tmp_path / "mutants")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
