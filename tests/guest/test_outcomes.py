"""A connection that dies of its network is a result of the run, in every kind of traffic."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from tests.guest.conftest import NEAR, Run

pytestmark = pytest.mark.guest

IMPATIENT = """\
from orchestrator.testbed.kernel.sysctl import write_sysctl
for host in spec["hosts"]:
    with bed.enter(host["name"]):
        write_sysctl("net.ipv4.tcp_retries2", 3)
        write_sysctl("net.ipv4.tcp_syn_retries", 1)
"""
"""A hook that makes connections time out after some seconds instead of a quarter of an hour."""

FLOWS = {
    "bulk": "traffic: {kind: bulk}",
    "sized": "traffic: {kind: bulk, bytes: 50MB}",
    "stopped": "traffic: {kind: bulk}, stop: 8s",
    "late": "traffic: {kind: bulk}, start: 7s",
    "onoff": "traffic: {kind: onoff, on: 3s, off: 1s}",
    "again": "traffic: {kind: onoff, on: 3s, off: 1s, reconnect: true}",
    "serial": "traffic: {kind: transfers, size: 200kB, gap: 100ms}",
    "poisson": "traffic: {kind: transfers, size: 20kB, arrivals: 2/s}",
    "uploads": "traffic: {kind: uploads, files: [300kB], gap: 100ms}",
    "web": "traffic: {kind: web, sessions: 2/s}",
    "exchange": "traffic: {kind: request-response, response: 20kB}",
    "campaign": "traffic: {kind: campaign, controls: [vegas, reno], turn: 3s}",
    "cbr": "traffic: {kind: cbr, rate: 50kbit}",
}
ONE = ("bulk", "sized", "onoff", "exchange")
"""Flows with one connection, which is established when the link goes down."""
DOWN = "events=[{at: 5s, link: bottleneck, state: down}]"


def hook(folder: Path, text: str) -> Path:
    file = folder / "hook.py"
    file.write_text(text, encoding="utf-8")
    return file


def flows(names: list[str]) -> tuple[str, str]:
    """Return overrides that give the quickstart these flows, each with hosts of its own."""
    listed = [
        f"{{name: {name}, group: {name}, {FLOWS[name]}"
        f"{'' if name in ('cbr', 'campaign') else ', congestion: cubic'}}}"
        for name in names
    ]
    group = "{name: %s, hosts: 1, access: {rate: 100mbit, delay: 5ms}}"
    groups = ", ".join(group % name for name in names)
    return f"flows=[{', '.join(listed)}]", f"topology.groups=[{groups}]"


def faithful(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the flows by name of a run that is faithful."""
    assert document["status"] == "ok", document["error"]
    wrong = [check for check in document["fidelity"]["checks"] if check["ok"] is not True]
    assert document["fidelity"]["verdict"] == "faithful", wrong
    return {flow["name"]: flow for flow in document["flows"]}


def test_a_link_that_goes_down_for_good_fails_connections_of_every_kind(
    run: Run, tmp_path: Path
) -> None:
    document = run(
        *flows(list(FLOWS)), DOWN, "duration=30s", "warmup=0s", "sample={}",
        hook=hook(tmp_path, IMPATIENT),
    )  # fmt: skip
    found = faithful(document)
    for name in ONE:
        flow = found[name]
        assert (flow["outcome"], flow["errno"]) == ("timed_out", errno.ETIMEDOUT), name
        assert 6 < flow["ended_s"] < 15, name
        assert flow["connections_failed"] == 1, name
        assert flow["goodput_bps"] > 0, name
    for name in ("again", "serial", "poisson", "uploads", "web", "campaign-vegas", "campaign-reno"):
        flow = found[name]
        assert flow["outcome"] in ("timed_out", "never_connected"), (name, flow["outcome"])
        assert flow["connections_failed"] > 1, name
    assert (found["late"]["outcome"], found["late"]["errno"]) == ("never_connected", 110)
    assert found["late"]["ended_s"] == pytest.approx(10, abs=0.1)  # SYNs at 7 and 8 s
    # A flow that its scenario ends keeps its own end, whatever happens to the rest of its data.
    assert (found["stopped"]["outcome"], found["stopped"]["ended_s"]) == ("ended", 8.0)
    assert (found["cbr"]["outcome"], found["cbr"]["ended_s"]) == ("ended", None)
    failed = sum(flow["connections_failed"] for flow in document["flows"])
    assert document["metrics"]["connections_failed"] == failed


def test_a_link_that_is_down_from_the_start_connects_nobody(run: Run) -> None:
    names = [name for name in FLOWS if name not in ("stopped", "late", "cbr", "campaign")]
    down = "events=[{at: 0s, link: bottleneck, state: down}]"
    document = run(*flows(names), down, "duration=20s", "warmup=0s", "sample={}")
    for name, flow in faithful(document).items():
        assert (flow["outcome"], flow["errno"]) == ("never_connected", None), name
        # only the connection of an on-off flow's first period is given up before the end
        assert flow["ended_s"] == (pytest.approx(3, abs=0.1) if name == "again" else None)
        assert flow["connections_failed"] >= 1, name


