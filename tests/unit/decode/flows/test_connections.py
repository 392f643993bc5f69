"""Samples of many connections as one series: sums that lose nothing, whatever closed between."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from orchestrator.decode.flows.connections import COUNTERS, ConnectionsDecoder
from orchestrator.kinds.traffic import Connections
from orchestrator.recording.model import RECEIVER, SENDER, TCP_DTYPE, TCP_INFO_FIELDS

ESTABLISHED, CLOSE, CLOSE_WAIT, LAST_ACK = 1, 7, 8, 9
TIMES, EDGES = np.arange(0, 301, 100, dtype=np.int64), np.zeros(0, np.int64)


def decode(
    kind: Connections, *seen: tuple[int, int, dict[str, int]], flow: int = 0
) -> npt.NDArray[np.void]:
    """Return the series of what was seen of connections: (time, cookie, fields) each."""
    decoder = ConnectionsDecoder({flow: kind})
    for time_ns, cookie, fields in seen:
        row = np.zeros(1, TCP_DTYPE)
        row["time_ns"], row["flow"] = time_ns, flow
        row["endpoint"], row["state"] = SENDER, ESTABLISHED
        for name, value in fields.items():
            row[name] = value
        decoder.take(row, np.array([cookie], np.uint64))
    return decoder.samples(TIMES, TIMES, EDGES)


def listed(rows: npt.NDArray[np.void], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(int(row[name]) for name in names) for row in rows]


def closed(**fields: int) -> dict[str, int]:
    return {"state": CLOSE, **fields}


def test_counters_go_on_over_connections_and_the_pauses_between() -> None:
    rows = decode(
        "sequential",
        (50, 1, {"bytes_sent": 10, "snd_cwnd_segments": 4}),
        (100, 1, {"bytes_sent": 30, "snd_cwnd_segments": 5}),
        (200, 1, closed(bytes_sent=40, snd_cwnd_segments=6)),
        (300, 2, {"bytes_sent": 7, "snd_cwnd_segments": 3}),
    )
    names = ("time_ns", "state", "bytes_sent", "snd_cwnd_segments")
    assert listed(rows, *names) == [
        (50, ESTABLISHED, 10, 4),
        (100, ESTABLISHED, 30, 5),
        (200, CLOSE, 40, 0),
        (300, ESTABLISHED, 47, 3),
    ]


def test_one_that_opened_and_closed_between_two_samples_counts() -> None:
    rows = decode("sequential", (130, 9, closed(bytes_sent=10, total_retrans_segments=2)))
    names = ("time_ns", "bytes_sent", "total_retrans_segments", "state")
    assert listed(rows, *names) == [(200, 10, 2, CLOSE), (300, 10, 2, CLOSE)]


def test_one_that_closes_at_the_time_of_a_sample_counts_once() -> None:
    """It was asked for, and then its last state came."""
    seen = ((100, 1, {"bytes_sent": 40}), (100, 1, closed(bytes_sent=40)))
    for order in (seen, seen[::-1]):
        rows = decode("sequential", *order)
        assert listed(rows, "time_ns", "bytes_sent", "state")[0] == (100, 40, CLOSE)


def test_a_counter_never_falls() -> None:
    """A socket may be gone at the time of a sample whose last state comes only with the next."""
    rows = decode("sequential", (100, 1, {"bytes_sent": 40}), (300, 1, closed(bytes_sent=50)))
    assert listed(rows, "time_ns", "bytes_sent") == [(100, 40), (200, 40), (300, 50)]


def test_a_time_without_a_connection_has_a_first_and_a_last_row() -> None:
    decoder = ConnectionsDecoder({0: "sequential"})
    for time_ns, cookie, state in ((100, 1, ESTABLISHED), (170, 1, CLOSE), (720, 2, ESTABLISHED)):
        row = np.zeros(1, TCP_DTYPE)
        row["time_ns"], row["state"], row["bytes_sent"] = time_ns, state, 10
        decoder.take(row, np.array([cookie], np.uint64))
    grid = np.arange(0, 801, 100, dtype=np.int64)
    for edges, more in (([], []), ([450], [450]), ([400, 650], [650])):
        rows = decoder.samples(grid, grid, np.array(edges, np.int64))
        expected = sorted([100, 200, 700, 720, 800, *more])
        assert rows["time_ns"].tolist() == expected


def test_of_two_open_connections_the_newest_established_one_is_shown() -> None:
    rows = decode(
        "sequential",
        (100, 5, {"bytes_sent": 40, "state": 4, "rtt_us": 9}),
        (100, 6, {"bytes_sent": 2, "rtt_us": 8}),
    )
    assert listed(rows, "time_ns", "bytes_sent", "rtt_us")[0] == (100, 42, 8)


def test_the_fin_is_no_byte_of_the_application() -> None:
    """While shown it is counted as the kernel does, which the metric of goodput knows."""
    receiver = {"endpoint": RECEIVER}
    rows = decode(
        "sequential",
        (100, 1, {**receiver, "bytes_received": 41, "state": CLOSE_WAIT}),
        (200, 1, {**receiver, **closed(bytes_received=41)}),
        (300, 2, {**receiver, "bytes_received": 9, "rqueue_bytes": 9}),
    )
    names = ("time_ns", "bytes_received", "rqueue_bytes", "state")
    assert listed(rows, *names) == [
        (100, 41, 0, CLOSE_WAIT), (200, 40, 0, CLOSE), (300, 49, 9, ESTABLISHED),
    ]  # fmt: skip


def test_many_are_summed_and_none_is_shown() -> None:
    receiver = {"endpoint": RECEIVER}
    rows = decode(
        "many",
        (100, 1, {**receiver, "bytes_received": 41, "rqueue_bytes": 1, "state": LAST_ACK}),
        (100, 2, {**receiver, "bytes_received": 10, "rqueue_bytes": 4, "snd_cwnd_segments": 10}),
        (100, 3, {**receiver, "bytes_received": 3, "snd_cwnd_segments": 5, "rtt_us": 7}),
        (130, 4, {**receiver, **closed(bytes_received=101)}),
        (200, 1, {**receiver, **closed(bytes_received=41)}),
        flow=3,
    )
    names = ("time_ns", "flow", "endpoint", "state", "bytes_received", "rqueue_bytes",
             "snd_cwnd_segments", "rtt_us")  # fmt: skip
    assert listed(rows, *names) == [
        (100, 3, RECEIVER, ESTABLISHED, 53, 4, 15, 0),
        (200, 3, RECEIVER, ESTABLISHED, 140, 0, 0, 0),
        (300, 3, RECEIVER, ESTABLISHED, 140, 0, 0, 0),
    ]


def test_of_many_the_largest_window_told_is_shown_of_closed_ones_too() -> None:
    rows = decode(
        "many",
        (100, 1, {"snd_wnd_bytes": 3000}),
        (100, 2, {"snd_wnd_bytes": 5000}),
        (130, 3, closed(snd_wnd_bytes=9000)),
        (200, 1, {"snd_wnd_bytes": 4000}),
        # Those that have lost something do not count.
        (200, 2, {"snd_wnd_bytes": 20_000, "sacked_segments": 1}),
        (210, 2, closed(snd_wnd_bytes=20_000, total_retrans_segments=1)),
        (390, 1, closed(snd_wnd_bytes=7000)),
    )
    assert listed(rows, "time_ns", "snd_wnd_bytes") == [(100, 5000), (200, 9000), (300, 0)]


def test_nothing_seen_gives_no_rows() -> None:
    assert not len(ConnectionsDecoder({0: "many"}).samples(TIMES, TIMES, EDGES))


@pytest.mark.parametrize("name", COUNTERS)
def test_every_counter_is_a_field_of_tcp_info(name: str) -> None:
    assert name in dict(TCP_INFO_FIELDS)
    rows = decode("many", (100, 1, closed(**{name: 5})), (200, 2, closed(**{name: 6})))
    off = 1 if name == "bytes_received" else 0
    assert listed(rows, name) == [(5 - off,), (11 - 2 * off,), (11 - 2 * off,)]
