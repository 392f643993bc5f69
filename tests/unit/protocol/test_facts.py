"""Facts have the keys that the protocol declares for them."""

from __future__ import annotations

import json
import typing
from pathlib import Path
from typing import Any

import pytest

from orchestrator.decode import fact_schema
from orchestrator.protocol import probe_specification
from orchestrator.protocol.reports import facts, machine_facts, packet_facts

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


PARTS: list[tuple[Any, Any]] = [
    (facts.Channel, fact_schema._Channel),
    (facts.Interface, fact_schema._Interface),
    (machine_facts.Second, fact_schema._Second),
    (machine_facts.Lateness, fact_schema._Late),
]
"""Types of parts of facts, and what the decoder requires of them."""

UNREAD = {"sysctls", "route"}
"""Facts that only go into the provenance. The decoder takes any values of them."""


def test_every_fact_is_known_to_the_decoder() -> None:
    assert set(facts.FACTS) == set(fact_schema._FORMS)
    assert {name for name, form in fact_schema._FORMS.items() if form == dict[str, Any]} == UNREAD
    for name in UNREAD:
        assert not facts.FACTS[name].__required_keys__


@pytest.mark.parametrize(
    ("declared", "decoded"),
    [
        *((form, fact_schema._FORMS[name]) for name, form in facts.FACTS.items()
          if name not in UNREAD),
        *PARTS,
    ],
)  # fmt: skip
def test_the_decoder_requires_what_the_type_requires(declared: Any, decoded: Any) -> None:
    # A captured run has not every fact, so this is what keeps the types of the others right.
    required = {name for name, field in decoded.model_fields.items() if field.is_required()}
    assert required == declared.__required_keys__ - {"fact"}
    assert set(decoded.model_fields) <= declared.__required_keys__ | declared.__optional_keys__


@pytest.mark.parametrize(
    ("fact", "probe"),
    [
        (facts.RoundTrip, probe_specification.RoundTripProbe),
        (facts.RoundTripAfter, probe_specification.RoundTripProbe),
        (facts.Burst, probe_specification.BurstProbe),
        (facts.RoundTripEnd, probe_specification.EndProbe),
        (facts.Policer, probe_specification.PolicerProbe),
    ],
)
def test_a_fact_of_a_probe_has_the_settings_of_the_probe(fact: Any, probe: Any) -> None:
    settings = typing.get_type_hints(probe)
    assert settings.items() <= typing.get_type_hints(fact).items()
    assert probe.__required_keys__ <= fact.__required_keys__
    assert probe.__optional_keys__ <= fact.__optional_keys__


def test_a_probe_without_one_of_its_settings_is_no_fact() -> None:
    bursts = [fact for fact in captured() if fact["fact"] == "burst"]
    assert [burst["frame_bytes"] for burst in bursts] == [1514, 50]
    for burst in bursts:
        assert fact_schema.problem(burst) is None
        for name in typing.get_type_hints(probe_specification.BurstProbe):
            found = fact_schema.problem({key: value for key, value in burst.items() if key != name})
            assert found == f"fact burst, {name}: Field required"


def test_facts_are_found_by_form_and_values() -> None:
    (end,) = facts.of(captured(), facts.Channels, at="end")
    assert end["differences"] == []
    assert len(facts.of(captured(), facts.Channels)) == 2
    assert facts.of(captured(), facts.Policer) == []


def test_counts_of_packets_have_the_declared_form() -> None:
    channel = {"sent": 9, "entered": 9, "exited": 9, "received": 9, "queue": [9, 0, 0]}
    host = {"ip": 9, "transport": 9, "twice": 0, "delivered": 9}
    reading = {"channels": {"core:forward": channel}, "hosts": {"h1": host}}
    fact = {"fact": "packets", "at": "end", **reading, "again": reading}
    require_declared(fact, facts.Packets)
    require_declared(reading, packet_facts.PacketReading)
    require_declared(channel, packet_facts.ChannelPackets)
    require_declared(host, packet_facts.HostPackets)
    assert fact_schema.problem(fact) is None
    for place, wrong in (("queue", [9, 0]), ("policer", [9, 0, 0]), ("sent", -1), ("exited", 0.5)):
        broken = {**reading, "channels": {"core:forward": {**channel, place: wrong}}}
        assert fact_schema.problem({**fact, **broken}) is not None
        assert fact_schema.problem({**fact, "again": broken}) is not None


def packets(delay: list[int]) -> dict[str, Any]:
    channel = {"sent": 9, "entered": 9, "exited": 9, "received": 9,
               "queue": [9, 0, 0], "delay": delay}  # fmt: skip
    return {"fact": "packets", "at": "end", "channels": {"a:forward": channel}, "hosts": {}}


@pytest.mark.parametrize(
    ("delay", "reason"),
    [
        ([9, 0, 1], None),
        ([9, 0, -1], None),  # a packet came while a real machine's qdiscs were read
        ([9, 0, -(10**19)], "delay.2"),
        ([9, -1, 0], "delay.1"),
        ([9, 0], "delay"),
    ],
)
def test_packets_on_their_way_are_a_difference(delay: list[int], reason: str | None) -> None:
    problem = fact_schema.problem(packets(delay))
    assert problem is None if reason is None else reason in str(problem)
