"""Which channels have a sch_link and a netem, and which of the two has the delay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.compile.link import link_document, link_step
from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.network import Channel
from orchestrator.planning.plan import plan
from orchestrator.protocol.links.link import delay_setting
from orchestrator.protocol.specification import ChannelSpec
from orchestrator.scenario import load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"


def values(document: Any) -> dict[str, Any]:
    return {setting["name"]: setting["value"] for setting in document["settings"]}


def bottleneck(*overrides: str) -> ChannelSpec:
    """The forward direction of the quickstart's bottleneck: 10 Mbit/s, 10 ms."""
    (run,) = plan(load(QUICKSTART, overrides)).runs
    return bed_spec(run, 2**30)["links"][0]["forward"]


@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        (Channel(0.0), None),
        (Channel(0.02), (0, 20_000_000)),
        (Channel(0.0, 10_000_000), (10_000_000, 0)),
        (Channel(0.02, 64_000), (64_000, 20_000_000)),
        (Channel(0.0, delay_changes=True), (0, 0)),
        (Channel(0.0, duplication=0.1), (0, 0)),
        (Channel(0.02, 64_000, duplication=0.1), (64_000, 0)),
    ],
)
def test_a_channel_has_a_link_if_it_transmits_delays_or_impairs(
    channel: Channel, expected: tuple[int, int] | None
) -> None:
    document = link_document(channel)
    if expected is None:
        assert document is None
    else:
        assert document is not None
        found = values(document)
        assert (document["kind"], found["rate_bps"], found["delay_ns"]) == ("link", *expected)
        assert (found["granted"], found["bypass"]) == (0, 0)


def test_the_delay_is_the_links_where_nothing_is_impaired() -> None:
    channel = bottleneck()
    assert channel["netem"] is None
    assert channel["queue"] is not None
    assert values(channel["link"])["delay_ns"] == 10_000_000


@pytest.mark.parametrize(
    "impairment",
    [
        "topology.bottleneck.loss=1%",
        "topology.bottleneck.jitter=1ms",
        "topology.bottleneck.reordering=1%",
        "topology.bottleneck.duplication=1%",
        "topology.bottleneck.corruption=1%",
        "events=[{at: 3s, link: bottleneck, loss: 1%}]",
        "events=[{at: 3s, link: bottleneck, state: down}]",
    ],
)
def test_the_delay_is_netems_where_packets_are_impaired_at_any_time(impairment: str) -> None:
    channel = bottleneck(impairment)
    assert values(channel["link"])["delay_ns"] == 0
    assert values(channel["link"])["rate_bps"] == 10_000_000
    assert values(channel["netem"])["delay_ns"] == 10_000_000


def test_a_channel_without_rate_delay_and_impairments_has_nothing() -> None:
    (run,) = plan(load(QUICKSTART, ["topology.groups.a.access={delay: 0s}"])).runs
    channels = {link["name"]: link["forward"] for link in bed_spec(run, 2**30)["links"]}
    number = [link.name for link in run.network.links].index("a_src0")
    (plain,) = [channels[name] for name in list(channels)[number : number + 1]]
    assert plain == {"link": None, "queue": None, "netem": None, "policer": None}


def test_a_step_changes_one_setting_of_a_link() -> None:
    assert link_step(5, "x:forward", delay_setting(0.25)) == {
        "time_ns": 5, "do": "link", "channel": "x:forward",
        "settings": [delay_setting(0.25).document()],
    }  # fmt: skip
