"""The state of a namespace: how it is read, what is requested, and where the two differ."""

from __future__ import annotations

import io
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.testbed.kernel import netlink as nl
from orchestrator.testbed.lab.bed import LabBed
from orchestrator.testbed.network import host_state, readback, rtnl
from orchestrator.testbed.network.queues import qdisc


class Answers:
    """A netlink socket that answers dumps with the given messages."""

    def __init__(self, **bodies: list[bytes]) -> None:
        self._answers = {
            rtnl.RTM_GETLINK: (rtnl.RTM_NEWLINK, bodies.get("links", [])),
            rtnl.RTM_GETROUTE: (rtnl.RTM_NEWROUTE, bodies.get("routes", [])),
            qdisc.RTM_GETQDISC: (qdisc.RTM_NEWQDISC, bodies.get("qdiscs", [])),
        }

    def dump(self, kind: int, _body: bytes) -> Iterator[tuple[int, bytes, int, int]]:
        answer, bodies = self._answers[kind]
        for body in bodies:
            yield answer, body, 0, len(body)


def link(index: int, name: str, mtu: int, up: bool = True) -> bytes:
    head = struct.pack("=BxHiII", 0, 0, index, rtnl.IFF_UP if up else 0, 0)
    return head + nl.attribute(rtnl.IFLA_IFNAME, name) + nl.u32(rtnl.IFLA_MTU, mtu)


def queue(index: int, kind: str, handle: int, parent: int) -> bytes:
    return qdisc.TCMSG.pack(0, index, handle, parent, 0) + nl.attribute(qdisc.TCA_KIND, kind)


def route(
    index: int, network: str, prefix: int, *, source: str | None = None,
    table: int = rtnl.RT_TABLE_MAIN, protocol: int = rtnl.RTPROT_KERNEL,
    kind: int = rtnl.RTN_UNICAST, flags: int = 0, metrics: dict[int, int] | None = None,
) -> bytes:  # fmt: skip
    body = struct.pack("=8BI", socket.AF_INET, prefix, 0, 0, table, protocol, 0, kind, flags)
    body += nl.attribute(rtnl.RTA_DST, socket.inet_aton(network))
    body += nl.u32(rtnl.RTA_OIF, index) if index else b""
    body += nl.attribute(rtnl.RTA_PREFSRC, socket.inet_aton(source)) if source else b""
    if metrics:
        each = [nl.u32(name, value) for name, value in metrics.items()]
        body += nl.attribute(rtnl.RTA_METRICS, each)
    return body


def test_the_state_has_each_interface_that_is_up_and_every_foreign_route() -> None:
    answers: Any = Answers(
        links=[link(1, "lo", 65536), link(10, "eth0", 1500), link(3, "tunl0", 1480, up=False)],
        qdiscs=[
            queue(1, "noqueue", 0, qdisc.TC_H_ROOT),
            queue(10, "netem", 0x10000, qdisc.TC_H_ROOT),
            queue(10, "clsact", 0xFFFF0000, qdisc.TC_H_CLSACT),
        ],
        routes=[
            route(10, "10.0.0.0", 8, source="10.0.0.1", metrics={11: 3}),
            route(10, "10.0.0.2", 32, protocol=rtnl.RTPROT_STATIC, table=7),
            route(0, "10.0.0.3", 32, protocol=rtnl.RTPROT_STATIC, kind=6),
            route(10, "10.0.0.4", 32, flags=rtnl.RTM_F_CLONED),
            route(10, "10.0.0.1", 32, table=rtnl.RT_TABLE_LOCAL, kind=2),
        ],
    )
    assert host_state.of_namespace(answers) == {
        "MTU of lo": "65536",
        "MTU of eth0": "1500",
        "qdiscs of lo": "noqueue 0: root",
        "qdiscs of eth0": "clsact ffff:, netem 1: root",
        "routes of eth0": "10.0.0.0/8 src 10.0.0.1 initcwnd 3, 10.0.0.2/32 table 7",
        "routes of no interface": "10.0.0.3/32 type 6",
    }


