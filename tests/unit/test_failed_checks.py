"""A late machine explains rates that are too low, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.failed_checks import failed_of_themselves

LATE = ("scheduling_delay router", 0.0, 0.2)
LOW = ("backlogged_rate bottleneck:reverse", 3e6, 4e5)
HIGH = ("backlogged_rate bottleneck:forward", 3e6, 4e6)


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        ([], set()),
        ([LATE], set()),
        ([LATE, LOW], set()),
        ([LOW], {"backlogged_rate"}),
        ([LATE, LOW, HIGH], {"backlogged_rate"}),
        ([LATE, ("loss elsewhere", 0.2, 0.0)], {"loss"}),
    ],
)
def test_what_a_late_machine_explains(
    failed: list[tuple[str, float, float]], expected: set[str]
) -> None:
    checks: list[dict[str, Any]] = [{"name": "base_rtt", "ok": True}]
    checks += [
        {"name": name, "expected": due, "measured": found, "ok": False}
        for name, due, found in failed
    ]
    assert failed_of_themselves({"fidelity": {"checks": checks}}) == expected
