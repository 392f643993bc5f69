"""Queue limits: packets stay packets, everything else becomes link-layer bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import ScenarioError
from orchestrator.network import Queue
from orchestrator.planning.plan import RunSpec, plan
from orchestrator.protocol.links.qdisc import Qdisc, Setting
from orchestrator.scenario import load

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
LIMIT = "topology.bottleneck.queue.limit"


def run(*overrides: str) -> RunSpec:
    return plan(load(QUICKSTART, overrides)).runs[0]


def droptail(limit_packets: int | None = None, limit_bytes: int | None = None) -> Queue:
    if limit_packets is not None:
        qdisc = Qdisc("pfifo", (Setting("limit_packets", (), limit_packets),))
    else:
        qdisc = Qdisc("bfifo", (Setting("limit_bytes", (), limit_bytes or 0),))
    return Queue("droptail", qdisc, limit_packets, limit_bytes)


def queues(*overrides: str) -> list[Queue | None]:
    link = run(*overrides).network.links[0]
    return [link.forward.queue, link.reverse.queue]


@pytest.mark.parametrize(
    ("limit", "queue"),
    [
        ("1p", droptail(limit_packets=1)),
        ("100p", droptail(limit_packets=100)),
        ("150kB", droptail(limit_bytes=150_000)),
        ("1514B", droptail(limit_bytes=1514)),
        ("20ms", droptail(limit_bytes=25_000)),
        ("1.2112ms", droptail(limit_bytes=1514)),
        # 10 Mbit/s x 100 ms / 8: the base RTT is 0.1 s to the nanosecond
        ("1bdp", droptail(limit_bytes=125_000)),
        ("2.5bdp", droptail(limit_bytes=312_500)),
        ("1bdp(min)", droptail(limit_bytes=125_000)),
        ("0.0122bdp", droptail(limit_bytes=1525)),
    ],
)
def test_every_form_of_a_limit_gives_its_queue(limit: str, queue: Queue) -> None:
    assert queues(f"{LIMIT}={limit}") == [queue, queue]


def test_the_default_is_one_bdp() -> None:
    assert (
        queues("topology.bottleneck={rate: 8mbit, delay: 10ms}")
        == [droptail(limit_bytes=100_000)] * 2
    )


def test_a_bdp_uses_the_largest_or_smallest_propagation_rtt_that_crosses() -> None:
    slow = "topology.groups.b.access.delay=70ms"  # propagation RTTs: a 100 ms, b 300 ms
    assert queues(f"{LIMIT}=1bdp", slow)[0] == droptail(limit_bytes=375_000)
    assert queues(f"{LIMIT}=1bdp(min)", slow)[0] == droptail(limit_bytes=125_000)
    # a group that no flow uses does not count
    assert queues(f"{LIMIT}=1bdp", slow, "flows.reno.group=a")[0] == droptail(limit_bytes=125_000)


def test_each_direction_has_its_own_rate_and_acks_count_as_crossing() -> None:
    forward, reverse = queues(
        f"{LIMIT}=1bdp", "topology.bottleneck.rate={forward: 10mbit, reverse: 1mbit}"
    )
    assert forward == droptail(limit_bytes=125_000)
    assert reverse == droptail(limit_bytes=12_500)


def test_an_access_link_may_have_a_queue() -> None:
    network = run("topology.groups.b.access.queue={limit: 1bdp}").network
    links = {link.name: link for link in network.links}
    assert links["a_src0"].forward.queue == droptail(limit_packets=100_000)
    assert links["b_src0"].forward.queue == droptail(limit_bytes=1_250_000)
    assert not links["a_src0"].forward.is_bottleneck
    assert links["b_dst0"].reverse.is_bottleneck


@pytest.mark.parametrize(
    ("override", "column", "why"),
    [
        (f"{LIMIT}=1513B", 33, "a queue of 1513B holds 1513 bytes: less than one full-size frame"),
        (f"{LIMIT}=1ms", 33, "a queue of 1ms holds 1250 bytes at 10mbit: less than one full-size"),
        (
            f"{LIMIT}=0.01bdp",
            33,
            "a queue of 0.01bdp holds 1250 bytes at 10mbit and a propagation RTT of 100ms: less "
            "than one full-size frame of 1514 bytes",
        ),
        (
            f"{LIMIT}=1h",
            33,
            "a queue of 3600s holds 4500000000 bytes at 10mbit: more than 2^32 - 1",
        ),
        ("topology.bottleneck.queue={limit: 1us}", 35, "holds 1 bytes"),
        (
            "topology.bottleneck={rate: 10mbit, delay: 0ms, queue: "
            "{forward: {limit: 9p}, reverse: {limit: 1us}}}",
            95,
            "holds 1 bytes",
        ),
    ],
)
def test_a_queue_that_cannot_be_built_is_a_fault(override: str, column: int, why: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        run(override)
    (fault,) = refused.value.faults
    assert (fault.file, fault.line, fault.column) == (f"--set {override}", 1, column)
    assert why in fault.message


def test_a_default_queue_that_is_too_short_is_a_fault_of_its_link() -> None:
    with pytest.raises(ScenarioError) as refused:
        run("topology.bottleneck={rate: 8kbit, delay: 10ms}")
    (fault,) = refused.value.faults
    assert fault.column == 21
    assert "a queue of 1bdp holds 100 bytes at 8kbit" in fault.message


def test_a_bdp_needs_a_flow_that_crosses() -> None:
    with pytest.raises(ScenarioError) as refused:
        run("flows.reno.group=a", "topology.groups.b.access.queue={limit: 1bdp}")
    assert (
        "needs the propagation RTT of a flow, and none crosses it"
        in refused.value.faults[0].message
    )


def test_a_fault_of_several_variants_is_reported_once_at_the_matrix(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    matrix = f"matrix:\n  {LIMIT}: [1ms, 20p, 100B]\n  seed: [1, 2]\n"
    file.write_text(QUICKSTART.read_text() + matrix)
    with pytest.raises(ScenarioError) as refused:
        plan(load(file))
    assert [(fault.line, fault.column) for fault in refused.value.faults] == [(19, 37), (19, 47)]


@pytest.mark.parametrize(
    ("override", "column", "place", "packets"),
    [
        (f"{LIMIT}=4294967295p", 33, "--set topology.bottleneck.queue.limit", 4_295_049_858),
        (
            "topology.bottleneck.delay={forward: 600s, reverse: 0s}",
            37,
            "--set topology.bottleneck.delay",
            4_953_764_961,
        ),
    ],
)
def test_more_memory_than_a_guest_can_have_is_a_fault(
    override: str, column: int, place: str, packets: int
) -> None:
    rate = "topology.bottleneck.rate=100gbit"
    with pytest.raises(ScenarioError) as caught:
        run(rate, override)
    (fault,) = caught.value.faults
    assert fault.file.startswith(place)
    assert (fault.line, fault.column) == (1, column)
    assert fault.message.startswith(
        f"{packets} full-size packets can be in flight and queued at bottleneck:forward: the "
    )
    assert fault.message.endswith("its limit is 500 GiB")


def test_a_rate_that_an_event_sets_counts_for_the_memory() -> None:
    event = "{link: bottleneck, at: 10s, rate: 100gbit, delay: 600s}"
    with pytest.raises(ScenarioError, match="of memory, and its limit is"):
        run(f"events=[{event}]")
