"""What the bed asks of many namespaces with few system calls, on this machine's kernel."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from ctypes import addressof, create_string_buffer
from pathlib import Path

import pytest

from orchestrator.testbed.kernel import io_ring, netlink, snmp
from orchestrator.testbed.kernel.file_batch import MOST_BYTES, read_all
from orchestrator.testbed.kernel.sysctl import open_sysctl, read_sysctl, sysctl_text
from orchestrator.testbed.network import rtnl
from orchestrator.testbed.network.ethtool import SIOCETHTOOL, Ethtool

NO_SUCH_INDEX = 2**31 - 1
SYSCTLS = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_sack", "net.ipv4.tcp_congestion_control")
GET_OFFLOADS = {"tso": 0x1E, "gso": 0x23, "gro": 0x2B}
"""ETHTOOL_GTSO, ETHTOOL_GGSO, ETHTOOL_GGRO."""


def permitted() -> bool:
    try:
        io_ring.Ring(2).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_a_refused_request_of_a_batch_is_named_wherever_it_stands(bad: int) -> None:
    """The others ask for a device as it is, which is not refused; only the last is acknowledged."""
    route = netlink.Netlink()
    for number in range(3):
        index = NO_SUCH_INDEX if number == bad else 1
        route.queue(rtnl.RTM_GETLINK, 0, rtnl.link_message(index), f"request {number}")
    with pytest.raises(netlink.NetlinkError, match=f"] request {bad}: ") as raised:
        route.flush()
    assert raised.value.errno == errno.ENODEV
    assert rtnl.links(route)[1][0] == "lo"  # and no answer of the batch is left
    route.close()


def test_more_requests_than_fit_into_a_batch_are_all_handled() -> None:
    route = netlink.Netlink()
    for number in range(3000):
        index = NO_SUCH_INDEX if number == 2999 else 1
        route.queue(rtnl.RTM_GETLINK, 0, rtnl.link_message(index), f"request {number}")
    with pytest.raises(netlink.NetlinkError, match="] request 2999: "):
        route.flush()
    route.close()


def test_offloads_are_what_the_kernel_tells_about_each() -> None:
    tool, found = Ethtool(), {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, command in GET_OFFLOADS.items():
            data = create_string_buffer(struct.pack("=II", command, 0), 8)
            fcntl.ioctl(control, SIOCETHTOOL, struct.pack("16sP16x", b"lo", addressof(data)))
            found[name] = bool(struct.unpack("=II", data.raw)[1])
    assert tool.offloads("lo") == found
    tool.close()


def test_counters_of_some_protocols_are_read_from_an_open_table() -> None:
    table = snmp.opened("snmp")
    before = snmp.values(table, ("Ip", "Udp"))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(("127.0.0.1", 0))
        sender.sendto(b"x", sender.getsockname())
        sender.recv(1)
    after = snmp.values(table, ("Ip", "Udp"))
    os.close(table)
    assert {name.partition(":")[0] for name in after} == {"Ip", "Udp"}
    assert after["Udp:InDatagrams"] > before["Udp:InDatagrams"]


@pytest.mark.skipif(
    not permitted(), reason="this machine's kernel permits no io_uring; the guest's always does"
)
def test_many_open_files_are_read_at_once(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"0123456789" * 1000)
    files = [open_sysctl(name) for name in SYSCTLS] * 100
    files += [os.open(large, os.O_RDONLY)]
    for _again in range(2):
        *texts, whole = read_all(files)
        assert list(map(sysctl_text, texts)) == [read_sysctl(name) for name in SYSCTLS] * 100
        assert whole == large.read_bytes()[:MOST_BYTES]
    for file in set(files):
        os.close(file)
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(IsADirectoryError):
        read_all([folder])
    os.close(folder)
