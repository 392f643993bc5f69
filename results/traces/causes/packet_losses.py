"""Packets that a link dropped or lost: in a full queue, by an AQM, by number, by the line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.model import QueueRecord
from results.traces.moments import Moment, until
from results.traces.names import LOSSES
from results.traces.view import TraceView
from results.wording.quantities import plural

SYN, _ACK = 0x02, 0x10
"""Flags of TCP (RFC 9293, 3.1)."""


def handshake_name(row: Any) -> str:
    """Return which packet of a handshake one without data is: SYN, SYN-ACK, empty for others."""
    flags = int(row["tcp_flags"])
    if not flags & SYN or int(row["payload_bytes"]):
        return ""
    return "SYN-ACK" if flags & _ACK else "SYN"


def cause_name(view: TraceView, row: Any) -> str:
    """Return the name of what a packet was lost by."""
    channel, step = int(row["channel"]), int(row["step"])
    return _cause(view, channel, step, _by_full_queue(view, row), [row])[0]


def moments(view: TraceView, flow: int) -> Iterator[Moment]:
    """Yield each group of losses with one cause, less than a base RTT apart."""
    lost = view.steps(flow, LOSSES)
    gap_ns = view.base_rtt_ns(flow)
    groups: dict[tuple[Any, ...], list[Any]] = {}
    ended = []
    for row in lost:
        channel, step = int(row["channel"]), int(row["step"])
        full = _by_full_queue(view, row)
        has_data = int(row["payload_bytes"]) > 0
        key = (channel, step, full, int(row["to_sink"]), has_data, handshake_name(row))
        if key in groups and row["time_ns"] - groups[key][-1]["time_ns"] > gap_ns:
            ended.append((key, groups.pop(key)))
        groups.setdefault(key, []).append(row)
    for key, rows in [*ended, *groups.items()]:
        yield _moment(view, flow, key, rows)


def _by_full_queue(view: TraceView, row: Any) -> bool:
    """Tell whether a packet was refused by a queue that was full."""
    return int(row["step"]) == records.REFUSED and _is_full(view.queue(int(row["channel"])), row)


def _is_full(queue: QueueRecord | None, row: Any) -> bool:
    """Tell whether a queue had no room for a packet that it dropped."""
    if queue is None:
        return False
    if queue.limit_packets is not None and int(row["queue_packets"]) >= queue.limit_packets:
        return True
    if queue.limit_bytes is None:
        return False
    return int(row["queue_bytes"]) + int(row["frame_bytes"]) > queue.limit_bytes


def _moment(view: TraceView, flow: int, key: tuple[Any, ...], rows: Sequence[Any]) -> Moment:
    channel, step, full, to_sink, has_data, handshake = key
    name = view.channels[channel]
    first, last = rows[0], rows[-1]
    kind, why = _cause(view, channel, step, full, rows)
    if has_data:
        what = plural(len(rows), "data packet")
    elif handshake:
        what = plural(len(rows), handshake)
    elif to_sink:
        what = f"{plural(len(rows), 'packet')} without data"
    else:
        what = plural(len(rows), "ACK")
    numbers: dict[str, Any] = {"channel": name, "packets": len(rows)}
    if full:
        numbers["queue_packets"] = int(first["queue_packets"])
        numbers["queue_bytes"] = int(first["queue_bytes"])
    if has_data:
        numbers["first_seq"] = int(first["seq"])
        numbers["end_seq"] = int(last["seq"]) + int(last["payload_bytes"])
    return Moment(
        int(first["time_ns"]),
        flow,
        kind if to_sink or has_data or handshake else f"{kind} (ACKs)",
        f"{why}; {what} of {view.flows[flow]} {'was' if len(rows) == 1 else 'were'} lost"
        + until(int(first["time_ns"]), int(last["time_ns"]), view.base_rtt_ns(flow)),
        int(last["time_ns"]) if len(rows) > 1 else None,
        numbers,
        {"links": len(rows)},
    )


def _cause(
    view: TraceView, channel: int, step: int, full: bool, rows: Sequence[Any]
) -> tuple[str, str]:
    """Return the name of the cause, and the begin of the sentence."""
    name, queue = view.channels[channel], view.queue(channel)
    aqm = "the queue" if queue is None else queue.kind
    held = plural(int(rows[0]["queue_packets"]), "packet")
    if step == records.REFUSED and full:
        share = _share(view, channel, rows[0])
        return "full queue", f"the queue of {name} was full ({held}{share})"
    if step == records.REFUSED:
        return "early drop", f"{aqm} at {name} dropped early, with {held} in its queue"
    if step == records.DROPPED:
        return "early drop", f"{aqm} at {name} dropped what had waited"
    if step == records.LOST_BY_NUMBER:
        return "loss by number", f"{name} loses packets by their numbers"
    if step == records.LOST_BY_RING:
        return "full ring", f"the receive ring behind {name} was full"
    return "loss by the line", f"the line of {name} lost packets by its loss model"


def _share(view: TraceView, channel: int, row: Any) -> str:
    """Return of which flow most packets of a queue are, if the trace tells it."""
    links = view.trace.tables["links"]
    before = links[(links["channel"] == channel) & (links["time_ns"] <= row["time_ns"])]
    entered = before["flow"][before["step"] == records.ENQUEUED]
    left = before["flow"][np.isin(before["step"], (records.BEGUN, records.DROPPED))]
    inside = {
        flow: int(np.sum(entered == flow)) - int(np.sum(left == flow))
        for flow in np.unique(entered).tolist()
    }
    # What the queue held before the trace began is of unknown flows.
    if sum(inside.values()) != int(row["queue_packets"]) or len(inside) < 2:
        return ""
    most = max(inside, key=lambda flow: inside[flow])
    return "" if most < 0 else f", {inside[most]} of them of {view.flows[most]}"