def test_a_local_route_that_the_kernel_did_not_make_is_foreign() -> None:
    added = route(1, "10.9.9.9", 32, table=rtnl.RT_TABLE_LOCAL, kind=2, protocol=rtnl.RTPROT_STATIC)
    answers: Any = Answers(routes=[added])
    assert list(rtnl.routes(answers)) == [(1, "10.9.9.9/32 table 255 type 2")]


def test_of_a_shared_host_only_the_interfaces_of_the_run_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readback, "SYSCTLS_THAT_MATTER", ("net.ipv4.ip_forward",))
    answers: Any = Answers(
        links=[link(2, "eth0", 1500), link(3, "eth1", 9000)],
        qdiscs=[queue(2, "fq_codel", 0, qdisc.TC_H_ROOT), queue(3, "mq", 0, qdisc.TC_H_ROOT)],
        routes=[route(2, "192.0.2.0", 24), route(3, "10.0.0.0", 8)],
    )
    found = host_state.of_shared_host(answers, ["eth1"])
    assert found.pop("net.ipv4.ip_forward") in ("0", "1")
    assert found == {
        "MTU of eth1": "9000", "qdiscs of eth1": "mq 0: root", "routes of eth1": "10.0.0.0/8",
    }  # fmt: skip


def test_the_requested_qdiscs_of_the_wires_are_those_of_the_channels() -> None:
    forward = {"link": {"kind": "link"}, "queue": {"kind": "red"}, "netem": {"kind": "netem"}}
    plain = {"link": None, "queue": None, "netem": None}
    links: Any = [
        {"mtu_bytes": 1500, "forward": forward, "reverse": plain},
        {"mtu_bytes": 9000, "forward": plain, "reverse": {**plain, "link": {"kind": "link"}}},
    ]
    found = host_state.requested_of_wires(links)
    assert {name: text for name, text in found.items() if name.startswith("qdiscs")} == {
        "qdiscs of w0a": "clsact ffff:, noqueue 0: root",
        "qdiscs of w0b": "clsact ffff:, link 1: root, netem 20: below 1:, red 10: below 1:",
        "qdiscs of w1a": "clsact ffff:, link 1: root",
        "qdiscs of w1b": "clsact ffff:, noqueue 0: root",
    }
    mtus = [found[f"MTU of w{link}{end}"] for link in (0, 1) for end in "ab"]
    assert mtus == ["1500", "1500", "9000", "9000"]


def test_the_fact_names_what_is_missing_what_is_too_much_and_what_differs() -> None:
    requested = {"MTU of eth0": "1500", "net.ipv4.tcp_sack": "1", "qdiscs of eth0": "x"}
    found = {"MTU of eth0": "1000", "routes of eth0": "r" * 999, "qdiscs of eth0": "x"}
    same = {"MTU of eth0": "1500"}
    assert host_state.fact_of({"h": (requested, found), "i": (same, same)}) == {
        "settings": 4,
        "differences": [
            ["h", "MTU of eth0", "1500", "1000"],
            ["h", "net.ipv4.tcp_sack", "1", ""],
            ["h", "routes of eth0", "", "r" * 200],
        ],
    }


def test_a_lab_host_is_compared_with_its_own_start_but_for_what_planned_steps_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bed: Any = LabBed.__new__(LabBed)
    bed.spec = {"name": "one", "interfaces": ["eth1"]}
    bed.links, bed.namespaces = {}, {}
    monkeypatch.setattr(nl, "Netlink", io.BytesIO)
    start = {"MTU of eth1": "9000", "net.ipv4.tcp_sack": "0", "net.ipv4.tcp_ecn": "2"}
    end = {"MTU of eth1": "1500", "net.ipv4.tcp_sack": "0", "net.ipv4.tcp_ecn": "0"}
    states = iter((start, end))
    monkeypatch.setattr(host_state, "of_shared_host", lambda _route, _names: dict(next(states)))
    assert bed.host_state("start") == {"settings": 3, "differences": []}
    bed.namespaces["a_src0"] = {"net.ipv4.tcp_ecn"}  # as an event does while traffic runs
    assert bed.host_state("end") == {
        "settings": 2,
        "differences": [["one", "MTU of eth1", "9000", "1500"]],
    }
