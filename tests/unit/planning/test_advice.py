"""Warnings about values that are valid but look like mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.planning.plan import plan
from orchestrator.scenario import load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
BOTTLENECK = "topology.bottleneck"


def warnings(*overrides: str) -> list[str]:
    return [fault.message for fault in plan(load(QUICKSTART, overrides)).warnings]


def places(*overrides: str) -> list[tuple[str, int, int]]:
    found = plan(load(QUICKSTART, overrides)).warnings
    return [(Path(fault.file).name, fault.line, fault.column) for fault in found]


def test_the_quickstart_has_no_warning() -> None:
    assert warnings() == []
    assert plan(load(QUICKSTART, [])).describe().warnings == []


def test_a_queue_below_four_packets_is_a_warning() -> None:
    override = f"{BOTTLENECK}.queue.limit=3p"
    assert warnings(override) == [
        "the queue of bottleneck:forward holds 3 full-size packets: a fast retransmit needs "
        "room for 4"
    ]
    assert places(override) == [("--set topology.bottleneck.queue.limit=3p", 1, 33)]
    assert warnings(f"{BOTTLENECK}.queue.limit=4p")[0].startswith("the queue of bottleneck:fo")


def test_a_queue_below_a_tenth_of_the_bdp_is_a_warning() -> None:
    # 82.6 packets: 8 are below a tenth of it, 9 are not
    assert warnings(f"{BOTTLENECK}.queue.limit=9p") == []
    assert warnings(f"{BOTTLENECK}.queue.limit=8p") == [
        "the queue of bottleneck:forward holds 8 full-size packets, 0.097 of the bandwidth-delay "
        "product of 83 (propagation RTT 100ms): flows may not fill the link"
    ]
    # the reverse queue holds acknowledgements only, unless data go there too
    reverse = f"{BOTTLENECK}.queue={{forward: {{limit: 100p}}, reverse: {{limit: 5p}}}}"
    assert warnings(reverse) == []
    assert "bottleneck:reverse holds 5" in warnings(reverse, "flows.reno.direction=reverse")[0]


def test_access_links_slower_in_all_than_the_bottleneck_are_a_warning() -> None:
    slow = "topology.groups.a.access.rate=6mbit"
    assert warnings(slow) == []  # with the other group there is enough
    assert warnings(slow, "topology.groups.b.access.rate=3mbit") == [
        "the links that feed bottleneck:forward have 9mbit together, less than its 10mbit: it is "
        "not the bottleneck",
        "the links that drain bottleneck:forward have 9mbit together, less than its 10mbit: it "
        "is not the bottleneck",
    ]
    unlimited = "topology.groups.b.access={delay: 20ms}"
    assert warnings(slow, unlimited) == []


def test_a_group_that_no_flow_uses_is_a_warning() -> None:
    assert warnings("flows.reno.group=a") == ["no flow uses group b"]
    assert places("flows.reno.group=a") == [("quickstart.yaml", 13, 7)]


def test_links_that_no_flow_crosses_are_a_warning() -> None:
    ring = QUICKSTART.parent / "tutorial" / "13-custom-ring.yaml"
    found = plan(load(ring)).warnings
    assert [fault.message for fault in found] == [
        "no flow crosses link r1-r2",
        "no flow crosses link r2-r3",
    ]
    lines = ring.read_text().splitlines()
    assert ["[r1, r2]" in lines[found[0].line - 1], "[r2, r3]" in lines[found[1].line - 1]] == [
        True,
        True,
    ]


REROUTE = QUICKSTART.parent / "tutorial" / "52-reroute.yaml"


def test_a_link_that_a_reroute_event_uses_is_not_unused(tmp_path: Path) -> None:
    def found(text: str) -> list[str]:
        file = tmp_path / "reroute.yaml"
        file.write_text(text, encoding="utf-8")
        return [fault.message for fault in plan(load(file)).warnings]

    text = REROUTE.read_text("utf-8")
    assert found(text) == []
    without = text[: text.index("events:")] + text[text.index("sample:") :]
    assert [message for message in found(without) if message.startswith("no flow crosses link")]


ALONE = ("flows=[{name: one, group: a, congestion: reno, traffic: {kind: bulk}}]",
         "topology.groups=[{name: a, hosts: 1, access: {rate: 10mbit, delay: 20ms}}]")  # fmt: skip
IN_FRONT = "the packets of flow one wait in front of a_src0:forward (10mbit)"


def test_an_access_link_no_faster_than_the_bottleneck_is_a_warning() -> None:
    """Its queue has no limit: RTTs of 32 s were measured."""
    (found,) = warnings(*ALONE)
    assert found.startswith(f"{IN_FRONT}, which is no faster than bottleneck:forward (10mbit): ")
    assert warnings(*ALONE, f"{BOTTLENECK}.rate=9.9mbit") == []


@pytest.mark.parametrize(
    ("overrides", "warned"),
    [
        (["topology.groups.a.access.rate=10mbit"], False),  # the other one comes through b
        (["topology.groups.a.access.rate=10mbit", "flows.reno.start=30s"], True),
        (["topology.groups.a.access.rate=10mbit", "flows.reno.start=1s"], False),
        (["topology.groups.a.access.rate=10mbit", "flows.reno.stop=30s"], True),
        (["topology.groups.a.access.rate=10mbit", "flows.reno.start=30s",
          "flows.westwood.traffic.window=20p"], False),
        (["topology.groups.a.access.rate=10mbit", "flows.reno.start=30s",
          "flows.westwood.stop=1s"], False),
        (["topology.groups.a.access.rate=5mbit", "topology.groups.b.access.rate=5mbit"], True),
        (["topology.groups.a.access.rate=5mbit", "topology.groups.b.access.rate=6mbit"], False),
    ],
)  # fmt: skip
def test_who_shares_the_bottleneck_decides_where_packets_wait(
    overrides: list[str], warned: bool
) -> None:
    found = [message for message in warnings(*overrides) if "wait in front of" in message]
    assert bool(found) is warned, found


def test_an_event_that_slows_the_bottleneck_down_counts() -> None:
    slow = "events=[{at: %s, link: bottleneck, rate: 5mbit}]"
    (found,) = warnings(*ALONE, slow % "30s")  # before it the access link is as fast
    assert found.startswith(IN_FRONT)
    assert warnings(*ALONE, slow % "500ms") == []
    # a sum of access links is compared with the least rate of the bottleneck
    feeds = [f"topology.groups.{name}.access.rate=4mbit" for name in "ab"]
    assert not [
        warning
        for warning in warnings(*feeds, slow % "30s")
        if "it is not the bottleneck" in warning
    ]


def test_an_access_link_with_a_queue_of_its_own_is_no_warning() -> None:
    group = "topology.groups=[{name: a, hosts: 1, access: {rate: 10mbit, delay: 20ms, %s}}]"
    assert warnings(ALONE[0], group % "queue: {kind: droptail, limit: 50p}") == []


SAME = "nothing in this scenario is random, so in a guest its 3 repetitions are the same run"


@pytest.mark.parametrize(
    ("override", "warned"),
    [
        ("start_jitter=0ms", True),
        ("start_jitter=10ms", False),
        (f"{BOTTLENECK}.queue.kind=codel", True),
        (f"{BOTTLENECK}.queue.kind=pie", False),
        (f"{BOTTLENECK}.queue.kind=fq_codel", False),
        (f"{BOTTLENECK}.loss=0.1%", False),
        (f"{BOTTLENECK}.jitter=1ms", False),
        ("flows.reno.congestion=vegas", True),
        ("flows.reno.congestion=bbr", False),
        ("flows.reno.traffic={kind: onoff, on: 2s, off: 1s}", True),
        ("flows.reno.traffic={kind: onoff, on: {distribution: exponential, mean: 2s}, off: 1s}",
         False),
        ("flows.reno.traffic={kind: web, sessions: 1/s}", False),
        ("flows.reno.traffic={kind: transfers, size: 10kB, gap: 1s}", True),
        ("events=[{at: 5s, link: bottleneck, state: down}]", True),
        ("events=[{at: 5s, link: bottleneck, loss: 1%}]", False),
    ],
)  # fmt: skip
def test_repetitions_that_cannot_differ_are_a_warning(override: str, warned: bool) -> None:
    fixed = ("start_jitter=0ms", "repetitions=3")
    found = [message for message in warnings(*fixed, override) if message.startswith(SAME)]
    assert bool(found) is warned
    assert not [
        warning for warning in warnings(override, "start_jitter=0ms") if warning.startswith(SAME)
    ]


@pytest.mark.parametrize(
    ("overrides", "shown"),
    [
        (["sample.tcp=200ms"], "tcp every 200ms"),
        (["sample.queue=101ms"], "queue every 101ms"),
        (["sample={tcp: 1s, queue: 2s}"], "tcp every 1s and queue every 2s"),
    ],
)
def test_samples_farther_apart_than_a_round_trip_are_a_warning(
    overrides: list[str], shown: str
) -> None:
    assert warnings(*overrides) == [
        f"samples ({shown}) are further apart than the shortest base RTT of 100.096ms: "
        "plots are coarse, and metrics of flows are not affected"
    ]


def test_default_sampling_periods_are_no_warning(tmp_path: Path) -> None:
    file = tmp_path / "short.yaml"
    text = QUICKSTART.read_text().replace("delay: 20ms", "delay: 1ms")
    for sample, found in (("", 0), ("sample: {tcp: 100ms}", 1)):
        file.write_text(text.replace("sample: {tcp: 100ms, queue: 100ms}", sample))
        assert len(plan(load(file)).warnings) == found


def test_transmission_counts_for_sampling_periods_and_not_for_bdps() -> None:
    """At 100 kbit/s, 50 bytes take 4 ms each way, so the base RTT is 108 ms and the BDP 1250 B."""
    slow = (f"{BOTTLENECK}.rate=100kbit", f"{BOTTLENECK}.queue.limit=4p")
    assert warnings(*slow, "sample.tcp=108ms", "sample.queue=105ms") == []
    (found,) = warnings(*slow, "sample.tcp=109ms")
    assert "the shortest base RTT of 108.016ms: " in found
    # Access links of 64 kbit/s add 25 ms to the base RTT.
    access = [f"topology.groups.{name}.access.rate=64kbit" for name in "ab"]
    assert "the bandwidth-delay product of 83 (propagation RTT 100ms)" in "".join(
        warnings(f"{BOTTLENECK}.queue.limit=8p", *access)
    )


def test_windows_beyond_tcps_limit_and_a_large_guest_are_warnings() -> None:
    long = [f"{BOTTLENECK}={{rate: 50gbit, delay: 200ms}}", "topology.groups.a.access={delay: 0s}",
            "topology.groups.b.access={delay: 0s}"]  # fmt: skip
    found = warnings(*long)
    assert found[:2] == [
        "flow westwood needs a window of 2.3 GiB to fill its path; TCP's largest window is 1 GiB "
        "(RFC 7323)",
        "flow reno needs a window of 2.3 GiB to fill its path; TCP's largest window is 1 GiB "
        "(RFC 7323)",
    ]
    assert found[2] == ("the guest may need 19.6 GiB of memory for packets in flight and queued")


def test_variants_that_are_alike_warn_once() -> None:
    assert len(warnings("flows.reno.group=a", "matrix={seed: [1, 2, 3]}")) == 1
