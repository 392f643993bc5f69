"""Fields of tcp_info about ECN: read where a kernel has them, and not there where it has none."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from orchestrator.decode.decode import TcpDecoder
from orchestrator.decode.flows.connections import ConnectionsDecoder
from orchestrator.decode.flows.socket_flows import FlowPorts
from orchestrator.decode.output import OutputFolder
from orchestrator.protocol.reports.records import TCP_HEAD
from orchestrator.recording.model import (
    ABSENT,
    ECN_COUNTERS,
    ECN_STATES,
    RECENT_INFO_FIELDS,
    TCP_DTYPE,
    TCP_INFO_FIELDS,
)
from results.samples.sample_tables import listed, tcp_series

FIELDS = (*ECN_COUNTERS, *ECN_STATES)
BEFORE_BYTES = np.dtype(list(TCP_INFO_FIELDS)).itemsize
OPTION_ECN = 8
CLOSE = 7
CLIENT, SERVER = 25001, 5001


def record(time_ns: int, info: bytes) -> bytes:
    """Return what the bed writes of one established sender."""
    attribute = struct.pack("<HH", 4 + len(info), 2) + info
    ports = struct.pack(">HH", CLIENT, SERVER)
    message = struct.pack("<BBBB", 2, 1, 0, 0) + ports + bytes(64) + attribute
    message = struct.pack("<IHHII", 16 + len(message), 20, 0, 1, 0) + message
    return TCP_HEAD.pack(time_ns, len(message)) + message


def info(more: bytes = b"", options: int = 0) -> bytes:
    """Return a struct tcp_info that ends with ``more`` behind the fields of Linux 6.12."""
    head = bytes([1, 0, 0, 0, 0, options, 0, 0])
    return head + bytes(BEFORE_BYTES - len(head)) + more


def ecn(word: int) -> bytes:
    return struct.pack("<8I", *range(11, 18), word)


def decoded(tmp_path: Path, *infos: bytes) -> npt.NDArray[np.void]:
    rows = b"".join(record(number * 10**8, each) for number, each in enumerate(infos))
    (tmp_path / "tcp.bin").write_bytes(rows)
    ports = [FlowPorts(CLIENT, SERVER)]
    return TcpDecoder(OutputFolder(tmp_path), ports, (0, 10**9)).samples()


def test_the_fields_are_where_linux_7_has_them(tmp_path: Path) -> None:
    """struct tcp_info of include/uapi/linux/tcp.h of Linux 7.3 has 280 bytes."""
    assert len(info(ecn(0))) == 280
    (row,) = decoded(tmp_path, info(ecn(2 | 2 << 2 | 5 << 4), OPTION_ECN))
    assert [int(row[name]) for name in FIELDS] == [*range(11, 18), 2, 2, 5]


def test_the_largest_counts_are_counts(tmp_path: Path) -> None:
    (row,) = decoded(tmp_path, info(struct.pack("<8I", *[2**32 - 1] * 7, 0)))
    assert [int(row[name]) for name in ECN_COUNTERS] == [2**32 - 1] * 7
    assert [int(row[name]) for name in ECN_STATES] == [0, 0, 0], "no ECN was negotiated"


@pytest.mark.parametrize("more", [b"", bytes(4 * 7)])
def test_a_shorter_answer_lacks_fields(tmp_path: Path, more: bytes) -> None:
    (row,) = decoded(tmp_path, info(more))
    there = [int(row[name]) != ABSENT for name in FIELDS]
    assert there == [bool(more)] * len(ECN_COUNTERS) + [False] * len(ECN_STATES)


@pytest.mark.parametrize(("size_bytes", "there"), [(232, 0), (240, 2), (248, 5)])
def test_an_older_kernel_lacks_fields(tmp_path: Path, size_bytes: int, there: int) -> None:
    """tcp_info of Linux 6.1 ends with snd_wnd; 6.2 added two fields, and 6.7 those of timeouts."""
    (row,) = decoded(tmp_path, info()[:size_bytes])
    reported = [int(row[name]) != ABSENT for name in RECENT_INFO_FIELDS]
    assert reported == [True] * there + [False] * (5 - there)
    columns = tcp_series(np.array([row]), 1).columns((0, 0))
    assert listed("total_rto", columns["total_rto"]) == [0 if there > 2 else None]


@pytest.mark.parametrize("word", [0, 2 << 16, 1 << 16 | 3])
def test_the_word_of_the_first_kernels_says_nothing(tmp_path: Path, word: int) -> None:
    """They have what failed in its low half and the option in its high half, and no mode."""
    (row,) = decoded(tmp_path, info(ecn(word), OPTION_ECN))
    assert [int(row[name]) for name in ECN_STATES] == [ABSENT] * 3
    assert int(row["received_ce_segments"]) == 11


def test_what_is_not_there_is_stored_as_missing(tmp_path: Path) -> None:
    columns = tcp_series(decoded(tmp_path, info(), info(ecn(1), OPTION_ECN)), 1).columns((0, 0))
    assert listed("received_ce_bytes", columns["received_ce_bytes"]) == [None, 17]
    assert listed("ecn_mode", columns["ecn_mode"]) == [None, 1]


def several(kind: Any, *seen: tuple[int, int, dict[str, int]]) -> list[list[int]]:
    """Return (received_ce_bytes, ecn_mode) of each row of a flow with several connections."""
    decoder = ConnectionsDecoder({0: kind})
    for time_ns, cookie, fields in seen:
        row = np.zeros(1, TCP_DTYPE)
        row["time_ns"], row["state"] = time_ns, 1
        for name in FIELDS:
            row[name] = ABSENT
        for name, value in fields.items():
            row[name] = value
        decoder.take(row, np.array([cookie], np.uint64))
    grid = np.arange(0, 301, 100, dtype=np.int64)
    rows = decoder.samples(grid, grid, np.zeros(0, np.int64))
    return [[int(row[name]) for name in ("received_ce_bytes", "ecn_mode")] for row in rows]


def test_connections_are_summed_where_the_kernel_has_the_field() -> None:
    seen = (
        (100, 1, {"received_ce_bytes": 5, "ecn_mode": 2}),
        (200, 1, {"state": CLOSE, "received_ce_bytes": 7, "ecn_mode": 2}),
        (300, 2, {"received_ce_bytes": 3, "ecn_mode": 1}),
    )
    assert several("sequential", *seen) == [[5, 2], [7, -1], [10, 1]]
    assert several("many", *seen) == [[5, -1], [7, -1], [10, -1]]


def test_connections_without_the_field_have_no_sum() -> None:
    seen: tuple[tuple[int, int, dict[str, int]], ...] = (
        (100, 1, {}), (200, 1, {"state": CLOSE}), (300, 2, {})
    )  # fmt: skip
    for kind in ("sequential", "many"):
        assert several(kind, *seen) == [[-1, -1]] * 3
