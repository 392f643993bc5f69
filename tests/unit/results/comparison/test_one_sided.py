"""What differs between two values in short: a part that one has alone is one element."""

from __future__ import annotations

from typing import Any

import pytest

from results.comparison.one_sided import OneSided, in_short
from results.comparison.runs import differing

FLOW = {"name": "mine", "group": "a", "congestion": {"name": "reno", "parameters": {}}}


def told(one: Any, other: Any) -> list[str]:
    return [
        f"{part.path} of {part.side}"
        if isinstance(part, OneSided)
        else f"{part.path}: {part.values[0]}, {part.values[1]}"
        for part in in_short(one, other)
    ]


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ({"flows": [FLOW]}, {"flows": [{**FLOW, "name": "yours"}]},
         ["flows.mine of 0", "flows.yours of 1"]),
        ({"flows": [FLOW, {"name": "b"}]}, {"flows": [FLOW]}, ["flows.b.name: b, None"]),
        ({"a": {}}, {}, ["a of 0"]),
        ({}, {"a": []}, ["a of 1"]),
        ({"a": {"b": {}}}, {}, ["a of 0"]),
        ({"a": {}}, {"a": {"b": 1, "c": 2}}, ["a.b: None, 1", "a.c: None, 2"]),
        ({"a": {}}, {"a": {"b": {"c": 1, "d": 2}}}, ["a.b of 1"]),
        ({"a": {"b": {"c": 1}}}, {"a": {}}, ["a.b.c: 1, None"]),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, ["a: 1, None", "b: 2, 3", "c: None, 4"]),
        ({"a": None}, {"a": {"b": 1, "c": 2}}, ["a.b: None, 1", "a.c: None, 2"]),
        ({"a": 5}, {"a": {"b": 1}}, ["a: 5, None", "a.b: None, 1"]),
        ({"a": [1, 2]}, {"a": [1, 2, 3]}, ["a.2: None, 3"]),
        ({"a": float("nan")}, {"a": float("nan")}, []),
        (FLOW, FLOW, []),
    ],
)  # fmt: skip
def test_a_part_that_one_has_alone_is_one_element(one: Any, other: Any, said: list[str]) -> None:
    assert told(one, other) == said
    paths = {part.path for part in in_short(one, other)}
    assert {part.path for part in in_short(other, one)} == paths


def test_whatever_differs_is_there_in_short_too() -> None:
    one = {"flows": [FLOW], "seed": 1, "links": {"core": {"loss": None}}}
    other = {"flows": [{**FLOW, "name": "yours"}], "seed": 2, "links": {"core": {"loss": 0.5}}}
    paths = [part.path for part in in_short(one, other)]
    for value in differing([one, other]):
        assert any(value.path == path or value.path.startswith(f"{path}.") for path in paths)
