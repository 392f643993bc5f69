"""Traced events of a run in words, with their values by names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from orchestrator.protocol.reports import trace_records as records
from results.traces import names
from results.traces.difference.comparable import COMPARED, TCP, Rows
from results.traces.difference.in_kind import like
from results.traces.own_variables import CLOCK, own_variables

Kind = Literal["packet", "ack", "state"]

_KINDS: dict[str, Kind] = {"links": "packet", "drops": "packet", "acks": "ack", "events": "state"}

_TCP_STATES = (
    "", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT", "CLOSE",
    "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING", "NEW_SYN_RECV",
)  # fmt: skip
"""include/net/tcp_states.h."""

_TIMERS = {
    names.RETRANSMISSION_TIMER: "retransmission timer",
    3: "probe timer of a closed window",
    names.LOSS_PROBE_TIMER: "tail loss probe timer",
    6: "reordering timer of RACK",
}
"""By the numbers ICSK_TIME_* of include/net/inet_connection_sock.h."""
_NO_SSTHRESH = 2**31 - 1
"""TCP_INFINITE_SSTHRESH of include/net/tcp.h."""

_FLAGS = ((2, "SYN"), (1, "FIN"), (4, "RST"))


@dataclass(frozen=True)
class TracedEvent:
    """An event of a trace.

    ``flow`` is None for a packet of none. ``place`` is a channel, or the end of a connection.
    ``what`` is the name of the step, of the event, or of the reason of a drop. ``values`` are those
    that are compared, by the names of their columns. ``only_here`` tells that the other run has no
    event at that time with the same values. ``other_values`` are those in which the other run's
    like event of that time differs (``results.traces.difference.in_kind``). It is None where there
    is none, or an equal one.
    """

    time_ns: int
    kind: Kind
    table: str
    flow: str | None
    place: str
    what: str
    text: str
    values: dict[str, Any]
    only_here: bool
    other_values: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Names:
    """The names of a run's flows and channels, by their numbers.

    ``private`` is that of ``Connections``.
    """

    flows: Sequence[str]
    channels: Sequence[str]
    private: Mapping[int, bytes] = field(default_factory=dict)

    def traced(self, table: str, rows: Rows, at: int, others: Rows) -> TracedEvent:
        """Return a comparable row of a table as an event; ``others`` is the other run's table."""
        row = rows[at]
        number = int(row["flow"])
        flow = self.flows[number] if number >= 0 else None
        place, what, text = _WORDS[table](self, flow, row)
        algorithm = self.private.get(number, b"")
        values = _values(table, row, algorithm)
        time_ns = int(row["time_ns"])
        first, last = np.searchsorted(others["time_ns"], [time_ns, time_ns + 1]).tolist()
        only_here = not any(row == other for other in others[first:last])
        other_values = None
        if only_here:
            earlier = rows[int(np.searchsorted(rows["time_ns"], time_ns)) : at]
            twin = like(table, row, earlier, others[first:last])
            if twin is not None:
                other_values = _unequal(values, _values(table, twin, algorithm))
        return TracedEvent(
            time_ns, _KINDS[table], table, flow, place, what, text, values, only_here, other_values
        )


