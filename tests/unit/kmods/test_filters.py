"""Filters get synthetic arrivals in a C program that has the modules' arithmetic."""

from __future__ import annotations

from pathlib import Path

import pytest

from kmods import filters
from orchestrator.errors import MachineError


@pytest.mark.slow
def test_each_filter_has_an_estimate_of_each_kind_of_arrivals() -> None:
    found = filters.biases((0, 1))
    expected = {(kind, name) for kind in filters.ARRIVALS for name in filters.FILTERS}
    assert set(found) == expected
    assert all(len(values) == 2 for values in found.values())


def test_seeds_change_random_arrivals_and_not_periodic_ones() -> None:
    for (kind, name), (first, second) in filters.biases((0, 1)).items():
        assert (first == second) == (kind == "periodic"), (kind, name)


def test_filtered_samples_of_two_intervals_in_turn_are_nine_eighths_of_the_rate() -> None:
    """Fig. 6 of the TIBET paper: (L/T + L/2T) / 2 over 2L/3T."""
    found = filters.biases((0, 1))
    assert found["periodic", "westwood1"][0] == pytest.approx((1 + 1 / 2) / 2 * 3 / 2, abs=1e-3)
    assert found["periodic", "tibet"][0] == pytest.approx(1.0, abs=1e-3)


def test_a_missing_compiler_is_named_with_its_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="there is no gcc") as raised:
        filters.biases((2,))
    assert "apt-get install gcc" in str(raised.value.fix)


def test_a_compiler_without_the_c_library_is_an_error_with_its_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gcc = tmp_path / "gcc"
    gcc.write_text("#!/bin/sh\necho 'stdio.h: No such file' >&2\nexit 1\n")
    gcc.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match=r"filters.c. was not compiled and run: stdio.h: No"):
        filters.biases((3,))
