"""Numbers of programs' output, from what a test bed reports."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.decode import fact_schema
from orchestrator.decode.flows.program_reports import extracted_numbers
from orchestrator.errors import BedError
from orchestrator.recording.extracted import ExtractedNumber

WANTED = {"a": {"unit": "ms"}, "b": {"unit": "MB/s"}}


def flow(name: str, extract: Any = None) -> Any:
    """Return a planned flow of a program that asks for numbers."""
    parameters = {} if extract is None else {"extract": extract}
    return SimpleNamespace(name=name, engine="program", traffic_parameters=parameters)


def fact(name: str, **values: float | None) -> dict[str, Any]:
    """Return the fact of a flow's numbers."""
    numbers = {
        key: {"value": value, "matches": 3, "numbers": 0 if value is None else 2}
        for key, value in values.items()
    }
    return {"fact": "extracted", "flow": name, "values": numbers}


def test_numbers_are_in_the_unit_of_their_metric() -> None:
    found = extracted_numbers([flow("p", WANTED), flow("q")], [fact("p", a=12.5, b=2)])
    assert found == {"p": [
        ExtractedNumber("program_a_s", 0.0125, 3, 2),
        ExtractedNumber("program_b_bps", 16e6, 3, 2),
    ]}  # fmt: skip


def test_a_client_that_never_started_has_no_values() -> None:
    (numbers,) = extracted_numbers([flow("p", WANTED)], []).values()
    assert [(one.value, one.matches) for one in numbers] == [(None, 0), (None, 0)]


def test_a_value_that_is_not_finite_in_its_unit_is_none() -> None:
    (numbers,) = extracted_numbers([flow("p", WANTED)], [fact("p", a=None, b=1e308)]).values()
    assert [one.value for one in numbers] == [None, None]


@pytest.mark.parametrize(
    "facts",
    [
        [fact("p", a=1)],
        [fact("p", a=1, b=1, c=1)],
        [fact("p", a=1, b=1), fact("p", a=1, b=1)],
        [fact("q", a=1)],
    ],
)
def test_numbers_that_nobody_asked_for_are_malformed(facts: Any) -> None:
    with pytest.raises(BedError, match="extracted"):
        extracted_numbers([flow("p", WANTED), flow("q")], facts)


@pytest.mark.parametrize(
    "value", ["1", True, float("inf"), {}, []], ids=lambda value: type(value).__name__
)
def test_a_fact_with_another_value_is_refused(value: Any) -> None:
    assert fact_schema.problem(fact("p", a=1.5, b=None)) is None
    assert fact_schema.problem(fact("p", a=value)) is not None
