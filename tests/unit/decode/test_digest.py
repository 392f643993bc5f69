"""What the digest covers, and what it leaves out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.decode.digest import (
    DATAGRAM_COLUMNS,
    QUEUE_COLUMNS,
    RECEIVER_COLUMNS,
    SENDER_COLUMNS,
    TRANSFER_COLUMNS,
    DigestInput,
    digest,
)
from orchestrator.protocol.sampling_schedule import DIGEST_NS, MANY_NS
from orchestrator.recording.extracted import ExtractedNumber
from orchestrator.recording.kept import KeptFile
from orchestrator.recording.model import (
    DATAGRAM_DTYPE,
    QUEUE_DTYPE,
    RECEIVER,
    SENDER,
    TCP_DTYPE,
    TRANSFER_DTYPE,
)

END_NS = 11 * DIGEST_NS
MANY = 2
"""Of three flows: TCP, UDP, and TCP with many connections at a time."""

Table = str
Where = Callable[[Any], Any]


def samples(dtype: np.dtype[np.void], *keys: dict[str, int]) -> np.ndarray[Any, Any]:
    """Return samples of each key every 50 ms, each field of another value."""
    times = range(0, END_NS + 1, DIGEST_NS // 2)
    rows = np.zeros(len(times) * len(keys), dtype)
    for number, (time_ns, key) in enumerate((at, key) for at in times for key in keys):
        for place, name in enumerate(dtype.names or ()):
            rows[name][number] = (number + 3 * place) % 100
        for name, value in {"time_ns": time_ns, **key}.items():
            rows[name][number] = value
    return rows


def observed() -> DigestInput:
    """Return a run in which everything happens."""
    ends = [{"flow": flow, "endpoint": end} for flow in (0, MANY) for end in (SENDER, RECEIVER)]
    transfers = np.zeros(3, TRANSFER_DTYPE)
    transfers["flow"], transfers["start_ns"], transfers["bytes"] = MANY, [1, 2, 2], [10, 20, 30]
    return DigestInput(
        samples(TCP_DTYPE, *ends), samples(QUEUE_DTYPE, {"queue": 0}, {"queue": 1}),
        samples(DATAGRAM_DTYPE, {"flow": 1}), transfers, 3, 2, {MANY},
    )  # fmt: skip


def changed(table: Table, column: str, where: Where) -> str:
    """Return the digest after a value of a table was changed where ``where`` is true."""
    run = observed()
    rows = getattr(run, table).copy()
    chosen = np.flatnonzero(where(rows))
    assert len(chosen), "or nothing would be changed"
    rows[column][chosen[0]] += 1
    return digest(replace(run, **{table: rows}))


def at(time_ns: int, **key: int) -> Where:
    """Return what selects the sample of that time and key."""

    def where(rows: Any) -> Any:
        found = rows["time_ns"] == time_ns
        for name, value in key.items():
            found &= rows[name] == value
        return found

    return where


@pytest.mark.parametrize("time_ns", [0, 3 * DIGEST_NS, END_NS])
@pytest.mark.parametrize(
    ("table", "columns", "key"),
    [
        ("tcp", SENDER_COLUMNS, {"flow": 0, "endpoint": SENDER}),
        ("tcp", RECEIVER_COLUMNS, {"flow": 0, "endpoint": RECEIVER}),
        ("datagrams", DATAGRAM_COLUMNS, {"flow": 1}),
    ],
)
def test_every_column_counts_on_the_grid_and_at_the_end(
    table: Table, columns: tuple[str, ...], key: dict[str, int], time_ns: int
) -> None:
    for column in columns:
        if column != "time_ns":
            found = changed(table, column, at(time_ns, **key))
            assert found != digest(observed()), column


@pytest.mark.parametrize("time_ns", [0, MANY_NS, END_NS])
def test_flows_with_many_connections_count_every_second(time_ns: int) -> None:
    where = at(time_ns, flow=MANY, endpoint=SENDER)
    assert changed("tcp", "bytes_sent", where) != digest(observed())


@pytest.mark.parametrize("time_ns", [0, END_NS])
def test_queues_count_by_what_they_grew(time_ns: int) -> None:
    for column in QUEUE_COLUMNS:
        assert changed("queue_samples", column, at(time_ns, queue=1)) != digest(observed()), column


def test_transfers_count() -> None:
    for column in TRANSFER_COLUMNS:
        found = changed("transfers", column, lambda rows: rows["bytes"] == 20)
        assert found != digest(observed()), column


@pytest.mark.parametrize(
    ("table", "column", "where"),
    [
        ("tcp", "rtt_us", at(DIGEST_NS // 2, flow=0, endpoint=SENDER)),
        ("tcp", "bytes_received", at(7 * DIGEST_NS // 2, flow=0, endpoint=RECEIVER)),
        ("tcp", "bytes_sent", at(3 * DIGEST_NS, flow=MANY, endpoint=SENDER)),
        ("datagrams", "delay_sum_ns", at(DIGEST_NS // 2, flow=1)),
        # Those since the previous sample.
        ("datagrams", "delay_min_ns", at(DIGEST_NS, flow=1)),
        ("datagrams", "delay_max_ns", at(END_NS, flow=1)),
        ("queue_samples", "backlog_packets", at(DIGEST_NS, queue=0)),
    ],
)
def test_what_depends_on_the_sampling_period_does_not_count(
    table: Table, column: str, where: Where
) -> None:
    assert changed(table, column, where) == digest(observed())


def test_samples_beside_the_grid_do_not_count() -> None:
    run = observed()

    def thinned(rows: Any) -> Any:
        return rows[rows["time_ns"] % DIGEST_NS == 0]

    def seldom(rows: Any) -> Any:
        return rows[(rows["time_ns"] == 0) | (rows["time_ns"] == END_NS)]

    fewer = replace(
        run, tcp=thinned(run.tcp), datagrams=thinned(run.datagrams),
        queue_samples=seldom(run.queue_samples),
    )  # fmt: skip
    assert len(fewer.tcp) < len(run.tcp)
    assert digest(fewer) == digest(run)


def test_what_set_up_counted_does_not_count() -> None:
    run = observed()
    later = run.queue_samples.copy()
    for column in QUEUE_COLUMNS:
        later[column] += 7
    assert digest(replace(run, queue_samples=later)) == digest(run)


def test_values_of_one_flow_are_not_those_of_another() -> None:
    run = observed()
    tcp, datagrams = run.tcp.copy(), run.datagrams.copy()
    tcp["flow"][tcp["flow"] == 0] = 1
    datagrams["flow"] = 0
    assert digest(replace(run, tcp=tcp)) != digest(run)
    assert digest(replace(run, datagrams=datagrams)) != digest(run)


def test_a_run_without_any_sample_has_a_digest() -> None:
    empty = DigestInput(
        np.zeros(0, TCP_DTYPE), np.zeros(0, QUEUE_DTYPE), np.zeros(0, DATAGRAM_DTYPE),
        np.zeros(0, TRANSFER_DTYPE), 2, 1,
    )  # fmt: skip
    assert digest(empty) != digest(replace(empty, flows=1))


def test_the_digest_of_version_2_is_pinned() -> None:
    """A change of what the digest covers must raise DIGEST_VERSION, and then this value."""
    assert digest(observed()) == (
        "9eb94a1dda99c74313103e68b13c1e33402203de726cac225026ebe2cda8a0ae"
    )


def test_a_digest_covers_numbers_of_programs_output_where_there_are_any() -> None:
    plain = digest(observed())
    numbers = [ExtractedNumber("program_a_s", 0.1, 1, 1), ExtractedNumber("program_b", None, 0, 0)]
    assert digest(replace(observed(), extracted={})) == plain
    with_numbers = digest(replace(observed(), extracted={1: numbers}))
    assert digest(replace(observed(), extracted={1: numbers[::-1]})) == with_numbers
    others: list[dict[int, list[ExtractedNumber]]] = [
        {2: numbers},
        {1: numbers[:1]},
        {1: []},
        {1: [replace(numbers[0], value=np.nextafter(0.1, 1)), numbers[1]]},
        {1: [replace(numbers[0], matches=2), numbers[1]]},
    ]
    found = {digest(replace(observed(), extracted=other)) for other in others}
    assert len({plain, with_numbers, *found}) == len(others) + 2


def test_a_digest_covers_files_that_are_kept_where_there_are_any() -> None:
    plain = digest(observed())
    file = KeptFile(1, "client", "page", 3, "5a" * 32, None)
    others = [
        [file],
        [replace(file, flow=2)],
        [replace(file, role="server")],
        [replace(file, name="other")],
        [replace(file, size_bytes=4)],
        [replace(file, sha256="5b" * 32)],
        [file, replace(file, name="other")],
        [replace(file, sha256=None, left_out="size")],
        [replace(file, sha256=None, left_out="run")],
    ]
    found = {digest(replace(observed(), kept=other)) for other in others}
    assert digest(replace(observed(), kept=[])) == plain
    assert len({plain, *found}) == len(others) + 1
