"""What is written of senders for metrics: their states, when they change."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from orchestrator.protocol.reports.records import SENDER_STATE_FIELDS, SENDER_STATE_ROW
from orchestrator.testbed.sampling.sender_states import SenderStates

NAMES = [name for name, _form in SENDER_STATE_FIELDS]
ESTABLISHED, FIN_WAIT2, CLOSE = 1, 5, 7
BBR, VEGAS, NAME, MEMORY, INFO = 16, 3, 4, 7, 2


def attribute(kind: int, payload: bytes) -> bytes:
    return struct.pack("<HH", 4 + len(payload), kind) + payload + bytes(-len(payload) % 4)


def answer(
    local: int, remote: int, cookie: int = 1, state: int = ESTABLISHED, name: bytes = b"",
    bandwidth: int | None = None, kind: int = BBR, flags: int | None = None, **values: int,
) -> bytes:  # fmt: skip
    """An answer of the kernel about one socket; with a name it is a whole one."""
    sockets = struct.pack("<BBBB", 2, state, 0, 0) + struct.pack("!HH", local, remote)
    head = sockets + bytes(36) + struct.pack("<Q", cookie) + bytes(20)
    info = bytearray(248)
    info[0:2] = bytes([state, values.get("ca_state", 0)])
    for offset, key in ((68, "rtt_us"), (80, "cwnd"), (100, "retrans"), (44, "last_data_sent_ms")):
        struct.pack_into("<I", info, offset, values.get(key, 0))
    parts = [attribute(MEMORY, bytes(36))] if name else []
    parts.append(attribute(INFO, bytes(info)))
    parts += [attribute(NAME, name)] if name else []
    if bandwidth is not None:
        parts.append(attribute(kind, struct.pack("<QIII", bandwidth, 7, 8, 9)))
    if flags is not None:  # struct nlattr of subflow_get_info() of net/mptcp/diag.c
        of_subflow = attribute(7, bytes(2)) + attribute(8, struct.pack("<I", flags))
        protocol = attribute(1, b"mptcp\0") + attribute(3 | 0x8000, of_subflow)
        parts.append(attribute(19 | 0x8000, protocol))
    body = head + b"".join(parts)
    assert len(head) == 72
    return struct.pack("<IHHII", 16 + len(body), 20, 0, 0, 0) + body


DONE = struct.pack("<IHHII", 20, 3, 0, 0, 0) + bytes(4)


class Taken:
    """Takes answers and keeps the rows that are written, as dictionaries."""

    def __init__(self, *flows: dict[str, Any]) -> None:
        self.rows: list[dict[str, int]] = []
        records: Any = self
        named: Any = list(enumerate(flows))
        self._states = SenderStates(named, records)
        self._numbers = [number for number, _flow in named]

    def sender_state(self, row: bytes) -> None:
        self.rows.append(dict(zip(NAMES, SENDER_STATE_ROW.unpack(row), strict=True)))

    def take(self, time_ns: int, *answers: bytes) -> list[dict[str, int]]:
        """Return what is written for these answers."""
        before = len(self.rows)
        self._states.take(time_ns, b"".join(answers), self._numbers)
        return self.rows[before:]


def flow(connections: str = "one", server: str = "sink") -> dict[str, Any]:
    ports = {"port": 5000, "client_port": 15000}
    return {**ports, "engine": "builtin", "connections": connections, "server": server}


def test_a_state_is_written_when_it_differs() -> None:
    taken = Taken(flow())
    assert taken.take(0) == []
    first = answer(15000, 5000, rtt_us=100, cwnd=10)
    expected = dict.fromkeys(NAMES, 0) | {
        "time_ns": 5, "state": ESTABLISHED, "rtt_us": 100, "snd_cwnd_segments": 10,
    }  # fmt: skip
    assert taken.take(5, first, DONE) == [expected]
    # Timers of the socket go on, and the metrics do not use them.
    assert taken.take(6, answer(15000, 5000, rtt_us=100, cwnd=10, last_data_sent_ms=9)) == []
    (changed,) = taken.take(7, answer(15000, 5000, rtt_us=100, cwnd=10, retrans=1, ca_state=3))
    assert (changed["total_retrans_segments"], changed["ca_state"]) == (1, 3)
    (gone,) = taken.take(8, DONE)
    assert gone == dict.fromkeys(NAMES, 0) | {"time_ns": 8, "state": CLOSE}
    assert taken.take(9) == []


def test_other_sockets_of_the_namespace_are_left_out() -> None:
    taken = Taken(flow(), flow(server="source") | {"port": 5001, "client_port": 15001})
    receiver = answer(5000, 15000, rtt_us=1)
    control = answer(15999, 5000, rtt_us=2)
    assert taken.take(0, receiver, control, DONE) == []
    (row,) = taken.take(1, receiver, answer(5001, 15001, rtt_us=3), control)
    assert (row["flow"], row["rtt_us"]) == (1, 3)


@pytest.mark.parametrize("kind", [BBR, 0x3CC0])
def test_the_bandwidth_is_found_in_whole_and_in_brief_answers(kind: int) -> None:
    taken = Taken(flow())
    whole = answer(15000, 5000, name=b"bbr\0", bandwidth=2**40 + 5, kind=kind)
    brief = answer(15000, 5000, bandwidth=2**40 + 5, kind=kind)
    (row,) = taken.take(0, whole)
    assert row["estimate_bytes_per_s"] == 2**40 + 5
    assert taken.take(1, brief) == taken.take(2, whole) == []


def test_values_of_another_kind_are_no_bandwidth_even_in_a_message_of_equal_length() -> None:
    taken = Taken(flow(), flow() | {"port": 5001, "client_port": 15001})
    with_bandwidth = answer(15000, 5000, name=b"bbr\0", bandwidth=5)
    without = answer(15001, 5001, name=b"vegas\0".ljust(8, b"\0"), bandwidth=6, kind=VEGAS)
    rows = taken.take(0, with_bandwidth, without[:-4])
    assert [row["estimate_bytes_per_s"] for row in rows] == [5, 0]


def test_of_several_connections_the_newest_that_is_established_counts() -> None:
    taken = Taken(flow("sequential"))
    taken.take(0, answer(40000, 5000, cookie=10, rtt_us=1))
    rows = taken.take(
        1,
        answer(40001, 5000, cookie=11, rtt_us=2),
        answer(40000, 5000, cookie=10, state=FIN_WAIT2, rtt_us=1),
    )
    assert [(row["connection"], row["rtt_us"]) for row in rows] == [(1, 2)]
    # An equal state of another connection is another row.
    (row,) = taken.take(2, answer(40002, 5000, cookie=12, rtt_us=2))
    assert row["connection"] == 2


def test_a_socket_without_tcp_info_is_an_error() -> None:
    taken = Taken(flow())
    message = bytearray(answer(15000, 5000))
    struct.pack_into("<H", message, 88 + 2, 99)  # INET_DIAG_INFO becomes another attribute
    with pytest.raises(ValueError, match="tcp_info"):
        taken.take(0, bytes(message))


def test_flags_are_those_of_established_subflows() -> None:
    named: Any = enumerate([flow(), flow() | {"port": 5001, "client_port": 15001}])
    records: Any = None
    states = SenderStates(named, records)
    joined = answer(15000, 5000, flags=0x1CC)
    plain, syn_sent = answer(15001, 5001), answer(15001, 5001, state=2, flags=0x8)
    assert list(states.subflows(joined + plain + DONE, {0, 1})) == [(0, 0x1CC), (1, None)]
    assert list(states.subflows(joined + plain, {0})) == [(0, 0x1CC)]
    assert list(states.subflows(joined + syn_sent, {0, 1})) == [(0, 0x1CC)]
    # The receiver's end is no sender.
    assert list(states.subflows(answer(5000, 15000, flags=0x1CC), {0, 1})) == []
