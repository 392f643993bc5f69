"""The network at the end of a run, and the round trips that are measured then."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.compile.probes import probes
from orchestrator.planning.network_at_end import network_at_end
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.links.frames import ECHO_FRAME_BYTES
from orchestrator.scenario import load

SENDING_NS = 2 * (4_000 + 40_000 + 4_000)
"""Transmission of 50 bytes at 100, 10 and 100 Mbit/s, there and back."""
SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"


def planned(*overrides: str, scenario: str = "quickstart.yaml") -> RunSpec:
    (run,) = plan(load(SCENARIOS / scenario, overrides)).runs
    return run


def expected_ns(run: RunSpec) -> list[int]:
    return [each["expected_ns"] for each in probes(run)["round_trips_end"]]


def test_without_events_the_round_trips_are_those_before_traffic() -> None:
    run = planned()
    assert network_at_end(run) is run.network
    small = [one for one in probes(run)["round_trips"] if one["frame_bytes"] == ECHO_FRAME_BYTES]
    before, after = small, probes(run)["round_trips_end"]
    for first, last in zip(before, after, strict=True):
        assert {key: last[key] for key in first} == first  # type: ignore[literal-required]
        assert len(last["path"]) == 6


def test_the_last_event_of_a_channel_counts() -> None:
    events = (
        "events=[{at: 3s, link: bottleneck, delay: 70ms}, {at: 5s, link: bottleneck, delay: 4ms}]"
    )
    assert expected_ns(planned(events)) == [SENDING_NS + 88_000_000] * 2
    one_way = "events=[{at: 3s, link: bottleneck, delay: 70ms, direction: forward}]"
    assert expected_ns(planned(one_way)) == [SENDING_NS + 160_000_000] * 2


@pytest.mark.parametrize(
    "nothing",
    [
        "events=[{at: 3s, link: bottleneck, state: down}]",
        "topology.bottleneck.loss=99.9999%",
        "topology.bottleneck.loss={kind: markov, bad_loss: 100%}",
    ],
)
def test_a_path_that_lets_nothing_through_is_not_probed(nothing: str) -> None:
    assert expected_ns(planned(nothing)) == []


def test_a_trace_lets_nothing_through_after_its_end() -> None:
    assert expected_ns(planned("repetitions=1", scenario="tutorial/53-capacity-trace.yaml")) == []


def test_a_reroute_leads_over_its_path() -> None:
    run = planned(scenario="tutorial/52-reroute.yaml")
    (probe,) = probes(run)["round_trips_end"]
    pair = (probe["source"], probe["sink"])
    routes = [event.routes[pair] for event in run.events if pair in event.routes]
    assert tuple(probe["path"][: len(routes[-1])]) == routes[-1]
