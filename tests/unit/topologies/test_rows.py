"""Routers in a row: parking lot, RTT split, wired and wireless, mixed, satellite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.network import Network
from topologies import TOPOLOGIES, Layout, Topology

LINK = {"rate": "10mbit", "delay": "10ms", "queue": {"limit": "125p"}}
ACCESS = {"rate": "100mbit", "delay": "20ms"}


def topology(kind: str, **data: Any) -> Topology:
    found = TOPOLOGIES.found[kind].model_validate({"kind": kind, "access": ACCESS, **data})
    assert isinstance(found, Topology)
    return found


def layout(kind: str, **data: Any) -> Layout:
    return topology(kind, **data).layout(1)


def faults(kind: str, **data: Any) -> list[tuple[tuple[Any, ...], str]]:
    with pytest.raises(ValidationError) as refused:
        topology(kind, **data)
    return [(error["loc"], error["msg"]) for error in refused.value.errors()]


def crossed(network: Network, group: str, index: int = 0) -> list[str]:
    pair = network.group(group)
    return [hop.name for hop in network.path(pair.sources[index], pair.sinks[index])]


def rtt_ms(network: Network, group: str, index: int = 0) -> float:
    pair = network.group(group)
    return 1e3 * network.propagation_rtt_s(pair.sources[index], pair.sinks[index])


def lot(groups: Sequence[Mapping[str, object]], **hops: Any) -> Layout:
    return layout("parking-lot", hops={"count": 4, **LINK, **hops}, groups=list(groups))


def test_westwoods_multi_bottleneck_scenario_can_be_built() -> None:
    # Grieco & Mascolo Fig. 17: C1 over all hops, two connections over each hop alone
    for hops in (1, 4, 10):
        groups = [{"name": "c1"}, {"name": "cross", "each_hop": "all"}]
        network = lot(groups, count=hops).network
        assert network.switches == tuple(f"r{n}" for n in range(1, hops + 2))
        assert network.bottlenecks == tuple(f"hop{n}" for n in range(1, hops + 1))
        assert crossed(network, "c1")[1:-1] == [f"hop{n}:forward" for n in range(1, hops + 1)]
        assert rtt_ms(network, "c1") == pytest.approx(80 + 20 * hops)
        assert network.group("cross").sources == tuple(f"cross_src{n}" for n in range(hops))
        for n in range(hops):
            assert crossed(network, "cross", n) == [
                f"cross_src{n}:forward",
                f"hop{n + 1}:forward",
                f"cross_dst{n}:forward",
            ]
            assert rtt_ms(network, "cross", n) == pytest.approx(100)


def test_logwestwoods_multi_bottleneck_scenario_can_be_built() -> None:
    # Kliazovich et al. Fig. 9: cross flows 1 and 3 forward, 2 and 4 in reverse
    groups: list[dict[str, Any]] = [
        {"name": "tested", "hosts": 3},
        {"name": "forward", "each_hop": "odd"},
        {"name": "reverse", "each_hop": "even"},
        {"name": "third", "each_hop": [3], "hosts": 2},
    ]
    network = lot(groups, rate="100mbit", queue={"limit": "500p"}).network
    inner = {
        name: [crossed(network, name, i)[1:-1] for i in range(len(network.group(name).sources))]
        for name in ("forward", "reverse", "third")
    }
    assert inner == {
        "forward": [["hop1:forward"], ["hop3:forward"]],
        "reverse": [["hop2:forward"], ["hop4:forward"]],
        "third": [["hop3:forward"], ["hop3:forward"]],
    }
    back = network.path("reverse_dst1", "reverse_src1")
    assert [hop.name for hop in back][1:-1] == ["hop4:reverse"]


def test_libras_parking_lot_can_be_built() -> None:
    # "TCP Libra" Fig. 11: 9 hops with the access links; RTTs of 180, 90 and 30 ms
    groups: list[dict[str, Any]] = [
        {"name": "long", "hosts": 2, "rtt": "180ms", "access": {}},
        {"name": "middle", "hosts": 2, "rtt": "90ms", "access": {}},
        {"name": "short", "each_hop": [1, 3, 5, 7], "rtt": "30ms", "access": {}},
    ]
    network = lot(groups, count=7, rate="100mbit", delay="5ms", queue={"limit": "1bdp"}).network
    assert len(crossed(network, "long")) == len(crossed(network, "middle")) == 9
    assert [len(crossed(network, "short", n)) for n in range(4)] == [3] * 4
    assert [rtt_ms(network, name) for name in ("long", "middle", "short")] == pytest.approx(
        [180, 90, 30]
    )


def test_groups_enter_and_leave_anywhere_in_either_direction() -> None:
    groups = [{"name": "inner", "enter": 2, "leave": 4}, {"name": "back", "enter": 5, "leave": 3}]
    network = lot(groups).network
    assert crossed(network, "inner")[1:-1] == ["hop2:forward", "hop3:forward"]
    assert crossed(network, "back")[1:-1] == ["hop4:reverse", "hop3:reverse"]
    assert rtt_ms(network, "back") == pytest.approx(120)


def test_hops_may_differ() -> None:
    fast = {**LINK, "rate": "50mbit", "delay": {"forward": "1ms", "reverse": "4ms"}}
    found = layout(
        "parking-lot", hops=[{**LINK, "count": 2}, fast], groups=[{"name": "a", "hosts": 1}]
    )
    rates = [link.forward.rate_bps for link in found.network.links[:3]]
    assert rates == [10_000_000, 10_000_000, 50_000_000]
    assert rtt_ms(found.network, "a") == pytest.approx(80 + 40 + 5)
    assert found.queues["hop3:reverse"].where == (
        "topology", "hops", 1, "queue", "reverse", "limit",
    )  # fmt: skip
    assert found.scenario_paths["hop2"] == ("topology", "hops", 0)


def test_one_mapping_of_hops_is_written_back_as_one() -> None:
    spec = topology("parking-lot", hops={"count": 2, **LINK}, groups=[{"name": "a"}])
    written = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert written["hops"]["count"] == 2
    assert TOPOLOGIES.found["parking-lot"].model_validate(written) == spec
    assert spec.layout(1).scenario_paths["hop2"] == ("topology", "hops")


@pytest.mark.parametrize(
    ("group", "path", "why"),
    [
        ({"enter": 6}, ("enter",), "there is no router 6; valid: 1 to 5"),
        ({"leave": 9}, ("leave",), "there is no router 9"),
        ({"enter": 0}, ("enter",), "greater than or equal to 1"),
        ({"enter": 3, "leave": 3}, (), "crosses no hop"),
        ({"enter": 5}, (), "crosses no hop"),
        ({"enter": 2, "each_hop": "all"}, ("enter",), "not both"),
        ({"each_hop": [1, 5]}, ("each_hop", 1), "there is no hop 5; valid: 1 to 4"),
        ({"each_hop": [2, 2]}, ("each_hop", 1), "hop 2 is given twice"),
        (
            {"each_hop": 3},
            ("each_hop",),
            "`3` is not valid; valid: all, odd, even, or a list such as [1, 3]",
        ),
        ({"each_hop": "od"}, ("each_hop",), "(did you mean `odd`?)"),
        ({"each_hop": []}, ("each_hop",), "there is no such hop: there are 4"),
        ({"each_hop": ["2"]}, ("each_hop", 0), "valid integer"),
        ({"each_hop": [2.0]}, ("each_hop", 0), "valid integer"),
        ({"hosts": 300, "each_hop": "all"}, None, "more than 1000 pairs of hosts"),
        (
            {"rtt": "79ms", "access": {}},
            ("rtt",),
            "an RTT of 79ms is less than the 80ms that the links between the routers take",
        ),
    ],
)
def test_a_fault_of_a_parking_lots_group_is_reported_at_its_place(
    group: dict[str, Any], path: tuple[Any, ...] | None, why: str
) -> None:
    ((where, message),) = faults(
        "parking-lot", hops={"count": 4, **LINK}, groups=[{"name": "a", **group}]
    )
    assert where == (("groups",) if path is None else ("groups", 0, *path))
    assert why in message


def test_a_fault_of_the_hops_is_reported_at_its_place() -> None:
    groups = [{"name": "a"}]
    assert faults("parking-lot", hops={**LINK, "count": 0}, groups=groups)[0][0] == (
        "hops",
        "count",
    )
    assert faults("parking-lot", hops=[LINK, {"rate": "x"}], groups=groups)[0][0][:2] == ("hops", 1)
    assert faults("parking-lot", hops=[], groups=groups) == [
        (("hops",), "must be 1 to 100 hops, not 0")
    ]
    assert faults("parking-lot", hops=4, groups=groups)[0][0] == ("hops",)


def test_rtt_split_has_the_papers_rtts() -> None:
    # Capone et al. Fig. 15
    link = {"rate": "10mbit", "delay": "25ms", "queue": {"limit": "1bdp"}}
    groups: list[dict[str, Any]] = [
        {"name": "far", "hosts": 5, "enter": "n1"},
        {"name": "near", "hosts": 5, "enter": "n2"},
    ]
    found = layout("rtt-split", first=link, second=link, access={"delay": "0ms"}, groups=groups)
    network = found.network
    assert [rtt_ms(network, name, 4) for name in ("far", "near")] == pytest.approx([100, 50])
    assert crossed(network, "far")[1:-1] == ["first:forward", "second:forward"]
    assert crossed(network, "near")[1:-1] == ["second:forward"]
    assert network.bottlenecks == ("first", "second")


def test_wired_wireless_has_the_papers_delays() -> None:
    # Grieco & Mascolo Fig. 26: 125 ms one way, 20 ms of it on the 2 Mbit/s wireless hop
    groups: list[dict[str, Any]] = [
        {"name": "tcp", "rtt": "250ms", "access": {}},
        {"name": "cross", "hosts": 5, "leave": "r2", "rtt": {"from": "66ms", "to": "250ms"},
         "access": {}},
    ]  # fmt: skip
    wireless = {"rate": "2mbit", "delay": "20ms", "loss": "1%", "queue": {"limit": "40p"}}
    network = layout("wired-wireless", wired=LINK, wireless=wireless, groups=groups).network
    assert crossed(network, "tcp")[1:-1] == ["wired:forward", "wireless:forward"]
    assert crossed(network, "cross")[1:-1] == ["wired:forward"]
    assert [rtt_ms(network, "tcp"), rtt_ms(network, "cross", 4)] == pytest.approx([250, 250])
    assert network.links[1].reverse.mean_loss == 0.01


def test_mixed_shares_the_bottleneck_with_cross_traffic() -> None:
    groups: list[dict[str, Any]] = [
        {"name": "tcp", "hosts": 4},
        {"name": "udp", "hosts": 30, "enter": "n2", "leave": "n4"},
    ]
    wireless = {**LINK, "loss": "0.1%"}
    network = layout("mixed", wired=LINK, bottleneck=LINK, wireless=wireless, groups=groups).network
    assert [name.split(":")[0] for name in crossed(network, "tcp")[1:-1]] == [
        "wired1", "wired2", "bottleneck", "wireless",
    ]  # fmt: skip
    assert crossed(network, "udp", 29)[1:-1] == ["wired2:forward", "bottleneck:forward"]
    ((where, message),) = faults(
        "mixed", wired=LINK, bottleneck=LINK, wireless=LINK,
        groups=[{"name": "a", "enter": "n3", "leave": "n3"}],
    )  # fmt: skip
    assert (where, "crosses no link" in message) == (("groups", 0), True)


@pytest.mark.parametrize(
    ("given", "one_way_ms"), [({}, 275), ({"orbit": "meo"}, 110), ({"delay": "250ms"}, 250)]
)
def test_a_satellite_has_the_delay_of_its_orbit(given: dict[str, Any], one_way_ms: float) -> None:
    link = {"rate": "10mbit", "queue": {"limit": "1bdp"}, **given}
    groups = [{"name": "a", "access": {"delay": "10ms"}}]
    network = layout("satellite", satellite=link, groups=groups).network
    # Grieco & Mascolo section 3.4: 590 ms with 10 ms access links
    assert rtt_ms(network, "a") == pytest.approx(2 * one_way_ms + 40)
    assert network.bottlenecks == ("satellite",)
