"""Paths through a network: least delay, ties by hops and then by the order of the links."""

from __future__ import annotations

import pytest

from orchestrator.network import Channel, Group, Link, Network, crossing_ns, path_delay_s


def network(*links: tuple[str, str, str, float], hosts: str = "h k") -> Network:
    names = tuple(hosts.split())
    nodes = dict.fromkeys(node for _, a, b, _ in links for node in (a, b))
    return Network(
        names,
        tuple(node for node in nodes if node not in names),
        tuple(Link(name, a, b, Channel(d), Channel(d)) for name, a, b, d in links),
        (Group("g", (names[0],), (names[1],)),),
        (),
    )


def crossed(net: Network, source: str = "h", sink: str = "k") -> list[str]:
    return [hop.name for hop in net.path(source, sink)]


RING = (
    ("hr", "h", "r1", 0.001),
    ("r12", "r1", "r2", 0.010),
    ("r23", "r2", "r3", 0.010),
    ("r34", "r3", "r4", 0.001),
    ("r45", "r4", "r5", 0.001),
    ("r51", "r5", "r1", 0.001),
    ("rk", "r3", "k", 0.001),
)


def test_the_path_of_least_delay_may_have_more_hops() -> None:
    net = network(*RING)
    assert crossed(net) == ["hr:forward", "r51:reverse", "r45:reverse", "r34:reverse", "rk:forward"]
    assert path_delay_s(net.path("h", "k")) == pytest.approx(0.005)
    assert net.propagation_rtt_s("h", "k") == pytest.approx(0.010)


def test_the_reverse_path_follows_its_own_delays() -> None:
    there, back = Channel(0.001), Channel(0.5)
    net = Network(
        ("h", "k"),
        ("s",),
        (
            Link("fast", "h", "s", there, back),
            Link("slow", "h", "s", Channel(0.1), Channel(0.1)),
            Link("last", "s", "k", there, there),
        ),
        (),
        (),
    )
    assert crossed(net) == ["fast:forward", "last:forward"]
    assert crossed(net, "k", "h") == ["last:reverse", "slow:reverse"]
    assert net.propagation_rtt_s("h", "k") == pytest.approx(0.103)


def test_ties_go_to_fewer_hops_and_then_to_the_first_link() -> None:
    fewer = network(
        ("a", "h", "s", 0.0), ("b", "s", "t", 0.0), ("c", "t", "k", 0.0), ("d", "s", "k", 0.0)
    )
    assert crossed(fewer) == ["a:forward", "d:forward"]
    first = network(("a", "h", "s", 0.0), ("one", "s", "k", 0.01), ("two", "s", "k", 0.01))
    assert crossed(first) == ["a:forward", "one:forward"]


def test_hosts_do_not_forward() -> None:
    net = network(("a", "h", "x", 0.0), ("b", "x", "k", 0.0), hosts="h k x")
    with pytest.raises(LookupError, match="no path from h to k"):
        net.path("h", "k")


def test_groups_are_found_by_name() -> None:
    net = network(("a", "h", "k", 0.0))
    assert net.group("g").sources == ("h",)


def test_every_switch_forwards_along_the_planned_path() -> None:
    # A grid of equal delays has many ties; sums of 0.1 s differ by the order of adding.
    size = 4
    links = [
        (f"{a}{b}", f"n{a}", f"n{b}", 0.1)
        for row in range(size)
        for column in range(size)
        for a in [row * size + column]
        for b in [a + 1] * (column < size - 1) + [a + size] * (row < size - 1)
    ]
    ends = (("h", "h", "n0", 0.0), ("k", "n15", "k", 0.0))
    net = network(*links, *ends)
    for source, sink in (("h", "k"), ("k", "h")):
        path = net.path(source, sink)
        assert len(path) == 2 + 2 * (size - 1)
        node = source
        for hop in path:
            assert net.next_hop(node, sink) == hop
            node = hop.link.b if hop.direction == "forward" else hop.link.a
        assert node == sink


def test_zero_delays_make_no_loop() -> None:
    net = network(
        ("h", "h", "a", 0.0), ("ab", "a", "b", 0.0), ("bc", "b", "c", 0.0), ("ca", "c", "a", 0.0),
        ("k", "c", "k", 0.0),
    )  # fmt: skip
    assert crossed(net) == ["h:forward", "ca:reverse", "k:forward"]


def test_a_frame_is_transmitted_by_each_link_and_propagates_over_it() -> None:
    channels = (Channel(0.001, 3_000_000), Channel(0.010), Channel(0.0, 64_000))
    names = "abcd"
    net = Network(
        ("a", "d"),
        ("b", "c"),
        tuple(
            Link(a + b, a, b, channel, Channel(0.5))
            for a, b, channel in zip(names, names[1:], channels, strict=False)
        ),
        (Group("g", ("a",), ("d",)),),
        (),
    )
    # 400 bits at 3 Mbit/s are 133333.3 ns, of which the kernel has whole ones.
    expected_ns = 133_333 + 1_000_000 + 10_000_000 + 6_250_000
    assert crossing_ns(net.path("a", "d"), 50) == expected_ns
    assert crossing_ns(net.path("d", "a"), 50) == 3 * 500_000_000
    assert crossing_ns((), 50) == 0
