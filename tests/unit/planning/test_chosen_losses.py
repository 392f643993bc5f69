"""Lists of packets to lose against the flows of a scenario, and how a plan shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import ScenarioError
from orchestrator.planning.chosen_losses import ChosenLossDescription
from orchestrator.planning.plan import plan
from orchestrator.scenario import load
from results.drawing import draw

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
LIST = "{kind: list, packets: [3, 5-6], flow: %s, count: data}"


def refused(*overrides: str) -> str:
    with pytest.raises(ScenarioError) as error:
        plan(load(QUICKSTART, overrides))
    return "\n".join(map(str, error.value.faults))


def test_a_flow_that_does_not_exist_is_refused_with_those_that_do() -> None:
    names = [flow.name for flow in plan(load(QUICKSTART)).runs[0].flows]
    for where in ("topology.bottleneck.loss=%s", "events=[{at: 2s, link: bottleneck, loss: %s}]"):
        said = refused(where % (LIST % "westwoodd"))
        assert "there is no flow `westwoodd`" in said
        assert f"the flows are: {', '.join(names)}" in said


def test_a_flow_that_does_not_pass_is_refused_unless_paths_change() -> None:
    flows = plan(load(QUICKSTART)).runs[0].flows
    other = flows[1]
    edit = f"events=[{{at: 2s, link: {flows[0].source}, loss: {LIST % other.name}}}%s]"
    said = refused(edit % "")
    assert f"flow `{other.name}` does not pass {flows[0].source}:forward" in said
    assert "its data pass bottleneck:forward" in said
    assert plan(load(QUICKSTART, [edit % ", {at: 3s, reroute: {}}"])).runs


def test_a_plan_lists_the_packets() -> None:
    flow = plan(load(QUICKSTART)).runs[0].flows[0].name
    edit = f"topology.bottleneck.loss={{forward: {LIST % flow}, reverse: 0}}"
    planned = plan(load(QUICKSTART, [edit]))
    (described,) = planned.describe().runs
    assert described.chosen_losses == [
        ChosenLossDescription("bottleneck:forward", packets="3, 5-6", count="data", flow=flow)
    ]
    assert f"loses packets 3, 5-6 with data of {flow}" in draw(planned.runs[0].network, "title")
    assert plan(load(QUICKSTART)).describe().runs[0].chosen_losses == []


def test_lists_of_events_have_a_limit_together() -> None:
    """Of 256 ranges each, so 781 lists are allowed."""
    numbers = [2 * number for number in range(1, 257)]
    loss = f"{{kind: list, packets: {numbers}}}"
    event = f"events=[{{at: 1ms, every: 1ms, until: %s, link: bottleneck, loss: {loss}}}]"
    assert plan(load(QUICKSTART, [event % "390ms"])).runs  # in both directions
    assert "the lists of all events have more than 200000" in refused(event % "391ms")
