"""The kernel's records become tables of flows, channels and times; all else is refused."""

from __future__ import annotations

import ipaddress
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.decode.output import OutputFolder
from orchestrator.decode.trace import trace
from orchestrator.errors import BedError
from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import TABLES, Trace
from tests.fuzz.traces import WHOLE, damaged_trace, read_or_refused
from tests.support import traces
from tests.support.traces import (
    ASKED,
    CAPTURE,
    DOWN,
    ORIGIN_NS,
    UP,
    VOICE,
    decoded,
    ends_of,
    leaves,
    packet,
)

SPEC = traces.planned()
T = CAPTURE.from_ns
"""A time in the window."""

SOURCE, SINK = ends_of(SPEC, UP)
FORWARD = leaves(SPEC, "bottleneck", "forward")


def columns(made: Trace, table: str, *names: str) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = made.tables[table][list(names)].tolist()
    return found


def test_an_empty_file_is_an_empty_trace(tmp_path: Path) -> None:
    made = decoded(tmp_path)
    assert {name: len(rows) for name, rows in made.tables.items()} == dict.fromkeys(TABLES, 0)
    assert {name: rows.dtype for name, rows in made.tables.items()} == TABLES
    assert (made.capture, made.frame_bytes, made.full_ns) == (CAPTURE, b"", None)


def test_a_trace_that_was_not_written_is_missed(tmp_path: Path) -> None:
    with pytest.raises(BedError, match=r"the test bed did not write trace\.bin"):
        trace(OutputFolder(tmp_path), SPEC, CAPTURE, ORIGIN_NS)


def test_ends_are_of_flows_by_addresses_and_ports(tmp_path: Path) -> None:
    assert [SPEC.flows[each].server for each in (UP, DOWN, ASKED)] == ["sink", "sink", "source"]
    other = (SOURCE[0], 40001), (SINK[0], 40002)
    made = decoded(
        tmp_path,
        *(
            traces.socket(10 * flow + side, *(ends if side else ends[::-1]), b"dctcp-reno")
            for flow in (UP, DOWN, ASKED)
            for ends in (ends_of(SPEC, flow),)
            for side in (0, 1)
        ),
        traces.socket(99, *other),
    )
    assert columns(made, "ends", "end", "flow", "is_sender") == [
        (0, UP, 0), (1, UP, 1), (10, DOWN, 0), (11, DOWN, 1), (20, ASKED, 0), (21, ASKED, 1),
        (99, -1, 0),
    ]  # fmt: skip
    sender = made.tables["ends"][1]
    assert (sender["port"], sender["peer_port"]) == (40000, SPEC.flows[UP].port)
    assert sender["congestion"] == b"dctcp-reno"
    own, peer = (sender[name].tobytes() for name in ("address", "peer_address"))
    assert (str(ipaddress.IPv4Address(own)), str(ipaddress.IPv4Address(peer))) == (
        SOURCE[0], SINK[0],
    )  # fmt: skip


def test_states_and_events_have_what_the_kernel_wrote(tmp_path: Path) -> None:
    made = decoded(
        tmp_path,
        traces.socket(7, SOURCE, SINK),
        traces.state(
            T + 3, 7, records.BY_TIMER, seq=2**32 - 1, cwnd_segments=11, ca_state=4,
            pacing_rate_bytes_per_s=2**63, info_bytes=24, info=bytes(range(24)), reserved=9,
        ),
        traces.event(T + 2, 7, records.COUNTER, value=2, name=b"TCPLossUndo", ssthresh_segments=5),
    )  # fmt: skip
    (ack,), (event,) = made.tables["acks"], made.tables["events"]
    assert (ack["time_ns"], ack["end"], ack["by"], ack["seq"]) == (T + 3, 7, 2, 2**32 - 1)
    assert (ack["cwnd_segments"], ack["ca_state"], ack["snd_una"]) == (11, 4, 0)
    assert (ack["pacing_rate_bytes_per_s"], ack["info_bytes"]) == (2**63, 24)
    assert bytes(ack["info"]) == bytes(range(24))
    assert (event["time_ns"], event["end"], event["what"]) == (T + 2, 7, records.COUNTER)
    assert (event["value"], event["ssthresh_segments"], event["name"]) == (2, 5, b"TCPLossUndo")


