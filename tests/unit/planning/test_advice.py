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
    assert plan(load(QUICKSTART, [])).describe()["warnings"] == []


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
        f"samples ({shown}) are further apart than the shortest base RTT of 100.096ms"
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
    assert found.endswith("the shortest base RTT of 108.016ms")
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
