"""Graph topologies: names, values of edges, hosts, routes, and every fault at its place."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from orchestrator.backends.local import needs
from orchestrator.compile.schedule import planned_steps
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.errors import ScenarioError
from orchestrator.planning.network import network_json
from orchestrator.planning.plan import RunSpec, plan
from orchestrator.protocol.specification import RouteStep
from orchestrator.scenario import load
from topologies.edge_values import FIBRE_KM_PER_S, great_circle_km

TUTORIAL = Path(__file__).parents[3] / "scenarios" / "tutorial"
BACKBONE = TUTORIAL / "19-backbone.yaml"

NODES = [{"id": "a"}, {"id": "b"}, {"id": "c"}]
EDGES = [{"source": "a", "target": "b"}, {"source": "c", "target": "b"}]


def scenario(topology: str, groups: str = "[{name: g, from: a, to: c}]", more: str = "") -> str:
    return f"""\
version: 1
name: graph
duration: 5s
topology:
  kind: graph
  file: net.json
  {topology}
  groups: {groups}
flows: [{{name: one, group: g}}]
{more}"""


LINES = "rate: 10mbit\n  delay: 1ms"


def write(folder: Path, text: str, **graph: Any) -> Path:
    whole = {"nodes": NODES, "edges": EDGES, **graph}
    (folder / "net.json").write_text(json.dumps(whole))
    file = folder / "x.yaml"
    file.write_text(text)
    return file


def planned(folder: Path, text: str = scenario(LINES), *sets: str, **graph: Any) -> RunSpec:
    (run,) = plan(load(write(folder, text, **graph), sets)).runs
    return run


def faults(folder: Path, text: str = scenario(LINES), **graph: Any) -> list[str]:
    with pytest.raises(ScenarioError) as refused:
        planned(folder, text, **graph)
    return [f"{fault.line}:{fault.column}: {fault.message}" for fault in refused.value.faults]


def test_edges_are_links_with_a_queue_and_hosts_are_at_nodes(tmp_path: Path) -> None:
    access = "access: {rate: 1gbit, delay: {from: 1ms, to: 2ms}}"
    groups = f"[{{name: g, from: a, to: c, hosts: 2, {access}, sink_access: {{delay: 3ms}}}}]"
    run = planned(tmp_path, scenario(LINES, groups))
    network = run.network
    assert network.switches == ("a", "b", "c")
    assert network.bottlenecks == ("a-b", "b-c")  # in the order of the file's nodes
    first = network.links[0].forward
    assert (first.rate_bps, first.delay_s, first.is_bottleneck) == (10_000_000, 0.001, True)
    hosts = [(link.name, link.a, link.b, link.forward.delay_s) for link in network.links[2:]]
    assert hosts == [
        ("g_src0", "g_src0", "a", 0.001),
        ("g_src1", "g_src1", "a", 0.002),
        ("g_dst0", "c", "g_dst0", 0.003),
        ("g_dst1", "c", "g_dst1", 0.003),
    ]
    assert run.flows[0].path == ("g_src0:forward", "a-b:forward", "b-c:forward", "g_dst0:forward")
    assert run.resolved["topology"]["file"] == "net.json"
    assert set(run.files) == {"net.json"}


def test_hosts_need_no_access_link(tmp_path: Path) -> None:
    access = planned(tmp_path).network.links[2].forward
    assert (access.rate_bps, access.delay_s) == (None, 0.0)


def test_values_come_from_attributes(tmp_path: Path) -> None:
    text = scenario(
        "rate: {attribute: speed, unit: mbit, default: 5mbit}\n"
        "  delay: {attribute: ms, unit: ms, default: 7ms}\n  queue: {limit: 20p}\n"
        "  links: [{name: b-c, delay: 9ms, loss: 1%, queue: {limit: 30p}}]"
    )
    edges = [
        {"source": "a", "target": "b", "speed": 2.5, "ms": 1.2345678},
        {"source": "b", "target": "c", "speed": "1gbit", "ms": "3"},
        {"source": "a", "target": "c"},
    ]
    links = planned(tmp_path, text, edges=edges).network.links[:3]
    values = {link.name: (link.forward.rate_bps, link.reverse.delay_s) for link in links}
    assert values == {
        "a-b": (2_500_000, 0.001234568), "a-c": (5_000_000, 0.007), "b-c": (10**9, 0.009),
    }  # fmt: skip
    queues = {link.name: link.forward.queue_whole_packets for link in links}
    assert queues == {"a-b": 20, "a-c": 20, "b-c": 30}
    assert {link.name: link.forward.mean_loss for link in links}["b-c"] == 0.01


def test_delays_come_from_coordinates(tmp_path: Path) -> None:
    # London and Paris: 343.5 km by the haversine formula with these coordinates.
    london, paris = (51.50853, -0.12574), (48.85341, 2.3488)
    assert great_circle_km(london, paris) == pytest.approx(343.6, abs=0.3)
    assert great_circle_km((0.0, 0.0), (0.0, 180.0)) == pytest.approx(20015.1, abs=0.1)
    assert pytest.approx(199_861.639) == FIBRE_KM_PER_S
    nodes = [
        {"id": "a", "lat": london[0], "lon": london[1]},
        {"id": "b", "lat": str(paris[0]), "lon": paris[1]},
        {"id": "c"},
    ]
    text = scenario("rate: 10mbit\n  delay: {latitude: lat, longitude: lon, default: 2ms}")
    links = planned(tmp_path, text, nodes=nodes).network.links
    delay_s = great_circle_km(london, paris) / FIBRE_KM_PER_S
    assert links[0].forward.delay_s == pytest.approx(delay_s, abs=0.5e-6)
    assert links[1].forward.delay_s == 0.002
    wrong = faults(tmp_path, text, nodes=[{"id": "a", "lat": 91, "lon": 0}, *nodes[1:]])
    assert wrong == ["8:10: link `a-b` of `net.json`: lat `91` is not from -90 to 90 degrees"]


def test_a_directed_graph_has_two_edges_for_each_link(tmp_path: Path) -> None:
    text = scenario("rate: {attribute: bps, unit: bit}\n  delay: 1ms")
    edges = [
        {"source": "b", "target": "a", "bps": 8000},
        {"source": "a", "target": "b", "bps": 16000},
        {"source": "b", "target": "c", "bps": 24000},
        {"source": "c", "target": "b", "bps": 32000},
    ]
    text = text.replace("delay: 1ms", "delay: 1ms\n  queue: {limit: 9p}")
    first, second = planned(tmp_path, text, edges=edges, directed=True).network.links[:2]
    assert (first.name, first.forward.rate_bps, first.reverse.rate_bps) == ("a-b", 16000, 8000)
    assert (second.forward.rate_bps, second.reverse.rate_bps) == (24000, 32000)
    (wrong,) = faults(tmp_path, text, edges=edges[:3], directed=True)
    assert "its edge from `b` to `c` has none back" in wrong


def test_parallel_edges_have_names_of_their_own(tmp_path: Path) -> None:
    run = planned(tmp_path, edges=[*EDGES, EDGES[0]])
    assert run.network.bottlenecks == ("a-b", "a-b-2", "b-c")


def test_nodes_are_named_by_an_attribute_or_their_ids(tmp_path: Path) -> None:
    nodes = [{"id": n, "city": city} for n, city in enumerate(("São Paulo", "2nd", "Ur"))]
    edges = [{"source": 0, "target": 1}, {"source": 1, "target": 2}]
    text = scenario(f"names: city\n  {LINES}", "[{name: g, from: Sao_Paulo, to: 2}]")
    network = planned(tmp_path, text, nodes=nodes, edges=edges).network
    assert network.switches == ("Sao_Paulo", "n2nd", "Ur")
    assert network.bottlenecks == ("Sao_Paulo-n2nd", "n2nd-Ur")
    assert network.links[-1].a == "Ur"  # its id is 2
    text = scenario(LINES, "[{name: g, from: Ur, to: 2}]")
    assert faults(tmp_path, text, nodes=nodes, edges=edges) == [
        "9:28: there is no node `Ur`; it is `city` of node `n2`: `names: city` names nodes so"
    ]


def first_edge(**attributes: Any) -> dict[str, Any]:
    """Return a graph whose first edge has these attributes."""
    return {"edges": [{"source": "a", "target": "b", **attributes}, EDGES[1]]}


def more_nodes(*ids: str) -> dict[str, Any]:
    return {"nodes": [*NODES, *({"id": each} for each in ids)]}


RATE = "rate: {attribute: r, unit: bit, default: 1mbit}\n  delay: 1ms"
DELAY = "rate: 1mbit\n  delay: {attribute: d, unit: s, default: 1ms}"
LOOP = {"edges": [*EDGES, {"source": "a", "target": "a"}]}
OF_NET = "link `a-b` of `net.json`"
FAULTS: list[tuple[str, dict[str, Any], str]] = [
    (LINES, more_nodes("d"), "6:9: `net.json`: no path joins `a` and `d`"),
    (LINES, LOOP, "6:9: `net.json`: an edge joins node `a` to itself"),
    (LINES, more_nodes("中"), "6:9: `net.json`: `中` of node `中` has no letter or digit"),
    (LINES, more_nodes("x y", "x_y"), "nodes `x y` and `x_y` are both called `x_y`"),
    (LINES, more_nodes("x" * 41), "is longer than 40 characters"),
    (
        f"names: label\n  {LINES}",
        {},
        "7:10: `net.json`: node `a` has no attribute `label`; attributes of nodes: none",
    ),
    (
        "rate: {attribute: r}\n  delay: 1ms",
        {},
        f"7:9: {OF_NET}: it has no attribute `r`: give a `default`",
    ),
    (DELAY.replace("unit: s, ", ""), first_edge(d=5), "`5` has no unit: say it by `unit`"),
    (DELAY, first_edge(d=-5), f"8:10: {OF_NET}: `-5`: a delay must not be negative"),
    (DELAY, first_edge(d=601), "a delay may be 600s at most"),
    (DELAY, first_edge(d="soon"), "`soon` is not a time"),
    (DELAY, first_edge(d=True), "`true`"),
    (RATE, first_edge(r=0), "a rate must be above zero"),
    (RATE, first_edge(r=1e300), "is out of range"),
    (RATE, first_edge(r="nan"), "is out of range"),
    ("rate: {unit: bit}\n  delay: 1ms", {}, "give a value for all edges, or `attribute`"),
    ("rate: 1mbit\n  delay: {latitude: lat}", {}, "give `latitude` and `longitude`, or neither"),
    (f"{LINES}\n  links: [{{name: b-a}}]", {}, "9:18: there is no link `b-a`: it is called a-b"),
    (f"{LINES}\n  links: [{{name: a-c}}]", {}, "9:18: there is no link `a-c`"),
    (f"{LINES}\n  links: [{{name: a-b}}, {{name: a-b}}]", {}, "9:31: link `a-b` is given twice"),
    (f"sha256: {'a' * 64}\n  {LINES}", {}, "has the SHA-256"),
]


@pytest.mark.parametrize(("topology", "graph", "words"), FAULTS)
def test_faults_have_their_place(
    tmp_path: Path, topology: str, graph: dict[str, Any], words: str
) -> None:
    found = faults(tmp_path, scenario(topology), **graph)
    assert words in found[0], found


def test_faults_of_groups_have_their_place(tmp_path: Path) -> None:
    unknown = scenario(LINES, "[{name: g, from: a, to: z}]")
    assert faults(tmp_path, unknown) == ["9:35: there is no node `z`; defined: a, b, c"]
    graph = {**more_nodes("g_src0"), "edges": [*EDGES, {"source": "a", "target": "g_src0"}]}
    assert faults(tmp_path, **graph) == [
        "9:19: its host g_src0 has the name of a node or link of `net.json`"
    ]
    groups = ", ".join(f"{{name: {name}, from: a, to: c, hosts: 600}}" for name in "gh")
    (many,) = faults(tmp_path, scenario(LINES, f"[{groups}]"))
    assert "more than 1000 pairs of hosts" in many


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    file = write(tmp_path, scenario(LINES))
    (tmp_path / "net.json").unlink()
    with pytest.raises(ScenarioError, match=r"x\.yaml:6:9: .*net\.json"):
        load(file)


def test_a_queue_in_bdp_takes_all_rtts_where_no_flow_crosses(tmp_path: Path) -> None:
    nodes, edges = [*NODES, {"id": "d"}], [*EDGES, {"source": "c", "target": "d"}]
    run = planned(tmp_path, scenario("rate: 10mbit\n  delay: 10ms"), nodes=nodes, edges=edges)
    queues = {link.name: link.forward.queue for link in run.network.links[:3]}
    assert queues["c-d"] == queues["a-b"]


DIAMOND = [{"source": a, "target": b} for a, b in ("ax", "ay", "az", "xc", "yc", "zc")]
INNER = [{"id": name} for name in "axyzc"]
ECMP = scenario(f"routing: ecmp\n  {LINES}", "[{name: g, from: a, to: c, hosts: 60}]")


def middle(run: RunSpec) -> list[str]:
    return [flow.path[1][2] for flow in run.flows]


def test_ecmp_spreads_pairs_over_equal_paths_by_the_seed(tmp_path: Path) -> None:
    run = planned(tmp_path, ECMP, nodes=INNER, edges=DIAMOND)
    counts = {name: middle(run).count(name) for name in "xyz"}
    assert all(10 <= number <= 30 for number in counts.values()), counts
    assert any(flow.path[1][2] != flow.ack_path[1][2] for flow in run.flows)
    assert middle(planned(tmp_path, ECMP, nodes=INNER, edges=DIAMOND)) == middle(run)
    other = planned(tmp_path, ECMP, "seed=2", nodes=INNER, edges=DIAMOND)
    assert middle(other) != middle(run)
    plain = planned(tmp_path, ECMP, "topology.routing=least-delay", nodes=INNER, edges=DIAMOND)
    assert set(middle(plain)) == {"x"}
    # each repetition has the paths of its own seed
    text = ECMP + "repetitions: 2\n"
    both = plan(load(write(tmp_path, text, nodes=INNER, edges=DIAMOND))).runs
    assert middle(both[0]) == middle(run) != middle(both[1])
    network = run.network
    assert network_json.decode(network_json.encode(network)).path("g_src1", "g_dst1") == (
        network.path("g_src1", "g_dst1")
    )


def test_ecmp_rules_lead_along_the_paths(tmp_path: Path) -> None:
    change = "link: a-x, state: {}, reroute: true"
    events = f"events: [{{at: 1s, {change.format('down')}}}, {{at: 2s, {change.format('up')}}}]\n"
    run = planned(tmp_path, ECMP + events, nodes=INNER, edges=DIAMOND)
    spec = bed_spec(run, 2**30)
    rules = {
        (rule["switch"], rule["source"], rule["sink"]): rule["link"] for rule in spec["pair_rules"]
    }
    for flow in run.flows:
        assert rules["a", flow.source, flow.sink] == flow.path[1].partition(":")[0]
        assert rules["c", flow.sink, flow.source] == flow.ack_path[1].partition(":")[0]
    steps: list[RouteStep] = [step for step in planned_steps(run) if step["do"] == "route"]
    first = dict(rules)
    for step in steps:
        for rule in step["rules"]:
            key = rule["switch"], rule["source"], rule["sink"]
            if rule["link"] is None:
                del rules[key]
            else:
                rules[key] = rule["link"]
        if step is steps[0]:
            assert "a-x" not in rules.values()
    assert rules == first  # the link is up again
    assert "pair_rules" not in bed_spec(planned(tmp_path), 2**30)


def test_the_file_is_part_of_the_experiment_by_its_content(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        for name in ("19-backbone.yaml", "backbone.graphml"):
            shutil.copy(TUTORIAL / name, folder)
    first = plan(load(one / "19-backbone.yaml")).runs[0]
    assert first.resolved == plan(load(other / "19-backbone.yaml")).runs[0].resolved
    text = (other / "backbone.graphml").read_text().replace("52.37", "52.38")
    (other / "backbone.graphml").write_text(text)
    changed = plan(load(other / "19-backbone.yaml")).runs[0]
    assert first.resolved["topology"]["sha256"] != changed.resolved["topology"]["sha256"]


def test_the_shipped_backbone_crosses_its_failing_link(tmp_path: Path) -> None:
    run = plan(load(BACKBONE)).runs[0]
    assert (len(run.network.switches), len(run.network.bottlenecks)) == (20, 32)
    crossing = [flow.name for flow in run.flows if "Frankfurt-Munich:forward" in flow.path]
    assert len(crossing) >= 2
    assert {pair for event in run.events for pair in event.routes}


SPRAY = ECMP.replace("routing: ecmp", "routing: spray").replace("hosts: 60", "hosts: 2")


def test_sprayed_packets_may_cross_all_equal_paths(tmp_path: Path) -> None:
    run = planned(tmp_path, SPRAY, nodes=INNER, edges=DIAMOND)
    flow = run.flows[0]
    assert flow.path == ("g_src0:forward", "a-x:forward", "x-c:forward", "g_dst0:forward")
    assert set(flow.sprayed) == {f"{link}:forward" for link in ("a-y", "a-z", "y-c", "z-c")}
    assert {name.replace("reverse", "forward") for name in flow.ack_crossed} == set(flow.crossed)
    spec = bed_spec(run, 2**30)
    assert spec["sprays"] == [
        {
            "switch": "a",
            "links": ["a-x", "a-y", "a-z"],
            "destinations": ["g_dst0", "g_dst1"],
        },
        {
            "switch": "c",
            "links": ["x-c", "y-c", "z-c"],
            "destinations": ["g_src0", "g_src1"],
        },
    ]
    assert spec["forwarding"]["a"]["g_dst0"] == "a-x"
    assert "sprays" not in bed_spec(planned(tmp_path), 2**30)
    assert {"cls_bpf", "act_skbedit"} <= set(needs([run])["modules"])
    assert "cls_bpf" not in needs([planned(tmp_path)])["modules"]
    # the queue of every link is sized by the flows that cross it
    text = SPRAY.replace("routing: spray", "routing: spray\n  queue: {limit: 2bdp}")
    sized = planned(tmp_path, text, nodes=INNER, edges=DIAMOND).network.links
    limits = {link.forward.queue.limit_packets for link in sized if link.forward.queue}
    assert len(limits) == 1
    # other equal paths are other choices
    uneven = [*DIAMOND, {"source": "x", "target": "y"}]
    spread = planned(tmp_path, SPRAY, nodes=INNER, edges=uneven).flows[0].sprayed
    assert not [name for name in spread if name.startswith("x-y")]
    network = run.network
    assert network_json.decode(network_json.encode(network)).spread("g_src1", "g_dst1") == (
        network.spread("g_src1", "g_dst1")
    )


def test_links_get_their_shares_of_sprayed_packets(tmp_path: Path) -> None:
    """Of a three ways part: x sends on over two more, of which one joins what y and z send."""
    edges = [
        {"source": a, "target": b}
        for a, b in ("ax", "ay", "az", "xu", "xv", "yv", "zv", "ue", "ve", "ec")
    ]
    nodes = [{"id": name} for name in "axyzuvec"]
    network = planned(tmp_path, SPRAY, nodes=nodes, edges=edges).network
    shares = {hop.name: share for hop, share in network.shares("g_src0", "g_dst0")}
    assert shares == {
        "g_src0:forward": 1, "a-x:forward": Fraction(1, 3), "a-y:forward": Fraction(1, 3),
        "a-z:forward": Fraction(1, 3), "x-u:forward": Fraction(1, 6), "x-v:forward": Fraction(1, 6),
        "y-v:forward": Fraction(1, 3), "z-v:forward": Fraction(1, 3), "u-e:forward": Fraction(1, 6),
        "v-e:forward": Fraction(5, 6), "e-c:forward": 1, "g_dst0:forward": 1,
    }  # fmt: skip
    assert {hop.name for hop in network.spread("g_src0", "g_dst0")} == set(shares)
    alone = planned(tmp_path, ECMP, nodes=nodes, edges=edges).network
    path = alone.path("g_src0", "g_dst0")
    assert alone.shares("g_src0", "g_dst0") == [(hop, Fraction(1)) for hop in path]
    # a link may lose packets of a list, which has no hash
    losses = "{kind: list, packets: [3]}"
    text = SPRAY.replace("spray", f"spray\n  links: [{{name: a-y, loss: {losses}}}]", 1)
    assert len(planned(tmp_path, text, nodes=nodes, edges=edges).flows[0].sprayed) == 6


def test_a_load_is_that_of_a_link_with_its_share_of_the_packets(tmp_path: Path) -> None:
    """Three links of 10 Mbit/s get a third each: 60% of each are 18 Mbit/s, and 9 of each flow."""
    for given, each_bps in (
        ("60%", 9_000_000),
        ("{share: 50%, link: a-z}", 7_500_000),
        ("5mbit", 2_500_000),
    ):
        traffic = f"traffic: {{kind: transfers, size: 10kB, load: {given}}}"
        text = SPRAY.replace("flows: [{", f"flows: [{{{traffic}, ")
        flow = planned(tmp_path, text, nodes=INNER, edges=DIAMOND).flows[0]
        assert flow.traffic_parameters["rate_bps"] == each_bps


def test_spraying_needs_equal_rates_and_takes_no_reroute(tmp_path: Path) -> None:
    slow = SPRAY.replace("routing: spray", "routing: spray\n  links: [{name: a-y, rate: 5mbit}]")
    (fault,) = faults(tmp_path, slow, nodes=INNER, edges=DIAMOND)
    assert "packets to g_dst0 are sprayed over a-x:forward and a-y:forward" in fault
    assert "give both the same rate, or different delays" in fault
    longer = slow.replace("rate: 5mbit", "rate: 5mbit, delay: 2ms")
    (flow, _other) = planned(tmp_path, longer, nodes=INNER, edges=DIAMOND).flows
    assert set(flow.sprayed) == {"a-z:forward", "z-c:forward"}
    events = "events: [{at: 1s, link: a-x, state: down, reroute: true}]\n"
    (fault,) = faults(tmp_path, SPRAY + events, nodes=INNER, edges=DIAMOND)
    assert "packets are sprayed (`routing: spray`): flows have no one path" in fault
