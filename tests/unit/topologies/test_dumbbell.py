"""The dumbbell: parameters to hosts, links and channels."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.kinds.losses.independent import Independent
from orchestrator.network import Channel
from orchestrator.protocol.units import nanoseconds
from topologies import TOPOLOGIES, Layout
from topologies.dumbbell import Dumbbell

BOTTLENECK = {"rate": "10mbit", "delay": "10ms"}


def dumbbell(bottleneck: dict[str, Any], *groups: dict[str, Any]) -> Layout:
    data = {"kind": "dumbbell", "bottleneck": bottleneck, "groups": list(groups)}
    return Dumbbell.model_validate(data).layout(1)


def loss(probability: float) -> Independent:
    return Independent(probability=probability)


def group(name: str, hosts: int = 1, **access: Any) -> dict[str, Any]:
    return {"name": name, "hosts": hosts, "access": {"delay": "20ms", **access}}


def test_a_dumbbell_has_its_hosts_and_links() -> None:
    network = dumbbell(BOTTLENECK, group("a", 2), group("b")).network
    assert network.hosts == ("a_src0", "a_src1", "a_dst0", "a_dst1", "b_src0", "b_dst0")
    assert network.switches == ("s1", "s2")
    assert network.bottlenecks == ("bottleneck",)
    assert [(link.name, link.a, link.b) for link in network.links] == [
        ("bottleneck", "s1", "s2"),
        ("a_src0", "a_src0", "s1"),
        ("a_src1", "a_src1", "s1"),
        ("a_dst0", "s2", "a_dst0"),
        ("a_dst1", "s2", "a_dst1"),
        ("b_src0", "b_src0", "s1"),
        ("b_dst0", "s2", "b_dst0"),
    ]
    assert network.group("a").sources == ("a_src0", "a_src1")
    assert network.group("a").sinks == ("a_dst0", "a_dst1")


def test_the_base_rtt_sums_the_delays_of_both_directions() -> None:
    network = dumbbell(BOTTLENECK, group("a"), group("b", delay="45ms")).network
    assert network.propagation_rtt_s("a_src0", "a_dst0") == pytest.approx(0.1)
    assert network.propagation_rtt_s("b_dst0", "b_src0") == pytest.approx(0.2)
    assert [hop.name for hop in network.path("a_src0", "a_dst0")] == [
        "a_src0:forward",
        "bottleneck:forward",
        "a_dst0:forward",
    ]
    assert [hop.name for hop in network.path("a_dst0", "a_src0")] == [
        "a_dst0:reverse",
        "bottleneck:reverse",
        "a_src0:reverse",
    ]


def test_the_bottlenecks_queue_is_one_bdp_by_default() -> None:
    layout = dumbbell(BOTTLENECK, group("a"))
    link = layout.network.links[0]
    assert (
        link.forward
        == link.reverse
        == Channel(0.01, 10_000_000, None, loss(0.0), is_bottleneck=True)
    )
    for direction in ("forward", "reverse"):
        place = layout.queues[f"bottleneck:{direction}"]
        assert (place.spec.kind, str(place.spec.limit)) == ("droptail", "1bdp")
        assert place.where == ("topology", "bottleneck", "queue", direction, "limit")


def test_access_links_without_a_rate_have_no_queue() -> None:
    layout = dumbbell(BOTTLENECK, group("a"))
    assert [link.forward.rate_bps for link in layout.network.links[1:]] == [None, None]
    assert set(layout.queues) == {"bottleneck:forward", "bottleneck:reverse"}


def test_access_links_with_a_rate_never_drop_unless_a_queue_is_given() -> None:
    layout = dumbbell(
        BOTTLENECK,
        group("a", rate="100mbit"),
        group("b", rate="100mbit", queue={"limit": "50p"}),
    )
    assert str(layout.queues["a_src0:forward"].spec.limit) == "100000p"
    assert str(layout.queues["b_src0:forward"].spec.limit) == "50p"
    bottlenecks = {link.name: link.forward.is_bottleneck for link in layout.network.links}
    assert bottlenecks == {
        "bottleneck": True,
        "a_src0": False,
        "a_dst0": False,
        "b_src0": True,
        "b_dst0": True,
    }


def test_each_direction_may_have_its_own_values() -> None:
    layout = dumbbell(
        {
            "rate": {"forward": "10mbit", "reverse": "1mbit"},
            "delay": {"forward": "10ms", "reverse": "30ms"},
            "loss": {"forward": "0.1%", "reverse": 0},
            "queue": {"forward": {"limit": "50p"}, "reverse": {"limit": "10kB"}},
        },
        group("a"),
    )
    link = layout.network.links[0]
    assert link.forward == Channel(0.01, 10_000_000, None, loss(0.001), is_bottleneck=True)
    assert link.reverse == Channel(0.03, 1_000_000, None, loss(0.0), is_bottleneck=True)
    assert str(layout.queues["bottleneck:reverse"].spec.limit) == "10kB"
    assert layout.network.propagation_rtt_s("a_src0", "a_dst0") == pytest.approx(0.12)


def test_one_loss_is_for_both_directions_of_every_access_link() -> None:
    layout = dumbbell({**BOTTLENECK, "loss": "1%"}, group("a", loss={"probability": 1e-8}))
    losses = [(link.forward.mean_loss, link.reverse.mean_loss) for link in layout.network.links]
    assert losses == [(0.01, 0.01), (1e-8, 1e-8), (1e-8, 1e-8)]


def test_too_many_hosts_are_refused_before_they_are_made() -> None:
    with pytest.raises(ValidationError, match="more than 1000 pairs of hosts"):
        dumbbell(BOTTLENECK, group("a", 600), group("b", 401))


def test_a_written_topology_reads_back_equal() -> None:
    data = {
        "kind": "dumbbell",
        "bottleneck": {**BOTTLENECK, "rate": {"forward": "1mbit", "reverse": "2mbit"}},
        "groups": [group("a", rate="1gbit", queue={"limit": "2.5bdp(min)"})],
    }
    spec = Dumbbell.model_validate(data)
    written = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert written["bottleneck"]["rate"] == {"forward": "1mbit", "reverse": "2mbit"}
    assert written["groups"][0]["access"]["queue"] == {"kind": "droptail", "limit": "2.5bdp(min)"}
    assert TOPOLOGIES.found["dumbbell"].model_validate(written) == spec


def test_the_papers_rtts_spread_over_the_flows() -> None:
    # Grieco & Mascolo section 3.2: M flows, RTTs 20 + 230 i / M ms for i = 1 ... M
    for hosts in (1, 20, 200):
        spread = {"above": "0ms", "to": "57.5ms"}
        layouts = [
            dumbbell(BOTTLENECK, {"name": "a", "hosts": hosts, "access": {"delay": spread}}),
            dumbbell(
                BOTTLENECK,
                {
                    "name": "a",
                    "hosts": hosts,
                    "rtt": {"above": "20ms", "to": "250ms"},
                    "access": {},
                },
            ),
        ]
        for layout in layouts:
            found = [
                layout.network.propagation_rtt_s(f"a_src{i}", f"a_dst{i}") * 1e3
                for i in range(hosts)
            ]
            wanted = [20 + 230 * (i + 1) / hosts for i in range(hosts)]
            assert found == pytest.approx(wanted, abs=4e-6)  # four links, a nanosecond each


def test_a_spread_may_include_both_ends() -> None:
    # Grieco & Mascolo section 3.4: five flows, RTTs evenly over [66, 250] ms
    layout = dumbbell(
        BOTTLENECK,
        {"name": "a", "hosts": 5, "rtt": {"from": "66ms", "to": "250ms"}, "access": {}},
        {"name": "one", "rtt": {"from": "66ms", "to": "250ms"}, "access": {}},
    )
    found = [layout.network.propagation_rtt_s(f"a_src{i}", f"a_dst{i}") for i in range(5)]
    assert found == pytest.approx([0.066, 0.112, 0.158, 0.204, 0.250], abs=1e-12)
    assert layout.network.propagation_rtt_s("one_src0", "one_dst0") == pytest.approx(0.25)


def test_an_rtt_is_exact_to_the_nanosecond() -> None:
    layout = dumbbell(BOTTLENECK, {"name": "a", "rtt": "20.000003ms", "access": {}})
    delays = [
        nanoseconds(channel.delay_s)
        for link in layout.network.links
        for channel in (link.forward, link.reverse)
    ]
    assert delays == [10_000_000, 10_000_000, 1, 1, 1, 0]


def test_an_rtt_needs_no_access_links() -> None:
    layout = dumbbell(BOTTLENECK, {"name": "a", "rtt": "50ms"})
    assert (
        layout.network == dumbbell(BOTTLENECK, {"name": "a", "rtt": "50ms", "access": {}}).network
    )
    assert layout.network.propagation_rtt_s("a_src0", "a_dst0") == pytest.approx(0.05)
    assert [link.forward.rate_bps for link in layout.network.links] == [10_000_000, None, None]
    assert layout.scenario_paths["a_src0"] == ("topology", "groups", 0, "rtt")


def test_an_rtt_with_one_sides_access_link_needs_no_other() -> None:
    layout = dumbbell(BOTTLENECK, {"name": "a", "rtt": "50ms", "sink_access": {"rate": "1gbit"}})
    rates = {link.name: link.forward.rate_bps for link in layout.network.links}
    assert rates == {"bottleneck": 10_000_000, "a_src0": None, "a_dst0": 1_000_000_000}
    assert layout.network.propagation_rtt_s("a_src0", "a_dst0") == pytest.approx(0.05)


def test_sources_and_sinks_may_have_different_links() -> None:
    layout = dumbbell(
        BOTTLENECK,
        {
            "name": "a",
            "source_access": {"delay": "5ms", "rate": "1gbit"},
            "sink_access": {
                "delay": {"forward": "20ms", "reverse": "30ms"},
                "rate": "2mbit",
                "loss": {"forward": "1%", "reverse": 0},
            },
        },
    )
    source, sink = layout.network.links[1:]
    assert (source.forward.delay_s, source.forward.rate_bps) == (0.005, 10**9)
    assert (sink.forward.delay_s, sink.reverse.delay_s) == (0.02, 0.03)
    assert (sink.forward.mean_loss, sink.reverse.mean_loss) == (0.01, 0.0)
    assert layout.scenario_paths == {
        "bottleneck": ("topology", "bottleneck"),
        "a_src0": ("topology", "groups", 0, "source_access"),
        "a_dst0": ("topology", "groups", 0, "sink_access"),
    }


def test_one_access_applies_to_all_groups() -> None:
    data = {"kind": "dumbbell", "bottleneck": BOTTLENECK, "access": {"delay": "20ms"}}
    groups = [{"name": "a"}, group("b", delay="1ms")]
    layout = Dumbbell.model_validate({**data, "groups": groups}).layout(1)
    assert [link.forward.delay_s for link in layout.network.links] == [0.01, 0.02, 0.02] + [
        0.001
    ] * 2
    assert layout.scenario_paths["a_src0"] == ("topology", "access")


@pytest.mark.parametrize(
    ("changed", "path", "why"),
    [
        ({"access": None}, (), "`access` is missing"),
        ({"access": {}}, ("access",), "`delay` is missing: give it, or give the group"),
        ({"rtt": "50ms"}, ("rtt",), "give an `rtt` or the access link's `delay`, not both"),
        (
            {"rtt": {"above": "10ms", "to": "21ms"}, "hosts": 2, "access": {}},
            ("rtt",),
            "an RTT of 15500us is less than the 20ms that the links between the routers take",
        ),
        (
            {"access": {"delay": {"to": "1ms"}}},
            ("access", "delay", "forward"),
            "give `to` and one of `from` and `above`",
        ),
        (
            {"access": {"delay": {"from": "2ms", "to": "1ms"}}},
            ("access", "delay", "forward"),
            "`from` must not be more than `to`",
        ),
        (
            {"access": {"delay": {"above": "1ms", "to": "1ms"}}},
            ("access", "delay", "forward"),
            "`above` must be less than `to`",
        ),
    ],
)
def test_a_fault_of_a_group_is_reported_at_its_place(
    changed: dict[str, Any], path: tuple[str, ...], why: str
) -> None:
    data = {"kind": "dumbbell", "bottleneck": BOTTLENECK, "groups": [{**group("a"), **changed}]}
    with pytest.raises(ValidationError) as refused:
        Dumbbell.model_validate(data)
    first = refused.value.errors()[0]
    assert first["loc"] == ("groups", 0, *path)
    assert why in first["msg"]


DRAWN = {"from": "66ms", "to": "250ms", "drawn": True}


def drawn(seed: int, **group: Any) -> Layout:
    groups = [{"name": "a", "hosts": 40, "access": {}, **group}]
    data = {"kind": "dumbbell", "bottleneck": BOTTLENECK, "groups": groups}
    return Dumbbell.model_validate(data).layout(seed)


def test_an_rtt_is_drawn_for_each_pair_from_the_seed() -> None:
    def rtts_s(seed: int) -> list[float]:
        found = drawn(seed, rtt=DRAWN)
        assert found.drawn
        return [found.network.propagation_rtt_s(f"a_src{i}", f"a_dst{i}") for i in range(40)]

    mine = rtts_s(7)
    assert mine == rtts_s(7) != rtts_s(8)
    first = 66_000 + int(random.Random("7:rtt:0:0").random() * 184_001)
    assert round(mine[0] * 1e6) == first
    assert all(abs(each * 1e6 - round(each * 1e6)) < 1e-6 for each in mine)
    assert 0.066 <= min(mine) < 0.080 < 0.236 < max(mine) <= 0.250
    # Of 40 uniform draws over 184 ms, within four deviations of the mean.
    assert abs(sum(mine) / 40 - 0.158) < 4 * 0.184 / math.sqrt(12 * 40)


def test_a_delay_is_drawn_for_each_link_equal_in_both_directions() -> None:
    delay = {"from": "1ms", "to": "3ms", "drawn": True}
    found = drawn(7, access={"delay": delay})
    access = [link for link in found.network.links if link.name != "bottleneck"]
    delays_s = [link.forward.delay_s for link in access]
    assert delays_s == [link.reverse.delay_s for link in access]
    assert len(set(delays_s)) > 70
    assert delays_s[40] == 0.001 + int(random.Random("7:delay:0:40").random() * 2001) / 1e6
    assert not drawn(7, access={"delay": "2ms"}).drawn


def test_a_drawn_rtt_needs_two_ends_and_exceeds_the_common_links() -> None:
    with pytest.raises(ValidationError, match="with `drawn` give `from` and `to`, not `above`"):
        drawn(1, rtt={"above": "66ms", "to": "250ms", "drawn": True})
    with pytest.raises(ValidationError, match="less than the 20ms"):
        drawn(1, rtt={"from": "19ms", "to": "250ms", "drawn": True})


def test_drawn_spreads_are_written_as_they_were_read() -> None:
    groups = [{"name": "a", "access": {}, "rtt": DRAWN}, group("b")]
    data = {"kind": "dumbbell", "bottleneck": BOTTLENECK, "groups": groups}
    written = Dumbbell.model_validate(data).model_dump(mode="json", by_alias=True)
    assert written["groups"][0]["rtt"] == {**DRAWN, "above": None}
