"""UDP by a file: lists of datagrams, and captures, which are a stranger's input."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.errors import ScenarioError
from orchestrator.kinds.files.packet_lists import Datagram, datagrams
from orchestrator.planning.costs.estimate import wall_s
from orchestrator.planning.plan import Plan, plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.scenario import load
from orchestrator.scenario.loader import load_values

SCENARIO = """\
version: 1
name: replayed
duration: 2s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 1ms, queue: {limit: 100p}}
  groups:
    - {name: a, hosts: 2, rtt: 10ms}
flows:
  - {name: call, group: a, traffic: {kind: replay, file: FILE}}
"""


def planned(folder: Path, name: str, content: bytes, more: str = "") -> Plan:
    (folder / name).write_bytes(content)
    file = folder / "replayed.yaml"
    file.write_text(SCENARIO.replace("FILE", f"{name}{more}"))
    return plan(load(file))


def run_of(folder: Path, name: str, content: bytes, more: str = "") -> RunSpec:
    (run,) = planned(folder, name, content, more).runs
    return run


def fault(folder: Path, name: str, content: bytes, more: str = "") -> str:
    with pytest.raises(ScenarioError) as error:
        planned(folder, name, content, more)
    text = str(error.value)
    assert "replayed.yaml:10:" in text
    return text


def udp(payload_bytes: int, port: int = 5004) -> bytes:
    """Return a UDP header without its payload, as a capture with a small limit has it."""
    return struct.pack(">HHHH", 4000, port, payload_bytes + 8, 0)


def ipv4(payload: bytes, protocol: int = 17, fragment: int = 0, options: bytes = b"") -> bytes:
    first = 0x40 | (20 + len(options)) // 4
    length = 20 + len(options) + len(payload)
    return (
        struct.pack(">BBHHHBBH8x", first, 0, length, 0, fragment, 64, protocol, 0)
        + options
        + payload
    )


def ipv6(payload: bytes, following: int = 17) -> bytes:
    return struct.pack(">IHBB32x", 6 << 28, len(payload), following, 64) + payload


def ethernet(packet: bytes, kind: bytes = b"\x08\x00") -> bytes:
    return bytes(12) + kind + packet


def capture(
    *packets: tuple[int, int, bytes], link: int = 1, order: str = "<", magic: int = 0xA1B2C3D4
) -> bytes:
    """Return a capture of (seconds, fraction, packet) each."""
    head = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    return head + b"".join(
        struct.pack(f"{order}IIII", seconds, fraction, len(packet), len(packet)) + packet
        for seconds, fraction, packet in packets
    )


def test_a_list_becomes_packets_with_headers(tmp_path: Path) -> None:
    content = b"# a call\nbytes,time_ms\n160,20\n1000,0\n172, 20.5\n"
    run = run_of(tmp_path, "call.csv", content)
    assert [flow.name for flow in run.flows] == ["call[0]", "call[1]"]
    flow = run.flows[0]
    assert flow.traffic_parameters["packets"] == [[0, 1028], [20_000_000, 188], [20_500_000, 200]]
    assert (flow.transport, flow.congestion, flow.mtu_bytes) == ("udp", None, 1500)
    assert flow.traffic_parameters["packet_bytes"] == 1028
    assert flow.traffic_parameters["rate_bps"] == 8 * (1042 + 202 + 214) * 10**9 // 20_500_000
    assert bed_spec(run, 2**30)["flows"][0]["parameters"]["packets"][0] == [0, 1028]
    assert wall_s(run) > 0
    assert list(run.files) == ["call.csv"]
    (again,) = plan(load_values(run.resolved, {"call.csv": content})).runs
    assert again.flows == run.flows


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "factor"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
def test_a_capture_gives_the_payloads_of_its_udp_datagrams(
    order: str, magic: int, factor: int
) -> None:
    content = capture(
        (5, 500, ethernet(ipv4(bytes(20), protocol=6))),
        (5, 700, ethernet(ipv4(udp(172), options=bytes(8)))),
        (5, 600, ethernet(b"\x00\x05\x08\x00" + ipv4(udp(100)), b"\x81\x00")),
        (5, 800, ethernet(ipv4(bytes(64), fragment=100))),
        (6, 0, ethernet(ipv6(udp(30), 17), b"\x86\xdd")),
        (6, 1, ethernet(ipv6(bytes(8), 58), b"\x86\xdd")),
        (6, 2, ethernet(b"", b"\x08\x06")),
        (6, 3, b""),
        order=order,
        magic=magic,
    )
    found = datagrams("film.pcap", content, None)
    first = 600 * factor
    assert [(each.time_ns, each.size_bytes) for each in found] == [
        (0, 100), (700 * factor - first, 172), (10**9 - first, 30),
    ]  # fmt: skip
    assert found[1].place == "film.pcap: packet 2"


@pytest.mark.parametrize(("link", "before"), [(0, 4), (12, 0), (101, 0), (113, 16), (276, 20)])
def test_link_types_of_other_captures_are_known(link: int, before: int) -> None:
    content = capture((1, 0, bytes(before) + ipv4(udp(50))), link=link)
    assert [each.size_bytes for each in datagrams("x", content, None)] == [50]


def test_a_port_chooses_the_datagrams_of_a_capture(tmp_path: Path) -> None:
    content = capture(*((1, n, ethernet(ipv4(udp(50 + n, 5000 + n % 2)))) for n in range(6)))
    run = run_of(tmp_path, "film.pcap", content, ", port: 5001")
    packets = run.flows[0].traffic_parameters["packets"]
    assert packets == [[0, 51 + 28], [2000, 53 + 28], [4000, 55 + 28]]
    text = fault(tmp_path, "film.pcap", content, ", port: 99")
    assert "`film.pcap` has no UDP datagram to port 99 over IP" in text
    text = fault(tmp_path, "call.csv", b"time_ms,bytes\n0,100\n", ", port: 99")
    assert "only datagrams of a capture have a port" in text


def test_small_datagrams_are_padded_where_that_is_said(tmp_path: Path) -> None:
    content = b"time_ms,bytes\n0,100\n1,15\n"
    text = fault(tmp_path, "call.csv", content)
    assert "call.csv:3:3: a datagram has 16 bytes of payload at least" in text
    run = run_of(tmp_path, "call.csv", content, ", pad: true")
    assert run.flows[0].traffic_parameters["packets"][1] == [1_000_000, 16 + 28]


def test_what_does_not_fit_or_comes_late_is_said(tmp_path: Path) -> None:
    text = fault(tmp_path, "call.csv", b"time_s,bytes\n0,1473\n")
    assert "packets of 1501B on a path with an MTU of 1500" in text
    content = b"time_s,bytes\n0,1000\n2,1000\n"
    warnings = [warning.message for warning in planned(tmp_path, "call.csv", content).warnings]
    assert any("2 of the 4 packets would begin after the flow's end" in each for each in warnings)


GOOD = capture((1, 0, ethernet(ipv4(udp(50)))))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("film.pcap", b"", "`film.pcap` is no capture in the pcap format"),
        ("film.pcap", b"time_ms,bytes\n0,100\n", "`film.pcap` is no capture in the pcap format"),
        ("film.pcap", GOOD[:20], "ends within its header"),
        ("film.pcap", GOOD[:24], "has no UDP datagram over IP"),
        ("film.pcap", GOOD[:30], "film.pcap: packet 1: the file ends within its header"),
        ("film.pcap", GOOD[:-1], "film.pcap: packet 1: the file ends within it"),
        ("film", b"\x0a\x0d\x0d\x0a" + bytes(60), "in the pcapng format, not pcap; convert it"),
        ("film", GOOD[:20] + struct.pack("<I", 147), "has the link type 147; supported: 0, 1"),
        ("film", GOOD[:32] + b"\xff" * 8, "packet 1: has 4294967295 bytes, above 262144"),
        (
            "film",
            capture((1, 0, ethernet(ipv4(struct.pack(">HHHH", 1, 2, 3, 4))))),
            "payload of -5",
        ),
        ("film", capture((1, 0, ethernet(ipv4(udp(60_000))))), "payload of 60000 bytes"),
        ("film", capture(*((s, 0, ethernet(ipv4(udp(50)))) for s in (1, 2**32 - 1))), "30 days"),
        ("film", capture(*[(1, 0, ethernet(ipv4(udp(50))))] * 100_001), "more than 100000 such"),
        ("call.csv", b"time,bytes\n-1ms,100\n", "call.csv:2:1: `-1ms`: a time must not be"),
        ("call.csv", b"time_ms\n1\n", "one of them `bytes`: there is none"),
        ("call.csv", b"time_ms,bytes\n1,20kB\n", "call.csv:2:3: `20kB`: must be 1 to 9188 bytes"),
    ],
)
def test_a_wrong_file_is_an_error(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    assert words in fault(tmp_path, name, content)


def test_damaged_captures_are_read_or_refused() -> None:
    generator = random.Random(1)
    whole = capture(*((1, n, ethernet(ipv4(udp(50 + n)))) for n in range(20)))
    for _attempt in range(500):
        damaged = bytearray(whole)
        for _place in range(generator.randrange(1, 6)):
            damaged[generator.randrange(4, len(damaged))] = generator.randrange(256)
        try:
            found = datagrams("x", bytes(damaged[: generator.randrange(4, len(damaged))]), None)
        except ValueError:
            continue
        assert all(isinstance(each, Datagram) and 0 <= each.size_bytes <= 9188 for each in found)
