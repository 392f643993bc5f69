"""The JSON Schema agrees with the models and describes every key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from orchestrator import units
from orchestrator.kinds.events import EVENTS
from orchestrator.kinds.losses import LOSSES
from orchestrator.kinds.queues import QUEUES
from orchestrator.kinds.registry import Kinds
from orchestrator.kinds.traffic import TRAFFIC
from orchestrator.scenario.model import Scenario
from orchestrator.scenario.schema import json_schema
from results.figures import FIGURES
from topologies import TOPOLOGIES

SCHEMA = json_schema()


def nodes(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            yield from nodes(value, f"{path}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from nodes(value, f"{path}/{index}")


def test_the_schema_has_its_dialect_and_the_top_level_keys() -> None:
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert list(SCHEMA["properties"]) == Scenario.keys()
    assert SCHEMA["required"] == ["version", "name", "duration", "topology", "flows"]
    assert SCHEMA["additionalProperties"] is False
    assert json.loads(json.dumps(SCHEMA, allow_nan=False)) == SCHEMA


def test_every_reference_resolves() -> None:
    references = [node["$ref"] for _, node in nodes(SCHEMA) if isinstance(node.get("$ref"), str)]
    assert len(references) > 10
    for reference in references:
        target: Any = SCHEMA
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]


def test_every_key_is_described() -> None:
    missing = [
        f"{path}/{key}"
        for path, node in nodes(SCHEMA)
        if node.get("type") == "object" and path != "/properties/matrix"
        for key, value in node.get("properties", {}).items()
        if not value.get("description")
    ]
    assert not missing


def test_no_mapping_allows_unknown_keys() -> None:
    open_ = [
        path
        for path, node in nodes(SCHEMA)
        if node.get("type") == "object" and "properties" in node
        if node.get("additionalProperties") is not False and path != "/properties/matrix"
    ]
    assert not open_


def test_defaults_are_written_as_a_scenario_has_them() -> None:
    assert SCHEMA["properties"]["warmup"]["default"] == "0s"
    assert SCHEMA["$defs"]["Sample"]["properties"]["tcp"]["default"] == "100ms"
    for path, node in nodes(SCHEMA):
        if isinstance(node.get("default"), str) and "pattern" in node:
            assert re.search(node["pattern"], node["default"]), path


@pytest.mark.parametrize(
    ("family", "kinds", "shorter"),
    [("topology", TOPOLOGIES, []), ("queue", QUEUES, []), ("traffic", TRAFFIC, []),
     ("event", EVENTS, []), ("figure", FIGURES, []),
     ("loss", LOSSES, ["Independent/properties/probability"])],
)  # fmt: skip
def test_every_kind_is_an_option_of_its_family(
    family: str, kinds: Kinds[Any], shorter: list[str]
) -> None:
    options = [option["$ref"] for option in SCHEMA["$defs"][family]["anyOf"]]
    names = [kind.__name__ for kind in kinds.found.values()]
    assert options == [f"#/$defs/{name}" for name in names + shorter]
    assert len(names) >= 2


def test_an_example_matches_its_pattern() -> None:
    seen = 0
    for path, node in nodes(SCHEMA):
        if "pattern" in node:
            for example in node.get("examples", []):
                assert re.search(node["pattern"], example), path
                seen += 1
    assert seen > 10


@pytest.mark.parametrize(
    ("definition", "key", "valid", "invalid"),
    [
        ("RateBothWays", "forward", ["10mbit", "1.5Mbit", "1e3kibit"], ["10", "10mbps", "10ms"]),
        ("DelayBothWays", "forward", ["10ms", "0s", "2min"], ["10", "-1ms", "10m"]),
        ("DropTail", "limit", ["100p", "1bdp", "2.5bdp(min)", "1kB"], ["100", "1bdp(max)", "p"]),
        ("Flow", "name", ["a", "west-wood_2"], ["1a", "", "a.b", "a" * 41]),
    ],
)
def test_a_pattern_matches_valid_texts_only(
    definition: str, key: str, valid: list[str], invalid: list[str]
) -> None:
    pattern = SCHEMA["$defs"][definition]
    pattern = pattern["anyOf"][1] if "anyOf" in pattern else pattern
    pattern = pattern["properties"][key]["pattern"]
    assert [bool(re.search(pattern, text)) for text in valid] == [True] * len(valid)
    assert [bool(re.search(pattern, text)) for text in invalid] == [False] * len(invalid)


def test_the_patterns_know_every_unit() -> None:
    text = json.dumps(SCHEMA)
    for unit in (*units.TIME_UNITS_NS, *units.SIZE_UNITS):
        assert unit in text


@pytest.mark.parametrize(
    ("definition", "key", "parse", "unit"),
    [
        ("RateBothWays", "forward", units.parse_rate, "mbit"),
        ("DelayBothWays", "forward", units.parse_time, "ms"),
        ("PolicerSpec", "burst", units.parse_size, "kB"),
        ("DropTail", "limit", units.parse_limit, "kB"),
        ("Web", "sessions", units.parse_frequency, "/s"),
        ("Web", "load", units.parse_link_rate, "%"),
        ("Independent", "probability", units.parse_chance, "%"),
        ("TwoState", "bad_loss", units.parse_probability, "%"),
    ],
)
def test_a_sign_is_taken_by_neither_the_schema_nor_the_loader(
    definition: str, key: str, parse: Callable[[object], object], unit: str
) -> None:
    whole = SCHEMA["$defs"][definition]
    whole = whole["anyOf"][-1] if "anyOf" in whole else whole
    written = json.dumps(whole["properties"][key])
    (pattern,) = (json.loads(each) for each in re.findall(r'"pattern": (".*?")[,}]', written))
    for number in ("1", "1e1", ".5", "5.", "0.25"):
        assert re.search(pattern, number + unit), number
        parse(number + unit)
    for number in ("+1", "-1", "+0", "-0", "-0.0", "+.5", "+1e1"):
        assert not re.search(pattern, number + unit), number
        with pytest.raises(units.UnitError):
            parse(number + unit)
