"""Custom topologies: routes, asymmetric links, and every fault at its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.errors import ScenarioError
from orchestrator.planning.plan import RunSpec, plan
from orchestrator.scenario import load
from topologies.custom import Custom

RING = Path(__file__).parents[3] / "scenarios" / "tutorial" / "13-custom-ring.yaml"


def link(a: str, b: str, **more: Any) -> dict[str, Any]:
    return {"between": [a, b], "delay": "1ms", **more}


def data(**changed: Any) -> dict[str, Any]:
    return {
        "kind": "custom",
        "hosts": ["h", "k"],
        "routers": ["r", "s"],
        "links": [link("h", "r"), link("r", "s"), link("s", "k")],
        "groups": [{"name": "g", "sources": ["h"], "sinks": ["k"]}],
        **changed,
    }


def test_the_graph_has_the_written_nodes_and_links() -> None:
    queued = link("r", "s", rate={"forward": "10mbit", "reverse": "1mbit"}, queue={"limit": "9p"})
    spec = Custom.model_validate(data(links=[link("h", "r"), queued, link("s", "k", name="last")]))
    layout = spec.layout(1)
    assert (layout.network.hosts, layout.network.switches) == (("h", "k"), ("r", "s"))
    assert [(one.name, one.a, one.b) for one in layout.network.links] == [
        ("h-r", "h", "r"), ("r-s", "r", "s"), ("last", "s", "k"),
    ]  # fmt: skip
    # what is given a queue is a bottleneck
    assert layout.network.bottlenecks == ("r-s",)
    middle = layout.network.links[1]
    assert (middle.forward.rate_bps, middle.reverse.rate_bps) == (10_000_000, 1_000_000)
    assert [middle.forward.is_bottleneck, middle.reverse.is_bottleneck] == [True, True]
    assert layout.queues["r-s:reverse"].where[:3] == ("topology", "links", 1)
    written = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert Custom.model_validate(written) == spec


def test_one_host_may_be_the_sink_of_all() -> None:
    hosts = ["a", "b", "server"]
    links = [link(host, "r") for host in hosts]
    groups = [{"name": "up", "sources": ["a", "b"], "sinks": ["server"]}]
    network = (
        Custom.model_validate(data(hosts=hosts, routers=["r"], links=links, groups=groups))
        .layout(1)
        .network
    )
    assert network.group("up").sources == ("a", "b")
    assert network.group("up").sinks == ("server", "server")


@pytest.mark.parametrize(
    ("changed", "path", "why"),
    [
        ({"hosts": ["h", "h", "k"]}, ("hosts", 1), "node `h` is given twice"),
        ({"routers": ["r", "s", "k"]}, ("routers", 2), "node `k` is given twice"),
        (
            {"links": [link("h", "r"), link("r", "s"), link("s", "k"), link("r", "t")]},
            ("links", 3, "between", 1),
            "there is no node `t`; defined: h, k, r, s",
        ),
        (
            {"links": [link("h", "r"), link("r", "s"), link("s", "k"), link("r", "r")]},
            ("links", 3, "between"),
            "two different nodes",
        ),
        (
            {"links": [link("h", "r"), link("r", "s"), link("s", "k"), link("h", "s")]},
            ("hosts", 0),
            "host `h` has 2 links: a host has one",
        ),
        ({"hosts": ["h", "k", "idle"]}, ("hosts", 2), "host `idle` has no links: a host has one"),
        (
            {"links": [link("h", "r"), link("r", "s"), link("s", "k"), link("r", "s")]},
            ("links", 3, "name"),
            "there are two links `r-s`: give one another `name`",
        ),
        (
            {"groups": [{"name": "g", "sources": ["h"], "sinks": ["nobody"]}]},
            ("groups", 0, "sinks", 0),
            "there is no host `nobody`; defined: h, k",
        ),
        (
            {"groups": [{"name": "g", "sources": ["r"], "sinks": ["k"]}]},
            ("groups", 0, "sources", 0),
            "there is no host `r`",
        ),
        (
            {"groups": [{"name": "g", "sources": ["h", "k"], "sinks": ["k", "h", "k"]}]},
            ("groups", 0, "sinks"),
            "2 sources and 3 sinks: give equal numbers, or one of either",
        ),
        (
            {"groups": [{"name": "g", "sources": ["h"], "sinks": ["h"]}]},
            ("groups", 0),
            "host `h` is its own sink",
        ),
        (
            {"links": [link("h", "r"), link("r", "s", queue={"limit": "9p"}), link("s", "k")]},
            ("links", 1, "queue"),
            "a queue needs a rate",
        ),
    ],
)
def test_a_fault_is_reported_at_its_place(
    changed: dict[str, Any], path: tuple[Any, ...], why: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        Custom.model_validate(data(**changed))
    (error,) = refused.value.errors()
    assert (error["loc"], why in error["msg"]) == (path, True), error


def test_several_faults_are_found_at_once() -> None:
    broken = data(
        hosts=["h", "k", "h"],
        groups=[{"name": "g", "sources": ["x"], "sinks": ["k"]}],
    )
    with pytest.raises(ValidationError) as refused:
        Custom.model_validate(broken)
    assert [error["loc"] for error in refused.value.errors()] == [
        ("hosts", 2),
        ("groups", 0, "sources", 0),
    ]


def run(*overrides: str) -> RunSpec:
    return plan(load(RING, overrides)).runs[0]


def test_flows_take_the_shorter_way_round_a_ring() -> None:
    flow = run().flows[0]
    assert flow.path == ("h1-r1:forward", "r5-r1:reverse", "r4-r5:reverse", "r3-r4:reverse",
                         "r3-h3:forward")  # fmt: skip
    assert flow.propagation_rtt_s == pytest.approx(0.022)
    # Three links there and three back transmit 50 bytes at 10 Mbit/s; the hosts' have no rate.
    assert flow.base_rtt_s == pytest.approx(0.022 + 6 * 50 * 8 / 10e6)
    # when that way gets longer, it goes round the other one
    other = run("topology.links.3.delay=50ms").flows[0]
    assert [name.rpartition(":")[0] for name in other.path[1:-1]] == ["r1-r2", "r2-r3"]


def test_the_reverse_path_may_differ() -> None:
    flow = run("topology.links.3.delay={forward: 50ms, reverse: 2ms}").flows[0]
    assert flow.path[1:-1] == ("r5-r1:reverse", "r4-r5:reverse", "r3-r4:reverse")
    assert flow.ack_path[1:-1] == ("r2-r3:reverse", "r1-r2:reverse")


def test_a_flow_between_unconnected_parts_is_a_fault_at_its_line(tmp_path: Path) -> None:
    lines = RING.read_text().splitlines()
    kept = [line for line in lines if "[r2, r3]" not in line and "[r5, r1]" not in line]
    broken = tmp_path / "broken.yaml"
    broken.write_text("\n".join(kept))
    with pytest.raises(ScenarioError) as refused:
        plan(load(broken))
    (fault,) = refused.value.faults
    assert fault.message == "no path from h1 to h3"
    assert "group: across" in kept[fault.line - 1]
    assert kept[fault.line - 1][fault.column - 1 :].startswith("across")
