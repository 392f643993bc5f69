"""Queries that fan out to the flows of an entry, which share rounds as incast does."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import ScenarioError
from tests.support.smallest import planned


def test_the_flows_of_an_entry_share_queries_without_end(tmp_path: Path) -> None:
    traffic = "{kind: rpc, request: 200B, response: {distribution: uniform, most: 2kB}, think: 5ms}"
    run = planned(tmp_path, traffic, hosts=3)
    assert len(run.flows) == 3
    for flow in run.flows:
        parameters = flow.traffic_parameters
        assert parameters["rounds"] == {
            "entry": 0,
            "number": None,
            "gap": {"distribution": "fixed", "mean": 5_000_000, "shape": None},
            "jitter": None,
        }
        assert parameters["request"]["mean"] == 200
        assert parameters["response"]["most"] == 2000  # each server's, not a part of it
        assert (flow.engine, flow.server, flow.connections) == ("exchanges", "source", "one")


def test_a_number_of_queries_ends_them(tmp_path: Path) -> None:
    run = planned(tmp_path, "{kind: rpc, queries: 7}")
    assert run.flows[0].traffic_parameters["rounds"]["number"] == 7


@pytest.mark.parametrize(
    ("traffic", "words"),
    [
        ("{kind: rpc, queries: 0}", "must be at least 1, not `0`"),
        ("{kind: rpc, rounds: 3}", "unknown key `rounds`"),
        ("{kind: query}", "did you mean `rpc`"),
    ],
)
def test_wrong_keys_are_errors(tmp_path: Path, traffic: str, words: str) -> None:
    with pytest.raises(ScenarioError) as error:
        planned(tmp_path, traffic)
    assert words in str(error.value)
