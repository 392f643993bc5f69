"""The back end ``lab`` over a live path: five namespaces of this machine, each with an sshd.

What needs a queue or a delay is tried in the guest (tests/guest/test_lab.py).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from results.export import export
from results.store.store import Store
from results.traces.choice import TraceChoice
from tests.lab import inside
from tests.lab.namespaces import Lab
from tests.support import pcapng

RECEIVERS_PORT = (5001).to_bytes(2, "big")
"""In the frames' bytes 36 and 37: IPv4's header has no options."""

pytestmark = [
    pytest.mark.lab_hosts,
    pytest.mark.skipif(
        os.geteuid() != 0,
        reason="only root can make the hosts: network namespaces with servers of their own",
    ),
]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    # By a clock that is far ahead: all times of this host have to be corrected.
    with Lab(tmp_path_factory.mktemp("lab"), {"receiver1": 5000}) as hosts:
        yield hosts


def lost(found: dict[str, Any], host: str) -> str:
    """Return what is told of the one failed run, which lost that host; all is as it was."""
    assert found["left"] == []
    (run,) = found["runs"]
    assert (found["status"], run["status"]) == (1, "failed"), found["said"]
    error: str = run["error"]
    assert error.startswith(f"lost host {host} (root@10.231."), error
    assert " s into traffic (2" in error
    others = [each for each in ("sender1", "sender2", "receiver1", "receiver2") if each != host]
    assert f"released: {', '.join(others)}" in error
    return error


@pytest.fixture(scope="module")
def live(hosts: Lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return inside.live(hosts, tmp_path_factory.mktemp("live") / "live")


@pytest.mark.real_time
def test_every_kind_of_traffic_runs_over_a_live_path(live: dict[str, Any]) -> None:
    assert live["left"] == []
    (run,) = live["runs"]
    assert run["status"] == "ok", run["error"]
    assert run["metrics"]["utilisation"] is None
    assert run["metrics"]["queue_delay_mean_s"] is None
    assert all(link["utilisation"] is None for link in run["links"])
    flows = {flow["name"]: flow for flow in run["flows"]}
    turns = [flows[f"turns-{control}[{host}]"] for control in ("reno", "cubic") for host in (0, 1)]
    # Behind the first second: those from 2.2 s and 4.4 s; from 1 s, 3.2 s and 5.4 s.
    assert [flow["transfers_completed"] for flow in turns] == [2, 2, 3, 3]
    assert [flow["transfer_bytes"] for flow in turns] == [200_000] * 2 + [300_000] * 2
    controls = [flow["congestion_control"] for flow in turns]
    assert controls == ["reno", "reno", "cubic", "cubic"]
    for host in (0, 1):
        assert flows[f"files[{host}]"]["transfers_completed"] >= 5
        assert flows[f"files[{host}]"]["fct_p50_s"] < 0.4
        voice = flows[f"slow[{host}]"]
        assert (voice["loss_ratio"], voice["sent_packets"]) == (0.0, voice["received_packets"])
        # One host's clock is 5000 s ahead.
        assert 0 < voice["one_way_delay_mean_s"] < 0.1
        assert 0 < voice["base_rtt_s"] == voice["base_rtt_measured_s"] < 5e-3
    checks = {check["name"]: check["ok"] for check in run["fidelity"]["checks"]}
    assert checks["clock_agreement"] is True
    assert checks["path a_src0 to a_dst0"] is True
    assert checks["settings_changed"] is True
    assert checks["hosts_as_requested"] is True
    assert "base_rtt" not in checks


@pytest.mark.real_time
def test_captures_have_each_packet_that_the_kernel_and_the_flows_counted(
    live: dict[str, Any],
) -> None:
    captured = live["captured"]
    assert sorted(captured["flows"])[:2] == ["bytes[0]", "bytes[1]"]
    for name, flow in captured["flows"].items():
        sent, got_back, got, sent_back = flow["frames"]
        assert (sent, got_back) == (got, sent_back), name  # nothing is lost on veth
        counted = flow["counted"]
        if name.startswith(("bytes", "slow")):
            assert [sent, got_back, got] == counted[:3], name
        # A connection that was closed has sent and got a few segments since it was last read.
        for number, known in zip(flow["frames"], counted, strict=True):
            assert 0 <= number - known <= 1 + number // 10, name
        assert sent > 100, name
    for machine, interface in captured["interfaces"].items():
        # ARP and IPv6's own messages come, too.
        assert 0 <= interface["rx_packets"] - interface["frames"] < 20, machine
    for host in captured["hosts"]:
        assert host["lost"] == 0
        assert host["seen"] == host["kept"]


@pytest.mark.real_time
def test_frames_of_a_lab_are_exported_with_the_clock_of_their_host(
    live: dict[str, Any], tmp_path: Path
) -> None:
    for host, machine in (("a_src0", "sender1"), ("a_dst0", "receiver1")):
        assert f"times at {host} are by the clock of {machine}, within " in live["shown"]
    words = [
        "export",
        "last",
        "--db",
        live["db"],
        "--at",
        "all",
        "-o",
        str(tmp_path / "all.pcapng"),
    ]
    done = subprocess.run([inside.PROGRAM, *words], capture_output=True, text=True, check=True)
    assert "times at a_dst1 are by the clock of receiver2, within " in done.stderr
    with Store.open_read_only(Path(live["db"])) as store:
        run = store.load("last")
        for form in ("pcapng", "tcpdump"):
            export(run, form, tmp_path / f"a_src0.{form}", choice=TraceChoice(place="a_src0"))
    counted = live["captured"]["flows"]["bytes[0]"]["frames"]
    packets = pcapng.read(tmp_path / "a_src0.pcapng").packets
    assert sum(packet.captured[36:38] == RECEIVERS_PORT for packet in packets) == counted[0]
    lines = (tmp_path / "a_src0.tcpdump").read_text().splitlines()
    assert sum("> 10.231.2.11.5001: Flags" in line for line in lines) == counted[0]


def test_a_connection_that_is_cut_is_a_lost_host(hosts: Lab, tmp_path: Path) -> None:
    assert "its connection ended" in lost(
        inside.lost_connection(hosts, tmp_path / "a"), "receiver2"
    )


def test_an_agent_that_is_killed_is_a_lost_host(hosts: Lab, tmp_path: Path) -> None:
    error = lost(inside.lost_worker(hosts, tmp_path / "a"), "sender1")
    assert "its agent ended (signal 9)" in error


def test_a_host_is_cleaned_up_without_its_cleanup_process(hosts: Lab, tmp_path: Path) -> None:
    lost(inside.lost_cleanup_process(hosts, tmp_path / "a"), "sender2")


def test_a_host_that_goes_silent_is_lost(hosts: Lab, tmp_path: Path) -> None:
    assert "keepalive" in lost(inside.lost_network(hosts, tmp_path / "a"), "receiver1")


def test_hosts_are_free_when_the_controller_is_killed(hosts: Lab, tmp_path: Path) -> None:
    found = inside.lost_controller(hosts, tmp_path / "a")
    assert found["left"] == []
    (run,) = found["runs"]
    assert (found["status"], run["status"]) == (-9, "interrupted")


def test_hosts_are_free_after_ctrl_c(hosts: Lab, tmp_path: Path) -> None:
    found = inside.interrupted(hosts, tmp_path / "a")
    assert found["left"] == []
    (run,) = found["runs"]
    assert (found["status"], run["status"]) == (130, "interrupted")


@pytest.mark.long
def test_hosts_without_a_route_are_reported_and_nothing_is_stored(
    hosts: Lab, tmp_path: Path
) -> None:
    found = inside.no_way(hosts, tmp_path / "a")
    for each in found.values():
        assert (each["status"], each["runs"], each["left"]) == (4, [], [])
    said = found["unreachable"]["said"]
    assert "1 problem prevents the lab run" in said
    assert "no answer within 15 s" in said
    said = found["routes"]["said"]
    assert "receiver1  packets to sender1 (10.231.1.11) have no route" in said
    assert "sender1    no echo comes back from receiver1 (10.231.2.11)" in said
