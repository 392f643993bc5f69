"""The numbers of runs that means leave out are summed over variants, and said in words."""

from __future__ import annotations

from results.experiment import left_out
from results.experiment.left_out import LeftOut
from results.experiment.model import Summary, SummaryRow


def test_each_variant_of_a_summary_counts_once() -> None:
    first, second = LeftOut(unfaithful=1, failed=2), LeftOut(unfaithful=3)
    rows = [
        SummaryRow({"limit": "1bdp"}, None, None, 1, first, {}),
        SummaryRow({"limit": "1bdp"}, "a", None, 1, first, {}),
        SummaryRow({"limit": "2bdp"}, "a", None, 1, second, {}),
    ]
    assert Summary("x", "0" * 64, None, [], rows).left_out == LeftOut(unfaithful=4, failed=2)
    assert Summary("x", "0" * 64, None, [], []).left_out == LeftOut()


def test_reasons_without_runs_are_not_said() -> None:
    assert left_out.words(LeftOut(unfaithful=2, identical=1)) == "2 unfaithful, 1 identical"
    assert left_out.words(LeftOut()) == ""