def _unequal(values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the other run's values that are not equal."""
    names = dict.fromkeys([*values, *others])
    return {name: others.get(name) for name in names if values.get(name) != others.get(name)}


def _values(table: str, row: Any, algorithm: bytes) -> dict[str, Any]:
    """Return the values of a row by the names of its columns, and own variables by theirs."""
    values: dict[str, Any] = {name: _value(row[name]) for name in COMPARED[table].names or ()}
    if table == "acks":
        own = own_variables(np.array([row], COMPARED[table]), np.array([algorithm]))
        if own:
            del values["info"]
        values |= {
            name: float(column[0]) for name, column in own.items() if not name.endswith(CLOCK)
        }
    return values


def _value(value: Any) -> int | str:
    """Return a value as JSON has it: a name as text, the state of an algorithm in hexadecimal."""
    if value.dtype.kind == "S":
        return bytes(value).decode("ascii", "replace")
    return value.tobytes().hex() if value.dtype.kind == "V" else int(value)


def _span(first: int, end: int) -> str:
    return f"bytes {first} to {end}"


def _packet(flow: str | None, row: Any) -> str:
    """Return what a packet is."""
    of = "of no flow" if flow is None else f"of {flow}"
    size = int(row["payload_bytes"])
    if int(row["protocol"]) != TCP:
        return f"a packet {of} ({size} bytes)"
    flags = int(row["tcp_flags"])
    named = next((name for bit, name in _FLAGS if flags & bit), None)
    if size:
        seq = int(row["seq"])
        return f"data {of} ({_span(seq, seq + size)})"
    if named is not None:
        return f"a {named} {of}"
    return f"an ACK {of} (up to byte {int(row['ack_seq'])})"


def _link(known: Names, flow: str | None, row: Any) -> tuple[str, str, str]:
    channel, step = known.channels[int(row["channel"])], int(row["step"])
    packet, held = _packet(flow, row), int(row["queue_packets"])
    text = _STEPS[step].format(
        channel=channel, packet=packet, held=f"{held} packet{'' if held == 1 else 's'}",
        waited=f"{int(row['sojourn_ns']) / 1e6:.3f} ms",
    )  # fmt: skip
    return channel, names.STEPS[step], text


_STEPS = {
    records.ENQUEUED: "the queue of {channel} took {packet}, and then held {held}",
    records.BEGUN: "{channel} began to transmit {packet}, which had waited {waited}",
    records.ARRIVED: "{packet} came out of {channel}",
    records.REFUSED: "the queue of {channel} dropped {packet} as it came, and held {held}",
    records.DROPPED: "the queue of {channel} dropped {packet}, which had waited {waited}",
    records.LOST_BY_NUMBER: "{channel} lost {packet} by its number",
    records.LOST_BY_LINE: "the line of {channel} lost {packet}",
    records.MARKED: "the queue of {channel} marked {packet}, and held {held}",
    records.DUPLICATED: "{channel} duplicated {packet}",
    records.LOST_BY_RING: "the receive ring behind {channel} was full and dropped {packet}",
}


def _drop(_known: Names, flow: str | None, row: Any) -> tuple[str, str, str]:
    reason = bytes(row["name"]).decode("ascii", "replace")
    to_sink = bool(row["to_sink"])
    return (
        "sink" if to_sink else "source",
        reason,
        f"a kernel dropped {_packet(flow, row)}: {reason}",
    )


def _whose(flow: str | None, row: Any) -> tuple[str, str]:
    """Return the role of a connection's end, and the end in words."""
    role = "sender" if row["is_sender"] else "receiver"
    number = int(row["connection"])
    end = f"the {role} of {flow}" if flow is not None else f"an end of no flow ({role})"
    return role, end if number == 0 else f"{end} (connection {number})"


def _windows(row: Any) -> str:
    ssthresh = int(row["ssthresh_segments"])
    known = "no ssthresh yet" if ssthresh >= _NO_SSTHRESH else f"ssthresh {ssthresh}"
    return f"cwnd {int(row['cwnd_segments'])}, {known}"


def _ack(_known: Names, flow: str | None, row: Any) -> tuple[str, str, str]:
    role, end = _whose(flow, row)
    state = records.CA_STATES[int(row["ca_state"])]
    by_timer = int(row["by"]) == records.BY_TIMER
    after = "a timer" if by_timer else f"an ACK (up to byte {int(row['ack_seq'])})"
    if not by_timer and row["seq"] != row["end_seq"]:
        after = f"a segment ({_span(int(row['seq']), int(row['end_seq']))})"
    text = (
        f"after {after}, {end} had {_windows(row)}, SRTT {int(row['srtt_us']) / 1e3:.3f} ms, "
        f"{_in_flight(row)} segments in flight, state {state}"
    )
    return role, f"state after {'a timer' if by_timer else 'an ACK'}", text


def _in_flight(row: Any) -> int:
    """Return tcp_packets_in_flight() of include/net/tcp.h."""
    gone = int(row["sacked_segments"]) + int(row["lost_out_segments"])
    return int(row["packets_out_segments"]) - gone + int(row["retrans_out_segments"])


def _event(_known: Names, flow: str | None, row: Any) -> tuple[str, str, str]:
    role, end = _whose(flow, row)
    what = int(row["what"])
    return role, names.EVENTS[what], f"{_EVENTS[what](end, row)} ({_windows(row)})"


def _to_ca_state(end: str, row: Any) -> str:
    before, after = (
        records.CA_STATES[number] if number < len(records.CA_STATES) else str(number)
        for number in (int(row["before"]), int(row["value"]))
    )
    return f"{end} went from {before} to {after}"


def _to_tcp_state(end: str, row: Any) -> str:
    before, after = (
        _TCP_STATES[number] if 0 < number < len(_TCP_STATES) else str(number)
        for number in (int(row["before"]), int(row["value"]))
    )
    return f"{end} went from {before} to {after}"


_EVENTS: dict[int, Callable[[str, Any], str]] = {
    records.CA_STATE: _to_ca_state,
    records.TCP_STATE: _to_tcp_state,
    records.RETRANSMIT: lambda end, row: (
        f"{end} retransmitted {_span(int(row['seq']), int(row['end_seq']))}"
    ),
    records.COUNTER: lambda end, row: (
        f"{bytes(row['name']).decode('ascii', 'replace')} grew by {int(row['value'])} at {end}"
    ),
    records.TIMER: lambda end, row: f"the {_timer(int(row['value']))} of {end} ran out",
    records.CWND: lambda end, row: (
        f"cwnd of {end} changed by itself from {int(row['before'])} to {int(row['value'])}"
    ),
}


def _timer(number: int) -> str:
    return _TIMERS.get(number, f"timer {number}")


_WORDS: dict[str, Callable[[Names, str | None, Any], tuple[str, str, str]]] = {
    "links": _link,
    "drops": _drop,
    "acks": _ack,
    "events": _event,
}
