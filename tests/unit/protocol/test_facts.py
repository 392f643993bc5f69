"""Facts have the keys that the protocol declares for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.decode import fact_schema
from orchestrator.protocol import facts

CAPTURED = Path(__file__).parents[2] / "data" / "bed" / "facts.jsonl"


def captured() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CAPTURED.read_text("utf-8").splitlines()]


def require_declared(found: dict[str, Any], form: Any) -> None:
    optional: frozenset[str] = form.__optional_keys__
    required: frozenset[str] = form.__required_keys__
    assert required <= set(found) <= required | optional


@pytest.mark.parametrize("name", sorted({fact["fact"] for fact in captured()}))
def test_the_facts_of_a_captured_run_have_the_declared_keys(name: str) -> None:
    for fact in captured():
        if fact["fact"] == name:
            require_declared(fact, facts.FACTS[name])


def test_parts_of_captured_facts_have_the_declared_keys() -> None:
    for fact in facts.of(captured(), facts.Interfaces):
        for interface in fact["interfaces"].values():
            require_declared(dict(interface), facts.Interface)
    for start in facts.of(captured(), facts.Channels):
        for channel in start["channels"].values():
            require_declared(dict(channel), facts.Channel)
            require_declared(dict(channel["rate"]), facts.Rate)


def test_the_decoder_has_a_form_for_every_fact() -> None:
    assert set(facts.FACTS) <= set(fact_schema._FORMS)


def test_facts_are_found_by_form_and_values() -> None:
    (end,) = facts.of(captured(), facts.Channels, at="end")
    assert end["differences"] == []
    assert len(facts.of(captured(), facts.Channels)) == 2
    assert facts.of(captured(), facts.Policer) == []
