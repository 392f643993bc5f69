"""Drawings of networks: every part is in them once, and they contain no code."""

from __future__ import annotations

import itertools
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from orchestrator.network import Channel, Group, Link, Network
from orchestrator.planning.plan import plan
from orchestrator.recording.model import QueueRecord
from orchestrator.scenario import load
from results.drawing import MOST_QUEUES, draw, draw_figure, fragment
from results.drawing.canvas import PADDING
from results.drawing.captions import MeasuredDrops
from results.drawing.stored import network_of
from results.records.links import summarise_links
from tests.web import planned
from topologies import TOPOLOGIES, Topology

SCENARIOS = Path(__file__).parents[4] / "scenarios"
QUICKSTART = SCENARIOS / "quickstart.yaml"
RING = SCENARIOS / "tutorial" / "13-custom-ring.yaml"
LINK = {"rate": "10mbit", "delay": "10ms", "queue": {"limit": "125p"}}
NAMESPACE = "{http://www.w3.org/2000/svg}"


def drawing(file: Path, *overrides: str) -> str:
    return draw(plan(load(file, overrides)).runs[0].network, "title")


def network(kind: str, **data: Any) -> Network:
    found = TOPOLOGIES.found[kind].model_validate(
        {"kind": kind, "access": {"delay": "1ms", "rate": "100mbit"}, **data}
    )
    assert isinstance(found, Topology)
    return found.layout(1).network


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{NAMESPACE}text")]


def boxes(svg: str, kind: str) -> list[tuple[float, float, float, float]]:
    """Return left, top, right and bottom of the boxes of a class."""
    found = []
    for element in ET.fromstring(svg).iter(f"{NAMESPACE}rect"):
        if element.get("class") == kind:
            x, y, width, height = (
                float(element.get(key, "nan")) for key in ("x", "y", "width", "height")
            )
            found.append((x, y, x + width, y + height))
    return found


def test_the_quickstart_is_drawn() -> None:
    svg = drawing(QUICKSTART, "topology.bottleneck.loss=0.1%")
    assert texts(svg) == [
        "title",
        "bottleneck", "10mbit, 10ms", "droptail 100p (121.1ms)", "loss 0.1%",
        "a_src0", "100mbit, 20ms", "b_src0", "100mbit, 20ms", "s1",
        "a_dst0", "100mbit, 20ms", "b_dst0", "100mbit, 20ms", "s2",
    ]  # fmt: skip
    assert svg.count('class="bottleneck"') == 1
    assert svg == drawing(QUICKSTART, "topology.bottleneck.loss=0.1%")


def test_each_kind_of_loss_has_the_caption_that_it_declares() -> None:
    two_state = "{kind: two-state, bad: 10ms, bad_loss: 10%}"
    assert "two-state loss " in drawing(QUICKSTART, f"topology.bottleneck.loss={two_state}")
    assert "independent" not in drawing(QUICKSTART, "topology.bottleneck.loss=0.1%")


def test_directions_that_differ_are_written_separately() -> None:
    svg = drawing(QUICKSTART, "topology.bottleneck.rate={forward: 10mbit, reverse: 1mbit}")
    assert {"→ 10mbit, 10ms", "← 1mbit, 10ms", "← droptail 100p (1211ms)"} <= set(texts(svg))


def test_a_policer_and_a_rate_that_changes_are_written() -> None:
    svg = drawing(
        QUICKSTART,
        "topology.bottleneck.policer={forward: {rate: 2mbit, burst: 30kB}}",
        "events=[{at: 5s, link: bottleneck, rate: 5mbit}]",
    )
    assert "→ policer 2mbit, 30kB" in texts(svg)
    assert "~10mbit, 10ms" in texts(svg)


def test_many_hosts_are_one_box() -> None:
    groups = [{"name": "a", "hosts": 60, "rtt": {"above": "20ms", "to": "250ms"}, "access": {}}]
    labels = texts(draw(network("dumbbell", bottleneck=LINK, groups=groups), ""))
    assert labels[labels.index("a_src0 … a_src59") + 1 :][:2] == ["60 hosts", "0.95833 to 57.5ms"]


