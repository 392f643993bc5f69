"""The parts of the test bed that need no kernel: schedules, messages, structures."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from orchestrator.protocol import sampling_schedule, version
from orchestrator.protocol.links import link
from orchestrator.protocol.numbering import (
    LINK_HANDLE,
    NETEM_CLASS,
    NETEM_HANDLE,
    QUEUE_CLASS,
    QUEUE_HANDLE,
)
from orchestrator.protocol.sampling_schedule import (
    COUNTERS,
    EDGES,
    GRID,
    MANY,
    QUEUES,
    RECEIVERS,
    SENDERS,
)
from orchestrator.testbed.kernel import netlink
from orchestrator.testbed.network.link import GrantedLink
from orchestrator.testbed.network.queues import qdisc
from orchestrator.testbed.sampling import probes

MS = 1_000_000
EVERYTHING = SENDERS | RECEIVERS | QUEUES | MANY | EDGES | COUNTERS


def test_every_time_comes_once_and_in_order() -> None:
    plan = list(sampling_schedule.ticks(1000 * MS, 30 * MS, 70 * MS, [250 * MS]))
    times = [time_ns for time_ns, _what in plan]
    assert times == sorted(set(times))
    found = dict(plan)
    assert found[0] == found[250 * MS] == found[1000 * MS] == EVERYTHING
    assert found[30 * MS] == SENDERS
    assert found[70 * MS] == QUEUES
    assert found[100 * MS] == SENDERS | RECEIVERS
    assert found[210 * MS] == SENDERS | QUEUES


@pytest.mark.parametrize("period_ms", [1, 10, 30, 100, 1000])
def test_the_digest_is_sampled_whatever_the_scenario_samples(period_ms: int) -> None:
    plan = dict(sampling_schedule.ticks(2000 * MS, period_ms * MS, period_ms * MS, []))
    for time_ns in range(0, 2001 * MS, 100 * MS):
        assert plan[time_ns] & (SENDERS | RECEIVERS) == SENDERS | RECEIVERS


def test_many_connection_flows_are_sampled_every_second_and_at_the_edges() -> None:
    plan = sampling_schedule.ticks(3500 * MS, 10 * MS, 10 * MS, [1234 * MS])
    found = [time_ns // MS for time_ns, what in plan if what & MANY]
    assert found == [0, 1000, 1234, 2000, 3000, 3500]


@pytest.mark.parametrize("period_ms", [1, 10, 30, 100, 1000])
def test_senders_are_read_on_the_metrics_grid_whatever_the_scenario_samples(period_ms: int) -> None:
    plan = sampling_schedule.ticks(
        500 * MS, period_ms * MS, period_ms * MS, [123 * MS], None, 24 * MS
    )
    found = [time_ns // MS for time_ns, what in plan if what & GRID]
    assert found == sorted({*range(0, 501, 24), 123, 500})


@pytest.mark.parametrize("period_ms", [None, 30, 70])
def test_counters_of_hosts_are_read_at_the_edges_and_at_a_period_of_their_own(
    period_ms: int | None,
) -> None:
    period_ns = None if period_ms is None else period_ms * MS
    plan = list(
        sampling_schedule.ticks(500 * MS, 100 * MS, 100 * MS, [123 * MS], counters_ns=period_ns)
    )
    found = [time_ns // MS for time_ns, what in plan if what & COUNTERS]
    regular = () if period_ms is None else range(0, 501, period_ms)
    assert found == sorted({0, *regular, 123, 500})
    without = sampling_schedule.ticks(500 * MS, 100 * MS, 100 * MS, [123 * MS])
    others = [(time_ns, what & ~COUNTERS) for time_ns, what in plan if what != COUNTERS]
    assert others == [(time_ns, what & ~COUNTERS) for time_ns, what in without]


def test_a_duration_off_every_grid_ends_with_everything() -> None:
    assert list(sampling_schedule.ticks(1234, 1000, 1000, []))[-1] == (1234, EVERYTHING)


def test_attributes_are_padded_nested_and_parsed() -> None:
    nested = netlink.attribute(7, [netlink.u32(1, 5), netlink.attribute(2, "abc")])
    assert len(nested) % 4 == 0
    inner = netlink.parse_attributes(netlink.parse_attributes(nested)[7])
    assert struct.unpack("=I", inner[1]) == (5,)
    assert bytes(inner[2]) == b"abc\0"


def test_a_broken_attribute_ends_the_parsing() -> None:
    assert netlink.parse_attributes(struct.pack("=HH", 2, 1) + bytes(8)) == {}


def test_messages_stop_at_what_is_cut_off() -> None:
    one = struct.pack("=IHHII", 20, 5, 0, 1, 0) + b"data"
    found = list(netlink.messages(one + one + bytes(10)))
    assert [(kind, start, end) for kind, _f, _s, start, end in found] == [(5, 16, 20), (5, 36, 40)]


class Recorder:
    """Stands in for a netlink socket: keeps what would be sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, int, bytes, str]] = []
        self.flushes = 0

    def queue(self, kind: int, flags: int, body: bytes, what: str) -> None:
        self.sent.append((kind, flags, body, what))

    def flush(self) -> None:
        self.flushes += 1


