"""When queues are read for checks."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest

from orchestrator.protocol.links.link import Transmitter
from orchestrator.protocol.numbering import LINK_HANDLE, QUEUE_HANDLE
from orchestrator.testbed.network.queues import qdisc_counters
from orchestrator.testbed.sampling.readings import NEVER_NS, QueueReader

MS = 1_000_000
NAMES = [(102, LINK_HANDLE), (102, QUEUE_HANDLE)]


class Written:
    """Keeps what is written: (ms, place)."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, int]] = []

    def reading(self, time_ns: int, place: int, _counters: bytes) -> None:
        self.rows.append((time_ns / MS, place))


def words(backlog_bytes: int) -> bytes:
    return struct.pack("<8I", 0, 0, 0, 0, 0, 0, backlog_bytes, 0)


def row(backlog_bytes: int, policers: int = 0) -> bytes:
    further = struct.pack("<2I", 7, 7)
    return words(0) + words(backlog_bytes) + further + words(0) * policers


def made(written: Written, rate_bps: int | None = 10_000_000, policers: int = 0) -> Any:
    """Return what reads the queue of a link's forward direction."""
    devices = {"a": 101, "b": 102}
    forward = Transmitter(rate_bps, 0.01).qdisc().document()
    link = SimpleNamespace(
        spec={"mtu_bytes": 1500, "forward": {"link": forward}, "reverse": {"link": None}},
        device=lambda end: (f"w0{end}", devices[end]),
    )
    spec = {"sample": {"readings_ns": 100 * MS}, "traces": []}
    bed: Any = SimpleNamespace(wires=None, links={"link": link}, spec=spec)
    records: Any = written
    return QueueReader(bed, NAMES, policers, records)


def read_all(readings: Any) -> None:
    """Read all that is due before the next regular reading."""
    while readings.next_ns < NEVER_NS:
        readings.read()


def test_a_backlogged_queue_is_read_again_before_its_backlog_can_have_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backlog = 40 * 1514
    monkeypatch.setattr(qdisc_counters.QueueCounters, "sample", lambda _self: words(backlog))
    written = Written()
    readings = made(written)
    readings.take(0, row(backlog))
    drains_ms = 39 * 1514 * 8 / 10e3
    assert 0.7 * drains_ms < readings.next_ns / MS < drains_ms
    read_all(readings)
    times_ms = [time_ms for time_ms, place in written.rows if place == 1]
    assert len(times_ms) == len(written.rows) == 3
    assert times_ms[0] == 0
    assert times_ms[-1] < 100, "the next regular reading comes then"


def test_an_idle_queue_and_one_without_a_rate_are_read_at_the_period_only() -> None:
    written = Written()
    for readings, backlog in ((made(written), 1514), (made(written, None), 10**6)):
        readings.take(0, row(backlog))
        assert readings.next_ns == NEVER_NS
    assert written.rows == [(0, 1)]


def test_a_queue_is_read_twenty_times_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdisc_counters.QueueCounters, "sample", lambda _self: words(3 * 1514))
    written = Written()
    readings = made(written)
    for time_ms in range(0, 2000, 100):
        readings.take(time_ms * MS, row(3 * 1514))
        read_all(readings)
    first = [time_ms for time_ms, _place in written.rows if time_ms < 1000]
    assert len(first) == 10 + 20
    assert len(written.rows) == 2 * len(first)


def test_the_policers_of_a_row_are_written_behind_the_further_words() -> None:
    written = Written()
    made(written, policers=2).take(100 * MS, row(0, policers=2))
    assert written.rows == [(100, 1), (100, 2), (100, 3)]
