"""The numbers of runs that means leave out are summed over variants, and said in words."""

from __future__ import annotations

from typing import Any

from results import left_out
from results.left_out import LeftOut


def test_each_variant_of_a_summary_counts_once() -> None:
    first, second = LeftOut(unfaithful=1, failed=2).numbers, LeftOut(unfaithful=3).numbers
    rows: list[dict[str, Any]] = [
        {"variant": {"limit": "1bdp"}, "flow": None, "left_out": first},
        {"variant": {"limit": "1bdp"}, "flow": "a", "left_out": first},
        {"variant": {"limit": "2bdp"}, "flow": "a", "left_out": second},
    ]
    assert left_out.of_rows(rows) == {"unfaithful": 4, "failed": 2, "identical": 0}
    assert left_out.of_rows([]) == LeftOut().numbers


def test_reasons_without_runs_are_not_said() -> None:
    assert left_out.words(LeftOut(unfaithful=2, identical=1).numbers) == "2 unfaithful, 1 identical"
    assert left_out.words(LeftOut().numbers) == ""