def test_routers_are_in_the_order_of_the_paths() -> None:
    svg = drawing(RING)
    places = dict(zip(["r1", "r5", "r4", "r3", "r2"], boxes(svg, "router"), strict=True))
    assert places["r1"][0] < places["r5"][0] < places["r4"][0] < places["r3"][0]
    assert places["r1"][1] == places["r5"][1] == places["r4"][1] == places["r3"][1]
    # what no path crosses stands between its neighbours, in a row of its own
    assert places["r1"][0] < places["r2"][0] < places["r3"][0]
    assert places["r2"][1] > places["r1"][3]


@pytest.mark.parametrize(
    "made",
    [
        network("dumbbell", bottleneck=LINK, groups=[{"name": f"g{n}"} for n in range(12)]),
        network("parking-lot", hops={"count": 10, **LINK}, groups=[
            {"name": "long", "hosts": 3}, {"name": "cross", "each_hop": "all"},
            {"name": "back", "each_hop": "all"}, {"name": "inner", "enter": 7, "leave": 3},
        ]),
        network("rtt-split", first=LINK, second=LINK, groups=[
            {"name": "far", "hosts": 5, "enter": "n1"}, {"name": "near", "hosts": 5, "enter": "n2"},
        ]),
        network("mixed", wired=LINK, bottleneck=LINK, wireless={**LINK, "loss": "1%"}, groups=[
            {"name": "tcp", "hosts": 4}, {"name": "udp", "hosts": 30, "enter": "n2", "leave": "n4"},
        ]),
    ],
    ids=["dumbbell", "parking-lot", "rtt-split", "mixed"],
)  # fmt: skip
def test_no_box_covers_another(made: Network) -> None:
    svg = draw(made, "x")
    found = [*boxes(svg, "router"), *boxes(svg, "hosts")]
    assert len(boxes(svg, "router")) == len(made.switches)
    for (left, top, right, bottom), other in itertools.combinations(found, 2):
        apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
        assert apart
    x, y, width, height = map(float, (ET.fromstring(svg).get("viewBox") or "").split())
    assert all(x <= b[0] and y <= b[1] and b[2] <= x + width and b[3] <= y + height for b in found)


def test_names_are_escaped_text() -> None:
    channel = Channel(0.001)
    evil = '<script>"&'
    made = Network(
        (evil, "h"),
        ("r",),
        (Link("a", evil, "r", channel, channel), Link("b", "r", "h", channel, channel)),
        (Group(evil, (evil,), ("h",)),),
        (),
    )
    svg = draw(made, evil)
    assert "<script" not in svg
    assert {evil} <= set(texts(svg))
    assert ET.fromstring(svg).findtext(f"{NAMESPACE}title") == evil


def test_a_drawing_is_self_contained_and_has_a_light_and_a_dark_style() -> None:
    svg = drawing(QUICKSTART)
    assert not re.search(r"href|@import|url\(", svg)
    assert "prefers-color-scheme: dark" in svg


def test_hosts_without_a_router_and_parts_without_a_path_are_drawn() -> None:
    channel = Channel(0.001)
    lines = (Link("a", "h", "k", channel, channel), Link("b", "r", "s", channel, channel))
    made = Network(("h", "k"), ("r", "s"), lines, (Group("g", ("h",), ("k",)),), ())
    assert set(texts(draw(made, ""))) >= {"h", "k", "r", "s"}


def both(link: str) -> list[str]:
    return [f"{link}:forward", f"{link}:reverse"]


def part(made: Network, drops: dict[str, int] | None = None) -> ET.Element:
    """Return the element of a page, whose links lead to one queue for each direction."""
    queues = {
        link.name: [f"{link.name}:{way}" for way in ("forward", "reverse")] for link in made.links
    }
    return ET.fromstring(fragment(made, MeasuredDrops(drops or {}), queues, "#queues"))


def test_a_part_of_a_page_has_drops_and_every_limit_and_leads_to_queues() -> None:
    made = plan(load(QUICKSTART)).runs[0].network
    found = part(made, {"bottleneck:forward": 34, "access_a_src0:forward": 0})
    assert found.get("class") == "network"
    assert not list(found.iter("style"))
    words = [element.text for element in found.iter("text")]
    assert words[:4] == ["bottleneck", "10mbit, 10ms", "droptail 100p (121.1ms)", "→ 34 drops"]
    assert [word for word in words if word and "drop" in word and "tail" not in word] == [words[3]]
    anchors = list(found.iter("a"))
    assert len(anchors) == 1 + 4
    assert {anchor.get("href") for anchor in anchors} == {"#queues"}
    assert json.loads(anchors[0].get("data-queues", "")) == [
        "bottleneck:forward",
        "bottleneck:reverse",
    ]
    lines = {tuple(json.loads(path.get("data-links", ""))) for path in found.iter("path")}
    assert lines == {(link.name,) for link in made.links}


