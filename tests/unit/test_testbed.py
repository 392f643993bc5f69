"""The parts of the test bed that need no kernel: schedules, messages, structures."""

from __future__ import annotations

import struct

import pytest

from orchestrator.testbed import netlink, probes, qdisc, schedule
from orchestrator.testbed.schedule import QUEUES, RECEIVERS, SENDERS

MS = 1_000_000
EVERYTHING = SENDERS | RECEIVERS | QUEUES


def test_every_time_comes_once_and_in_order() -> None:
    plan = list(schedule.ticks(1000 * MS, 30 * MS, 70 * MS, [250 * MS]))
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
    plan = dict(schedule.ticks(2000 * MS, period_ms * MS, period_ms * MS, []))
    for time_ns in range(0, 2001 * MS, 100 * MS):
        assert plan[time_ns] & (SENDERS | RECEIVERS) == SENDERS | RECEIVERS


def test_a_duration_off_every_grid_ends_with_everything() -> None:
    assert list(schedule.ticks(1234, 1000, 1000, []))[-1] == (1234, EVERYTHING)


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

    def queue(self, kind: int, flags: int, body: bytes, what: str) -> None:
        self.sent.append((kind, flags, body, what))


def options(body: bytes) -> bytes:
    return bytes(netlink.parse_attributes(body, 20)[qdisc.TCA_OPTIONS])


@pytest.mark.parametrize("rate_bps", [64_000, 10_000_000, 1_000_000_000, 40_000_000_000])
def test_a_rate_is_read_back_as_it_was_set(rate_bps: int) -> None:
    recorder = Recorder()
    qdisc.add_rate(recorder, 3, rate_bps, "w0f")
    (kind, _flags, body, what) = recorder.sent[0]
    assert (kind, what) == (qdisc.RTM_NEWQDISC, "w0f tbf")
    assert qdisc._decode_tbf(options(body)) == {"rate_bps": rate_bps}
    burst = struct.unpack("=I", netlink.parse_attributes(options(body))[qdisc.TCA_TBF_BURST])[0]
    # Room for a frame and what a microsecond brings; far below a second frame up to 10 Gbit/s.
    assert burst >= qdisc.FRAME_BYTES + rate_bps // 8 // 10**6


def test_delay_and_loss_are_read_back_as_they_were_set() -> None:
    recorder = Recorder()
    qdisc.add_delay(recorder, 3, 20_000_001, 0.001, 2**63 + 5, 1000, "w0b")
    found = qdisc._decode_netem(options(recorder.sent[0][2]))
    assert (found["delay_ns"], found["limit_packets"]) == (20_000_001, 1000)
    assert found["seed"] == 2**63 + 5
    assert found["loss"] == pytest.approx(0.001, abs=2**-32)


@pytest.mark.parametrize(
    ("queue", "kind", "read"),
    [
        ({"limit_packets": 7, "limit_bytes": None}, b"pfifo", {"limit_packets": 7}),
        ({"limit_packets": None, "limit_bytes": 9000}, b"bfifo", {"limit_bytes": 9000}),
    ],
)
def test_queues_in_packets_and_in_bytes(
    queue: dict[str, int | None], kind: bytes, read: dict[str, int]
) -> None:
    recorder = Recorder()
    qdisc.add_queue(recorder, 3, queue, "w0f")
    body = recorder.sent[0][2]
    assert bytes(netlink.parse_attributes(body, 20)[qdisc.TCA_KIND]).rstrip(b"\0") == kind
    assert qdisc._DECODERS[kind.decode()](options(body)) == read


def test_the_echo_request_has_a_right_checksum() -> None:
    request = probes._echo_request(1, 77)
    assert probes._checksum(request) == 0