def test_a_run_without_failures_says_so(run: Run) -> None:
    names = ["sized", "onoff", "serial", "web"]
    document = run(*flows(names), "duration=8s", "warmup=0s", "flows.sized.traffic.bytes=1MB")
    found = faithful(document)
    assert {flow["outcome"] for flow in found.values()} == {"ended"}
    assert document["metrics"]["connections_failed"] == 0
    assert 0 < found["sized"]["ended_s"] < 8
    assert found["onoff"]["ended_s"] is None


def test_a_flow_ends_when_its_receiver_has_read_everything(run: Run) -> None:
    found = faithful(run(*flows(["stopped", "bulk"]), "duration=10s", "warmup=0s"))
    assert 8.05 < found["stopped"]["ended_s"] < 8.5  # the queue is full at the stop time
    assert found["bulk"]["ended_s"] is None


def test_a_flow_of_datagrams_ends_with_the_last_of_its_bytes(run: Run) -> None:
    ends = {
        "sized": "bytes: 20kB}",
        "sized_stopped": "bytes: 20kB}, stop: 8s",
        "stopped": "bytes: 1MB}, stop: 8s",
        "cut": "bytes: 1MB}",
    }
    listed = ", ".join(
        f"{{name: {name}, group: a, traffic: {{kind: cbr, rate: 50kbit, {end}}}"
        for name, end in ends.items()
    )
    group = "topology.groups=[{name: a, hosts: 1, access: {rate: 100mbit, delay: 5ms}}]"
    exact = ("duration=10s", "warmup=0s", "start_jitter=0s")
    found = faithful(run(f"flows=[{listed}]", group, *exact))
    assert 3.0 < found["sized"]["ended_s"] < 3.4  # 14 datagrams of 1514 bytes
    assert found["sized_stopped"]["ended_s"] == found["sized"]["ended_s"]
    assert found["stopped"]["ended_s"] == 8.0
    assert found["cut"]["ended_s"] is None


def test_iperf3_that_times_out_is_a_result(run: Run, tmp_path: Path) -> None:
    engine = "flows.westwood.traffic.engine=iperf3"
    slow = "topology.bottleneck.rate=2mbit"
    common = (engine, slow, *NEAR, "flows.reno.start=19s", "duration=20s", "warmup=0s")
    hooked = hook(tmp_path, IMPATIENT)
    flow = faithful(run(*common, DOWN, hook=hooked))["westwood"]
    assert (flow["outcome"], flow["errno"]) == ("timed_out", errno.ETIMEDOUT)
    assert 6 < flow["ended_s"] < 20


KILLED = """\
import os, signal
from orchestrator.testbed.traffic.iperf import IperfFlow
started = IperfFlow.start

def start(flow, origin_ns):
    started(flow, origin_ns)
    os.kill(flow._server.pid, signal.SIGKILL)

IperfFlow.start = start
"""


def test_a_program_that_crashes_still_fails_the_run(run: Run, tmp_path: Path) -> None:
    engine = "flows.westwood.traffic.engine=iperf3"
    document = run(
        engine, "topology.bottleneck.rate=2mbit", *NEAR, "duration=5s", "warmup=0s",
        hook=hook(tmp_path, KILLED),
    )  # fmt: skip
    assert document["status"] == "failed"
    assert "iperf3" in document["error"]


LOST = """\
import socket, struct, subprocess, threading
from orchestrator.testbed.kernel import system
from orchestrator.testbed.traffic import bulk

started = bulk.BulkFlow.start

def read_to_end(receiver, window):
    receiver.recv(1_000_000, socket.MSG_WAITALL)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    receiver.close()
    threading.Event().wait()

def start(flow, origin_ns):
    started(flow, origin_ns)
    if flow.spec["start_ns"]:
        threading.Thread(target=cut, args=(flow._destination[0], origin_ns), daemon=True).start()

def cut(destination, origin_ns):
    with bed.enter("late_src0"):
        for at_s, change in ((6, "add"), (8, "del")):
            system.Timer().sleep_until(origin_ns + at_s * 1_000_000_000)
            words = ["ip", "route", change, "unreachable", destination, "metric", "0"]
            subprocess.run(words, check=True)

bulk.read_to_end, bulk.BulkFlow.start = read_to_end, start
"""
"""Receivers that reset their connections, and a host without a route from 6 s to 8 s."""


def test_a_reset_and_an_unreachable_host_are_results(run: Run, tmp_path: Path) -> None:
    document = run(
        *flows(["bulk", "late", "onoff"]), "duration=10s", "warmup=0s", "start_jitter=0s",
        hook=hook(tmp_path, LOST),
    )  # fmt: skip
    found = faithful(document)
    for name in ("bulk", "onoff"):
        flow = found[name]
        assert (flow["outcome"], flow["errno"]) == ("reset", errno.ECONNRESET)
        assert 0.5 < flow["ended_s"] < 3
        assert flow["goodput_bps"] > 0
    assert (found["late"]["outcome"], found["late"]["errno"]) == ("unreachable", errno.EHOSTUNREACH)
    assert found["late"]["ended_s"] == pytest.approx(7, abs=0.1)
    assert document["metrics"]["connections_failed"] == 3
