"""Names, units and stored form of numbers of programs' output."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.recording.extracted import (
    MOST_NUMBERS,
    PREFIX,
    UNITS,
    ExtractedNumber,
    document,
    metric_name,
    of_provenance,
    parts_of,
    require_name,
)
from results.metrics import METRICS, any_scope, find, scopes_of
from results.metrics.base import metric


@pytest.mark.parametrize("unit", UNITS)
def test_a_metrics_name_says_the_unit_of_its_values(unit: str) -> None:
    name = metric_name("page_time_2", unit)
    assert parts_of(name) == ("page_time_2", UNITS[unit][0])
    found = find(name, "flow")
    assert found is not None
    assert (found.name, found.unit, found.title) == (name, UNITS[unit][0].unit, "Page time 2")
    assert found.can_be(-1.0)


def test_units_have_their_size() -> None:
    sizes = {unit: size for unit, (_stored, size) in UNITS.items()}
    assert sizes["ms"] == pytest.approx(1e-3)
    assert sizes["min"] == 60
    assert (sizes["mbit"], sizes["MB/s"], sizes["KiB"], sizes["%"]) == (1e6, 8e6, 1024, 0.01)


@pytest.mark.parametrize(
    "name",
    ["", "A", "1a", "a-b", "a__b", "a_", "_a", "ä", "a" * 41, "a b", "a.b"],
)
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no name of a number"):
        require_name(name)
    assert parts_of(PREFIX + name) is None


@pytest.mark.parametrize("name", ["time_s", "s", "bytes", "rate_bps", "gets_per", "loss_ratio"])
def test_a_name_that_ends_in_a_unit_is_refused(name: str) -> None:
    # Or two numbers could have one metric: `gets_per` in s and `gets` in /s.
    with pytest.raises(ValueError, match="which says a unit"):
        require_name(name)


def test_no_two_numbers_have_one_metric() -> None:
    names = ["a", "a_b", "per_a", "s_a"]
    made = {(name, UNITS[unit][0]): metric_name(name, unit) for name in names for unit in UNITS}
    assert len(set(made.values())) == len(made)


def test_only_flows_have_them_and_no_other_metric_has_such_a_name() -> None:
    assert scopes_of("program_a_s") == ["flow"]
    assert find("program_a_s", "run") is None
    assert not [name for name, _scope in METRICS if name.startswith(PREFIX)]
    with pytest.raises(TypeError, match="numbers of programs' output"):
        metric("program_a_s", unit="s", subject="flow", scopes=("flow",))
    with pytest.raises(KeyError):
        any_scope("program_A")


NUMBERS = {
    "pages": [ExtractedNumber("program_a_s", 0.5, 2, 1), ExtractedNumber("program_b", None, 0, 0)]
}


def test_numbers_are_read_as_they_are_stored() -> None:
    assert of_provenance({"extracted": document(NUMBERS)}) == NUMBERS
    assert of_provenance({}) == {}


def _with(**changes: Any) -> dict[str, Any]:
    return {"extracted": {"pages": [vars(NUMBERS["pages"][0]) | changes]}}


@pytest.mark.parametrize(
    "provenance",
    [
        {"extracted": []},
        {"extracted": {"pages": {}}},
        {"extracted": {"pages": [1]}},
        {"extracted": {"pages": [vars(NUMBERS["pages"][0])] * 2}},
        {"extracted": {"pages": [
            vars(NUMBERS["pages"][0]) | {"metric": f"program_a{number}"}
            for number in range(MOST_NUMBERS + 1)
        ]}},
        _with(more=1),
        _with(metric="goodput_bps"),
        _with(metric=1),
        _with(value=float("nan")),
        _with(value=True),
        _with(value="1"),
        _with(matches=-1),
        _with(numbers=1.0),
    ],
)  # fmt: skip
def test_what_has_another_form_is_refused(provenance: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="extracted"):
        of_provenance(provenance)