def test_steps_are_of_channels_by_interfaces_and_of_flows_by_ports(tmp_path: Path) -> None:
    way = {
        (link.name, direction): leaves(SPEC, link.name, direction)
        for link in SPEC.network.links
        for direction in ("forward", "reverse")
    }
    assert len(way) >= 6
    voice = ends_of(SPEC, VOICE)
    made = decoded(
        tmp_path,
        *(
            traces.link(T + number, interface, records.BEGUN, *voice, frame_bytes=1514,
                        queue_packets=2, queue_bytes=3, sojourn_ns=2**40)
            for number, interface in enumerate(way.values())
        ),
        traces.link(T + 50, FORWARD, records.ENQUEUED, *ends_of(SPEC, DOWN)[::-1], payload_bytes=9),
        traces.link(T + 51, FORWARD, records.MARKED, *ends_of(SPEC, ASKED)),
        traces.link(T + 52, FORWARD, records.DUPLICATED, traces.NOWHERE, traces.NOWHERE),
    )  # fmt: skip
    channels = [
        [hop.name for link in SPEC.network.links for hop in link.hops].index(f"{link}:{direction}")
        for link, direction in way
    ]
    bottleneck = channels[list(way).index(("bottleneck", "forward"))]
    assert channels == sorted(channels)
    assert columns(made, "links", "time_ns", "channel", "step", "flow", "to_sink") == [
        *((T + at, channel, records.BEGUN, VOICE, 1) for at, channel in enumerate(channels)),
        (T + 50, bottleneck, records.ENQUEUED, DOWN, 0),
        (T + 51, bottleneck, records.MARKED, ASKED, 1),
        (T + 52, bottleneck, records.DUPLICATED, -1, 0),
    ]
    names = ("frame_bytes", "queue_packets", "queue_bytes", "sojourn_ns", "sink_port")
    assert columns(made, "links", *names)[0] == (1514, 2, 3, 2**40, voice[1][1])
    assert columns(made, "links", "payload_bytes")[len(way)] == (9,)


def test_drops_have_their_reason(tmp_path: Path) -> None:
    made = decoded(
        tmp_path,
        traces.drop(T, *ends_of(SPEC, ASKED)[::-1], name=b"TCP_ZEROWINDOW", seq=4),
        traces.drop(T + 1, ("192.168.0.1", 5001), SINK, name=b"UNKNOWN"),
    )
    assert columns(made, "drops", "time_ns", "flow", "to_sink", "seq") == [
        (T, ASKED, 0, 4), (T + 1, -1, 0, 0),
    ]  # fmt: skip
    assert made.tables["drops"]["name"].tolist() == [b"TCP_ZEROWINDOW", b"UNKNOWN"]


def test_frames_are_at_hosts_and_at_queues_with_their_bytes(tmp_path: Path) -> None:
    hosts = list(SPEC.network.hosts)
    there, back = packet(SOURCE, SINK, bytes_behind=200), packet(SINK, SOURCE, words=15)
    made = decoded(
        tmp_path,
        traces.frame(T + 3, records.SENT, there, host=SOURCE[0]),
        traces.frame(T + 1, records.RECEIVED, back, host=SOURCE[0], interface=2**32 - 1),
        traces.frame(T + 2, records.ENQUEUED, there, interface=FORWARD),
        traces.frame(T + 4, records.SENT, packet(SOURCE, SINK, protocol=1), host=SOURCE[0]),
        traces.frame(T + 5, records.SENT, b"\xff" * 12 + b"\x08\x06" + bytes(28)),
    )
    snap = records.SNAP_BYTES
    source = hosts.index(SPEC.flows[UP].source)
    (channel,) = {
        number
        for number, hop in enumerate(hop for link in SPEC.network.links for hop in link.hops)
        if hop.name == "bottleneck:forward"
    }
    names = ("time_ns", "host", "channel", "flow", "step", "frame_bytes", "captured_bytes")
    assert columns(made, "frames", *names) == [
        (T + 1, source, -1, UP, records.RECEIVED, len(back), len(back)),
        (T + 2, -1, channel, UP, records.ENQUEUED, len(there), snap),
        (T + 3, source, -1, UP, records.SENT, len(there), snap),
        (T + 4, source, -1, -1, records.SENT, 38, 38),  # ICMP has no ports
        (T + 5, -1, -1, -1, records.SENT, 42, 42),  # ARP
    ]
    contents = [
        made.frame_bytes[row["offset"] : row["offset"] + row["captured_bytes"]]
        for row in made.tables["frames"]
    ]
    assert contents[:3] == [back, there[:snap], there[:snap]]


