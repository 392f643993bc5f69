"""The back end ``lab`` with emulation: five hosts inside the guest's kernel, booted in real time.

A boot does several steps (tests/lab/inside.py); the tests look at what came of each. The boot has
one CPU, which is its worker's: tests on other CPUs do not disturb it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guest.build import GuestKernel
from tests.lab.in_guest import after
from tests.lab.inside import NEED_NETEM, NEED_NETEM_AND_LONG
from tests.support.failed_checks import failed_of_themselves

pytestmark = [pytest.mark.guest, pytest.mark.long]

ROUTER = "router (root@10.231.102.2 port 2200)"


@pytest.fixture(scope="module")
def results(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return after(kernel, tmp_path_factory.mktemp("lab"), *NEED_NETEM)


@pytest.mark.parametrize("step", [step.__name__ for step in NEED_NETEM])
def test_all_hosts_are_restored_after_a_run(results: dict[str, Any], step: str) -> None:
    assert results[step]["left"] == []


def test_a_router_emulates_the_requested_link(results: dict[str, Any]) -> None:
    found = results["emulated"]
    (run,) = found["runs"]
    assert run["status"] == "ok", run["error"]
    assert run["backend"] == "lab"
    # Five hosts, a controller and their servers share one emulated CPU: it is told.
    assert failed_of_themselves(run) == set(), f"{run['fidelity']}"
    checks = {check["name"]: check for check in run["fidelity"]["checks"]}
    for name in (
        "base_rtt", "clock_agreement", "settings_changed", "hosts_as_requested", "events_applied",
    ):  # fmt: skip
        assert checks[name]["ok"] is True, f"{checks[name]}"
    by_number = checks["loss by number bottleneck:forward"]
    assert (by_number["ok"], by_number["measured"]) == (True, 3), f"{by_number}"
    assert checks["settings_changed"]["detail"].startswith("10 channels")
    assert checks["clock_agreement"]["measured"] < 5e-3
    forward = next(link for link in run["links"] if link["direction"] == "forward")
    assert forward["utilisation"] == pytest.approx(1.0, abs=0.02)
    # 40 packets are 97 ms at 5 Mbit/s and 161 ms at the 3 Mbit/s from second 9 on.
    assert 0.05 < forward["queue_delay_p95_s"] < 0.165
    bulk = [flow for flow in run["flows"] if flow["name"].startswith("bulk")]
    assert [flow["congestion_control"] for flow in bulk] == ["reno", "reno"]
    assert sum(flow["goodput_bps"] for flow in bulk) == pytest.approx(4.2e6, rel=0.1)
    for flow in run["flows"]:
        # Two delays of 20 ms, and 50 bytes at 5 Mbit/s there and back.
        assert flow["base_rtt_s"] == 0.04016
        assert flow["base_rtt_measured_s"] == pytest.approx(0.04, abs=2e-3)


def test_what_captures_of_a_lab_lose_is_counted_and_told(results: dict[str, Any]) -> None:
    found = results["emulated"]
    captured = found["captured"]
    assert [host["host"] for host in captured["hosts"]] == ["a_src0", "a_src1", "a_dst0", "a_dst1"]
    for host in captured["hosts"]:
        assert host["kept"] <= 28 < host["seen"]
        assert host["seen"] - host["lost"] == 28
        told = f"{host['host']} lost {host['lost']} of {host['seen']} frames, for which its buffer"
        assert f"incomplete: {told} had no room" in found["shown"]
    first_ns, last_ns = captured["times_ns"]
    assert 4 * 10**9 <= first_ns < last_ns < 10 * 10**9


def test_a_lost_router_is_reported_and_undoes_its_emulation(
    kernel: GuestKernel, tmp_path: Path
) -> None:
    found = after(kernel, tmp_path, *NEED_NETEM_AND_LONG)["lost_router"]
    assert found["left"] == []
    (run,) = found["runs"]
    assert (found["status"], run["status"]) == (1, "failed")
    assert run["error"].startswith(f"lost host {ROUTER} ")
    assert " s into traffic (2" in run["error"]
    assert "released: sender1, sender2, receiver1, receiver2" in run["error"]


def test_all_obstacles_are_reported_at_once(results: dict[str, Any]) -> None:
    found = results["unfit"]
    assert (found["status"], found["runs"]) == (4, [])
    rows = [line.split("  ") for line in found["said"].splitlines() if line.startswith("  ")]
    told = {(row[1].strip(), text.strip()) for row in rows for text in row[2:] if text.strip()}
    expected = {
        ("sender2", "eth1 has an MTU of 9000, and a bottleneck's frames have 1500"),
        ("sender2", "ip link set eth1 mtu 1500"),
        ("router", "it does not forward"),
        ("router", "sysctl -w net.ipv4.ip_forward=1"),
        ("router", "eth2 has prio 7:, which somebody else has set"),
        ("router", "tc qdisc del dev eth2 root"),
        ("receiver1", "there is no interface eth7"),
    }
    assert expected <= told
    assert "name one of these in the scenario's `lab`: eth0, eth1" in found["said"]
    assert "4 problems prevent the lab run; nothing was run" in found["said"]
