"""The default kernel's own tests in guests, as `orchestrator guest test` runs them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.other_kernels import orchestrator

pytestmark = [pytest.mark.guest, pytest.mark.long]

PASS = (
    "bind_bhash.sh", "bind_timewait", "bind_wildcard", "netdevice.sh", "netlink-dumps",
    "netns-name.sh", "netns-sysctl.sh", "psock_snd.sh", "reuseaddr_conflict",
    "reuseport_dualstack", "rxtimestamp.sh", "sk_bind_sendto_listen", "sk_connect_zero_addr",
    "sk_so_peek_off", "tun", "txtimestamp.sh", "udpgso.sh",
)  # fmt: skip
"""Tests of net that need nothing but iproute2, and pass."""
HANGS = "fin_ack_lat.sh"


def outcomes(*names: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Run tests of these names; return the exit status, and each test's result by its name."""
    words = [word for name in names for word in ("--only", f"net/{name}")]
    done = orchestrator("guest", "test", "--json", *words)
    made = json.loads(done.stdout)
    return done.returncode, {one["name"].removeprefix("net/"): one for one in made["tests"]}


def test_tests_that_need_no_device_pass_and_take_equal_simulated_times() -> None:
    status, first = outcomes(*PASS)
    assert {name: one["outcome"] for name, one in first.items()} == dict.fromkeys(PASS, "ok")
    assert status == 0
    _status, again = outcomes(*PASS)
    for name in PASS:
        assert again[name]["simulated_s"] == first[name]["simulated_s"], name


def test_a_test_that_hangs_in_virtual_time_is_known() -> None:
    status, found = outcomes(HANGS)
    assert status == 0
    assert found[HANGS]["outcome"] == "known"
    assert "clock" in found[HANGS]["reason"] or "computing" in found[HANGS]["reason"]


def test_what_the_guests_kernel_has_not_is_lacking() -> None:
    status, found = outcomes("vrf_strict_mode_test.sh", "tcp_ao/*")
    assert status == 4
    assert all(one["outcome"] == "lacking" for one in found.values())
    assert "CONFIG_NET_VRF" in found["vrf_strict_mode_test.sh"]["lacks"]
    assert "CONFIG_TCP_AO" in found["tcp_ao/rst_ipv4"]["lacks"]


def test_packetdrill_scripts_pass_or_say_that_the_program_is_missing() -> None:
    status, found = outcomes("packetdrill/*")
    lacks = {lack for one in found.values() for lack in one["lacks"]}
    if lacks:
        assert status == 4
        assert all(lack.startswith("packetdrill") for lack in lacks)
    else:
        failed = [name for name, one in found.items() if one["outcome"] != "ok"]
        assert (status, failed) == (0, [])