@pytest.mark.parametrize(("kept", "flow"), [(0, -1), (33, -1), (37, -1), (38, UP), (39, UP)])
def test_a_frame_is_of_a_flow_when_its_ports_are_kept(tmp_path: Path, kept: int, flow: int) -> None:
    content = packet(SOURCE, SINK, bytes_behind=20)
    made = decoded(
        tmp_path,
        traces.frame(T, records.SENT, content, host=SOURCE[0], snap_bytes=kept),
        capture=replace(CAPTURE, snap_bytes=kept),
    )
    assert columns(made, "frames", "flow", "captured_bytes") == [(flow, kept)]
    assert records.PORTS_END == 38


def test_rows_are_in_the_order_of_time_and_else_of_their_records(tmp_path: Path) -> None:
    times = [5, 1, 5, 0, 5, 1]
    made = decoded(
        tmp_path,
        traces.socket(1, SOURCE, SINK),
        *(traces.event(T + at, 1, records.CWND, value=n) for n, at in enumerate(times)),
    )
    assert columns(made, "events", "time_ns", "value") == [
        (T, 3), (T + 1, 1), (T + 1, 5), (T + 5, 0), (T + 5, 2), (T + 5, 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("at", "full_ns"),
    [(T + 7, T + 7), (-5, -5), (CAPTURE.to_ns, None), (CAPTURE.to_ns + 1, None)],
)
def test_a_limit_that_is_reached_after_the_window_cuts_nothing_off(
    tmp_path: Path, at: int, full_ns: int | None
) -> None:
    """Ends of connections are told of at any time, and take room."""
    assert decoded(tmp_path, traces.full(at)).full_ns == full_ns


KNOWN = traces.socket(1, SOURCE, SINK)
CONTENT = packet(SOURCE, SINK)


def frame(**changes: int) -> bytes:
    return traces.frame(T, records.SENT, CONTENT, host=SOURCE[0], **changes)


def step(**values: object) -> bytes:
    return traces.link(T, FORWARD, records.BEGUN, SOURCE, SINK, **values)


def said(whole: bytes, at: int, value: bytes) -> bytes:
    """A record with other bytes at an offset."""
    return whole[:at] + value + whole[at + len(value) :]


AFTER = CAPTURE.to_ns
HUGE = 2**62 - ORIGIN_NS
REFUSED: dict[str, tuple[bytes, str]] = {
    "a head that is cut": (KNOWN + bytes(15), "has no record at 48"),
    "a body that is cut": (step()[:-8], "ends within a record"),
    "a length of none": (traces.record(records.FRAME, T, length=0), "kind 4 has 0 bytes"),
    "a frame that is no frame": (traces.record(records.FRAME, T, bytes(8)), "kind 4 has 24 bytes"),
    "a length that is not padded": (
        traces.record(records.FRAME, T, bytes(24), length=33), "kind 4 has 33 bytes"),
    "a state that is too long": (
        traces.record(records.STATE, T, bytes(160), of=1), "kind 2 has 176 bytes"),
    "kind 0": (traces.record(0, T), "has no record at 0"),
    "kind 8": (KNOWN + traces.record(8, T), "has no record at 48"),
    "after a state": (KNOWN + traces.state(T, 1, 0), "kind 2 is of an unknown sort"),
    "after another thing": (KNOWN + traces.state(T, 1, 3), "kind 2 is of an unknown sort"),
    "an event of sort 0": (KNOWN + traces.event(T, 1, 0), "kind 3 is of an unknown sort"),
    "an event of sort 7": (KNOWN + traces.event(T, 1, 7), "kind 3 is of an unknown sort"),
    "step 0": (traces.link(T, FORWARD, 0, SOURCE, SINK), "kind 5 is of an unknown sort"),
    "step 11": (traces.link(T, FORWARD, 11, SOURCE, SINK), "kind 5 is of an unknown sort"),
    "a connection of a sort": (said(KNOWN, 11, b"\1"), "kind 1 is of an unknown sort"),
    "a limit of a sort": (said(traces.full(T), 11, b"\1"), "kind 7 is of an unknown sort"),
    "a frame that arrived": (
        traces.frame(T, records.ARRIVED, CONTENT, interface=FORWARD), "the frame at 0 is not what"),
    "a frame of sort 18": (traces.frame(T, 18, CONTENT), "the frame at 0 is not what"),
    "a state of nobody": (traces.state(T, 1), "acks has a row of a connection that was not told"),
    "an event of another": (
        KNOWN + traces.event(T, 2, records.TIMER), "events has a row of a connection that was not"),
    "a number told twice": (KNOWN + KNOWN, "two connections have one number"),
    "a state of congestion that is none": (
        KNOWN + traces.state(T, 1, ca_state=5), "acks has a row of an unknown sort: ca_state"),
    "more information than there is": (
        KNOWN + traces.state(T, 1, info_bytes=25), "acks has a row of an unknown sort: info_bytes"),
    "a state before": (KNOWN + traces.state(T - 1, 1), "acks has a row outside the window"),
    "an event after": (
        KNOWN + traces.event(AFTER, 1, records.TIMER), "events has a row outside the window"),
    "a step after": (
        traces.link(AFTER, FORWARD, records.BEGUN, SOURCE, SINK), "links has a row outside"),
    "a drop before": (traces.drop(T - 1, SOURCE, SINK), "drops has a row outside the window"),
    "a frame after": (traces.frame(AFTER, records.SENT, CONTENT), "frames has a row outside"),
    "a huge time": (traces.drop(HUGE, SOURCE, SINK), "a time is too large"),
    "a huge time of a frame": (traces.frame(HUGE, records.SENT, CONTENT), "the frame at 0 is"),
    "a huge time of the limit": (traces.full(HUGE), "a time is too large"),
    "a huge time of a connection": (said(KNOWN, 0, b"\xff" * 8), "a time is too large"),
    "a name with a space": (
        KNOWN + traces.event(T, 1, records.COUNTER, name=b"a b"), "b'a b' is no name"),
    "a name behind its end": (
        KNOWN + traces.event(T, 1, records.COUNTER, name=b"a\0b"), r"b'a\\x00b' is no name"),
    "a reason with an escape": (
        traces.drop(T, SOURCE, SINK, name=b"\x1b[2J"), r"b'\\x1b\[2J' is no name"),
    "a control with an escape": (traces.socket(1, SOURCE, SINK, b"\x1b[2J"), "is no name"),
    "an interface before those of links": (
        traces.link(T, 99, records.BEGUN, SOURCE, SINK), "an interface that is no link's"),
    "an interface behind those of links": (
        traces.link(T, 100 + 2 * len(SPEC.network.links), records.BEGUN, SOURCE, SINK),
        "an interface that is no link's"),
    "a frame at a queue of no link": (
        traces.frame(T, records.BEGUN, CONTENT, interface=2**31), "an interface that is no link's"),
    "more captured than the frame has": (frame(size=7), "the frame at 0 is not what"),
    "more captured than the record has": (
        frame(size=100, captured=100), "the frame at 0 is not what"),
    "less captured than was asked for": (
        frame(captured=len(CONTENT) - 1), "the frame at 0 is not what"),
    "a frame longer than its bytes": (
        traces.record(records.FRAME, T, bytes(24), records.SENT), "the frame at 0 is not what"),
    "records after the limit": (traces.full(T) + KNOWN, "goes on after its limit"),
    "two limits": (traces.full(T) + traces.full(T), "goes on after its limit"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "why"), REFUSED.values(), ids=REFUSED)
def test_what_the_kernel_does_not_write_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(BedError, match=rf"malformed output: trace\.bin.*{why}"):
        decoded(tmp_path, data)


def test_any_damage_is_refused_or_gives_a_trace() -> None:
    assert read_or_refused(WHOLE)
    draw = random.Random(1)
    read = sum(read_or_refused(damaged_trace(draw)) for _number in range(500))
    assert 20 < read < 480, "some damage does not matter"


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.binary(max_size=400), st.integers(0, 7), st.integers(0, 18), st.integers(0, 120))
def test_any_bytes_behind_a_head_are_refused_or_give_a_trace(
    body: bytes, kind: int, what: int, of: int
) -> None:
    read_or_refused(KNOWN + traces.record(kind, T, body, what, of))
