"""MTUs of links other than 1500: goodput, mixed paths, datagrams, and a missing route's MTU."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guest.conftest import Run
from tests.support.failed_checks import failed_checks

pytestmark = pytest.mark.guest

RATE_BPS = 10e6


def overrides(mtu: int, access: int, flow: str) -> list[str]:
    return [
        f"topology.bottleneck.mtu={mtu}",
        "topology.groups=[{name: a, hosts: 1, access: {rate: 1gbit, delay: 5ms}}]",
        f"topology.groups.a.access.mtu={access}",
        "topology.bottleneck.queue.limit=300p",
        f"flows=[{{name: one, group: a, {flow}}}]",
        "duration=15s",
        "warmup=5s",
        "start_jitter=0ms",
    ]  # fmt: skip


BULK = "congestion: reno, traffic: {kind: bulk, window: 200p}"
"""It fills the link, and its window is too small for losses."""


@pytest.mark.parametrize(("mtu", "access"), [(576, 576), (9000, 9000), (9216, 9216), (576, 9000),
                                             (1500, 9000), (9000, 1500), (9000, 576)])  # fmt: skip
def test_a_bulk_flow_sends_segments_of_its_path_s_smallest_mtu(
    run: Run, mtu: int, access: int
) -> None:
    document = run(*overrides(mtu, access, BULK))
    smallest = min(mtu, access)
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    (flow,) = document["flows"]
    share = (smallest - 52) / (smallest + 14)
    assert flow["goodput_bps"] == pytest.approx(RATE_BPS * share, rel=0.005)
    assert flow["retransmitted_segments"] == 0
    names = {check["name"].split()[0] for check in document["fidelity"]["checks"]}
    assert {"burst_rate", "full_queue_delay", "hosts_as_requested", "receive_window"} <= names


@pytest.mark.parametrize(
    ("mtu", "limit"),
    [(576, "60kB"), (9000, "300p"), pytest.param(9000, "500kB", marks=pytest.mark.long)],
)
def test_losses_and_limits_are_faithful_with_other_frames(run: Run, mtu: int, limit: str) -> None:
    document = run(
        *overrides(mtu, mtu, "congestion: cubic, traffic: {kind: bulk}"),
        f"topology.bottleneck.queue.limit={limit}",
        "topology.bottleneck.loss=0.1%",
        "topology.bottleneck.policer={rate: 9mbit, burst: 50kB}",
    )
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    assert document["flows"][0]["retransmitted_segments"] > 0
    names = {check["name"].split()[0] for check in document["fidelity"]["checks"]}
    assert {"policer_rate", "policer_burst", "burst_rate"} <= names


@pytest.mark.parametrize("mtu", [576, 9000])
def test_datagrams_may_be_as_large_as_the_mtu(run: Run, mtu: int) -> None:
    traffic = f"traffic: {{kind: cbr, rate: 5mbit, packet_size: {mtu}B}}"
    document = run(*overrides(mtu, mtu, traffic))
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    (flow,) = document["flows"]
    assert flow["goodput_bps"] == pytest.approx(5e6 * (mtu - 28) / (mtu + 14), rel=0.002)


def test_without_the_route_s_mtu_switches_drop_full_segments(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(
        "from orchestrator.protocol.numbering import HOST_PREFIX_LENGTH\n"
        "from orchestrator.testbed.kernel import netlink\n"
        "from orchestrator.testbed.network import nodes, rtnl\n"
        "for host in spec['hosts']:\n"
        "    with bed.enter(host['name']):\n"
        "        route = netlink.Netlink()\n"
        "        place = (nodes.HOST_INDEX, host['address'], HOST_PREFIX_LENGTH)\n"
        "        rtnl.set_route_metrics(route, *place, {}, 'no MTU')\n"
        "        route.flush()\n"
        "        route.close()\n"
    )
    document = run(*overrides(1500, 9000, "traffic: {kind: bulk}"), hook=hook)
    assert {"hosts_as_requested", "conservation"} <= failed_checks(document)
    assert document["flows"][0]["goodput_bps"] < 0.5 * RATE_BPS
