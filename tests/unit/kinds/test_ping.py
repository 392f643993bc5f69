"""Flows of ICMP echoes: what a scenario may say of them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.compile.bounds import of
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.errors import ScenarioError
from orchestrator.planning.costs.estimate import wall_s
from orchestrator.planning.plan import plan
from orchestrator.scenario.loader import load_values
from tests.support.smallest import planned


def test_a_ping_has_no_congestion_control_and_sends_evenly(tmp_path: Path) -> None:
    run = planned(tmp_path, "{kind: ping, interval: 10ms, number: 3}", hosts=2)
    assert [flow.name for flow in run.flows] == ["one[0]", "one[1]"]
    flow = run.flows[0]
    assert (flow.transport, flow.congestion, flow.engine) == ("icmp", None, "ping")
    assert flow.traffic_parameters == {
        "interval_ns": 10_000_000, "packet_bytes": 84, "number": 3, "rate_bps": 8 * 98 * 100,
    }  # fmt: skip
    assert bed_spec(run, 2**30)["flows"][0]["congestion"] is None
    assert wall_s(run) > 0
    (again,) = plan(load_values(run.resolved, {})).runs
    assert again.flows == run.flows


def test_its_output_is_bounded_by_the_number_of_echoes(tmp_path: Path) -> None:
    seldom, often = (
        of(planned(tmp_path, f"{{kind: ping, interval: {interval}}}")).file_bytes["transfers.bin"]
        for interval in ("1s", "1ms")
    )
    assert often - seldom >= 4 * 32 * 2 * (20_000 - 20)


@pytest.mark.parametrize(
    ("traffic", "more", "words"),
    [
        ("{kind: ping}", "congestion: bbr, ", "uses ICMP, which has no congestion control"),
        ("{kind: ping, interval: 0.5ms}", "", "1ms"),
        ("{kind: ping, packet_size: 27B}", "", "a packet has 28B (IP, ICMP) to the smallest MTU"),
        ("{kind: ping, packet_size: 1501B}", "", "packets of 1501B on a path with an MTU of 1500"),
        ("{kind: ping, count: 3}", "", "unknown key `count`"),
        ("{kind: icmp}", "", "did you mean `ping`"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, traffic: str, more: str, words: str) -> None:
    with pytest.raises(ScenarioError) as error:
        planned(tmp_path, traffic, more)
    assert words in str(error.value)


def test_its_packets_cannot_be_named(tmp_path: Path) -> None:
    traffic = "{kind: ping}"
    with pytest.raises(ScenarioError, match="ICMP has no ports"):
        planned(tmp_path, traffic, "", "capture={window: 1s..2s, trace: [packets], flows: [one]}")
    with pytest.raises(ScenarioError, match="ICMP has no ports"):
        planned(
            tmp_path, traffic, "", "topology.bottleneck.loss={kind: list, packets: [1], flow: one}"
        )