def options(body: bytes) -> bytes:
    return bytes(netlink.parse_attributes(body, 20)[qdisc.TCA_OPTIONS])


def place(body: bytes) -> tuple[int, int, int]:
    """Return (interface index, handle, parent) of a request."""
    _family, index, handle, parent, _info = qdisc.TCMSG.unpack_from(body)
    return index, handle, parent


@pytest.mark.parametrize(
    ("rate_bps", "delay_s"), [(None, 0.0), (64_000, 0.25), (10_000_000, 1e-9), (10**11, 3600.0)]
)
def test_a_link_is_read_back_as_it_was_set(rate_bps: int | None, delay_s: float) -> None:
    recorder: Any = Recorder()
    document = link.Transmitter(rate_bps, delay_s).qdisc().document()
    qdisc.add_link(recorder, 3, document, "w0b")
    (kind, _flags, body, what) = recorder.sent[0]
    assert (kind, what) == (qdisc.RTM_NEWQDISC, "w0b link")
    assert place(body) == (3, LINK_HANDLE, qdisc.TC_H_ROOT)
    assert qdisc.unpack(document["settings"], options(body)) == {
        "model": version.LINK_MODEL, "rate_bps": rate_bps or 0, "delay_ns": round(delay_s * 1e9),
        "granted": 0, "bypass": 0,
    }  # fmt: skip


def test_queue_and_netem_are_different_classes_of_the_link() -> None:
    recorder: Any = Recorder()
    qdisc.add_queue(recorder, 3, {"kind": "pfifo", "settings": [], "words": []}, "w0b")
    qdisc.add_netem(recorder, 3, {"kind": "netem", "settings": [], "words": []}, "w0b")
    qdisc.remove_queue(recorder, 3, "w0b")
    queue, netem, removal = recorder.sent
    assert place(queue[2]) == (3, QUEUE_HANDLE, QUEUE_CLASS)
    assert place(netem[2]) == (3, NETEM_HANDLE, NETEM_CLASS)
    assert (removal[0], place(removal[2])) == (qdisc.RTM_DELQDISC, place(queue[2]))


def granted_link(recorder: Any) -> tuple[GrantedLink, Any]:
    """Return a link of 5 Mbit/s that follows a trace, and the settings of its specification."""
    settings = link.Transmitter(5_000_000, 0.01).qdisc().document()["settings"]
    return GrantedLink(recorder, 3, "w0b", settings), settings


def test_a_link_with_a_trace_stops_and_then_gets_bytes() -> None:
    recorder: Any = Recorder()
    granted, settings = granted_link(recorder)
    granted.begin()
    granted.grant(3)
    granted.grant(2)
    assert [what for _kind, _flags, _body, what in recorder.sent] == [
        "w0b link", "w0b grant", "w0b grant",
    ]  # fmt: skip
    assert {flags for _kind, flags, _body, _what in recorder.sent} == {netlink.NLM_F_REPLACE}
    sent = [netlink.parse_attributes(options(body)) for _kind, _flags, body, _what in recorder.sent]
    # Only what changes is sent.
    assert {kind: bytes(data) for kind, data in sent[0].items()} == {4: b"\x01"}
    grants = [struct.unpack("=I", each[link.GRANT_BYTES_ATTRIBUTE])[0] for each in sent[1:]]
    assert grants == [3 * 1504, 2 * 1504]  # mahimahi's PACKET_SIZE
    assert (granted.granted_frames, recorder.flushes) == (5, 3)
    # What is compared with the kernel at the end has the new setting, and all others.
    values = {setting["name"]: setting["value"] for setting in settings}
    assert (values["granted"], values["rate_bps"], values["delay_ns"]) == (1, 5_000_000, 10_000_000)