def test_many_groups_are_one_box_on_a_page() -> None:
    groups = [{"name": f"g{n}", "hosts": 10} for n in range(20)]
    found = part(network("dumbbell", bottleneck=LINK, groups=groups), {"g3_src0:forward": 1})
    words = [element.text for element in found.iter("text")]
    assert words.count("20 groups") == words.count("200 hosts") == 2
    assert sum(element.get("class") == "hosts" for element in found.iter("rect")) == 2
    box = next(anchor for anchor in found.iter("a") if anchor.find("text").text == "20 groups")  # type: ignore[union-attr]
    assert len(json.loads(box.get("data-queues", ""))) == MOST_QUEUES


def test_names_on_a_page_are_escaped() -> None:
    channel = Channel(0.001)
    evil = "\"><script>'&"
    made = Network(
        (evil, "h"),
        ("r",),
        (Link(evil, evil, "r", channel, channel), Link("b", "r", "h", channel, channel)),
        (Group(evil, (evil,), ("h",)),),
        (),
    )
    found = part(made)
    assert not list(found.iter("script"))
    assert json.loads(next(found.iter("path")).get("data-links", "")) == [evil]


@pytest.mark.parametrize(
    "file",
    [
        "quickstart.yaml", "tutorial/10-rtt-spread.yaml", "tutorial/11-parking-lot.yaml",
        "tutorial/12-rtt-split.yaml", "tutorial/13-custom-ring.yaml",
        "tutorial/14-wired-wireless.yaml", "tutorial/16-satellite.yaml", "tutorial/17-mixed.yaml",
        "tutorial/30-random-loss.yaml",
    ],
)  # fmt: skip
def test_a_stored_run_has_the_drawing_of_its_plan(file: str) -> None:
    spec = plan(load(SCENARIOS / file)).runs[0]
    stored = network_of(summarise_links(spec.network.links), planned.flows(spec))
    assert stored is not None
    assert draw(stored, "x") == draw(spec.network, "x")


def test_policers_and_changing_rates_are_those_of_the_run_s_queues() -> None:
    overrides = (
        "topology.bottleneck.policer={forward: {rate: 2mbit, burst: 30kB}}",
        "topology.bottleneck.loss={kind: two-state, bad: 10ms, bad_loss: 10%}",
    )
    spec = plan(load(QUICKSTART, overrides)).runs[0]
    queues = [
        QueueRecord("p", "bottleneck", "forward", "policer", "police", False,
                    rate_bps=2_000_000, limit_bytes=30_000),
        QueueRecord("q", "bottleneck", "reverse", "queue", "pfifo", True,
                    rate_steps=((0.0, 10_000_000), (5.0, 5_000_000))),
    ]  # fmt: skip
    stored = network_of(summarise_links(spec.network.links), (), queues)
    assert stored is not None
    labels = texts(draw(stored, ""))
    assert {"→ policer 2mbit, 30kB", "← ~10mbit, 10ms"} <= set(labels)
    assert any(re.fullmatch(r"loss 0\.\d+%", text) for text in labels)


def test_a_run_whose_links_are_not_known_has_no_drawing() -> None:
    assert network_of((), ()) is None


@pytest.mark.parametrize("file", [QUICKSTART, RING], ids=lambda file: file.stem)
def test_a_figure_of_a_network_has_no_empty_stripe_above_it(file: Path) -> None:
    """It had room for a margin twice, of the drawing and of the figure in a report."""
    figure = draw_figure(plan(load(file)).runs[0].network, "A title")
    tops = [float(top) for top in re.findall(r'<rect class="[a-z]+" x="[^"]+" y="([^"]+)"', figure)]
    paper, *boxes = tops
    assert 0 <= min(boxes) - paper <= PADDING