FIELDS = ("name", "attribute", "offset", "format", "value", "expected", "once")
SETTINGS: list[Any] = [
    dict(zip(FIELDS, values, strict=True))
    for values in [
        ["limit_packets", [], 4, "I", 1000, 1000, False],
        ["loss_q32", [], 8, "I", 4294967, 4294967, False],
        ["jitter_ticks", [], 20, "I", 0, None, False],
        ["delay_ns", [10], 0, "q", 20_000_001, 20_000_001, False],
        ["seed", [14], 0, "Q", 2**63 + 5, 2**63 + 5, False],
        ["p", [5, 2], 0, "I", 7, 7, False],
        ["r", [5, 2], 4, "I", 8, 8, True],
        ["table", [6], 0, "s", "0102ff", "0102ff", False],
    ]
]


def test_settings_are_read_back_as_they_were_packed() -> None:
    recorder: Any = Recorder()
    queue: Any = {"kind": "netem", "settings": SETTINGS}
    qdisc.add_netem(recorder, 3, queue, "w0b")
    (_kind, _flags, body, what) = recorder.sent[0]
    assert what == "w0b netem"
    packed = options(body)
    # struct tc_netem_qopt comes whole before the first attribute.
    assert struct.unpack_from("=6I", packed) == (0, 1000, 4294967, 0, 0, 0)
    found = qdisc.unpack(SETTINGS, packed)
    assert found == {s["name"]: s["value"] for s in SETTINGS if s["expected"] is not None}


def test_a_setting_that_the_kernel_does_not_report_is_none() -> None:
    packed = qdisc.pack(SETTINGS[:5])
    assert qdisc.unpack(SETTINGS, packed)["p"] is None
    assert qdisc.unpack(SETTINGS, b"")["limit_packets"] is None


def test_the_echo_request_has_a_right_checksum() -> None:
    for frame_bytes in (50, 1514):
        assert probes._checksum(probes._echo_request(1, 77, frame_bytes)) == 0


def probe_frame(number: int) -> bytes:
    ethernet = bytes(12) + b"\x08\x00"
    udp = struct.pack("!4H", 50_000, probes.PROBE_PORT, 1480, 0)
    ipv4 = bytes.fromhex("450005dc0000400040110000") + bytes(8)
    return ethernet + ipv4 + udp + struct.pack("=II", 1, number) + bytes(12)


def test_what_others_send_is_not_taken_for_packets_of_probes() -> None:
    """A report to ff02::16 has zeros where the first packet's round and number are."""
    report = bytes.fromhex(
        "333300000016ee6b26efc5e286dd6000000000240001fe80000000000000ec6b26fffeefc5e2"
        "ff0200000000000000000000000000163a00050200000100"
    )
    assert probes._STAMP.unpack(report[probes._PLACE]) == (0, 0)
    ours, tcp = probe_frame(0), bytearray(probe_frame(0))
    tcp[23] = 6
    seen = [(10, report), (20, ours), (30, bytes(tcp)), (40, ours[:36] + bytes(26)), (50, ours)]
    assert probes._of_probes(seen) == [(20, ours), (50, ours)]


def test_probe_packets_are_matched_where_they_leave_a_queue() -> None:
    """The second was dropped, the third came twice and was taken twice, the fourth late."""
    arrivals = [(10, probe_frame(0)), (20, probe_frame(1)), (30, probe_frame(2)),
                (31, probe_frame(2)), (40, probe_frame(3))]  # fmt: skip
    departures = [(50, probe_frame(0)), (60, probe_frame(3)), (70, probe_frame(2)),
                  (80, probe_frame(2)), (90, probe_frame(7))]  # fmt: skip
    assert probes._matched(arrivals, departures) == [
        (1, 0, 10, 50), (1, 3, 40, 60), (1, 2, 30, 70), (1, 2, 31, 80),
    ]  # fmt: skip
