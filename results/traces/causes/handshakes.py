"""Handshakes of TCP that took longer: a SYN or a SYN-ACK was lost, and a timer ran out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.protocol.reports import trace_records as records
from results.traces.causes import packet_losses
from results.traces.moments import Moment, of_end
from results.traces.names import LOSSES, RETRANSMISSION_TIMER
from results.traces.view import Rows, TraceView, chosen
from results.wording.quantities import plural

KIND = "handshake"
_ESTABLISHED, _SYN_SENT = 1, 2
"""TCP_* of include/net/tcp_states.h."""


@dataclass(frozen=True)
class Handshake:
    """A handshake of the end ``end``, which sent the SYN.

    ``begin_ns`` is when the first SYN left, None where the trace does not tell it. ``until_ns`` is
    when the connection was established, None where it was not so in the trace.
    """

    end: int
    begin_ns: int | None
    until_ns: int | None


def handshakes(view: TraceView, flow: int) -> Iterator[Handshake]:
    """Yield the handshakes of a flow that a trace with ``tcp`` shows."""
    for end in (*view.ends(flow, sender=True), *view.ends(flow, sender=False)):
        events = view.events(end)
        changes = events[events["what"] == records.TCP_STATE]
        begun = changes["time_ns"][changes["value"] == _SYN_SENT]
        left = changes[changes["before"] == _SYN_SENT]
        if not len(begun) and not len(left):
            continue
        established = left["time_ns"][left["value"] == _ESTABLISHED]
        yield Handshake(
            end,
            int(begun[0]) if len(begun) else None,
            int(established[0]) if len(established) else None,
        )


def states_after(view: TraceView, end: int) -> Rows:
    """Return the states of an end without those of its SYN timer: then it has no data yet."""
    events, states = view.events(end), view.states(end)
    is_begin = (events["what"] == records.TCP_STATE) & (events["value"] == _ESTABLISHED)
    if not is_begin.any():
        return states
    return chosen(states, states["time_ns"] >= events["time_ns"][is_begin][0])


def moments(view: TraceView, flow: int) -> Iterator[Moment]:
    """Yield each handshake in which a SYN was sent again, or a SYN or SYN-ACK was lost."""
    rows = view.steps(flow, LOSSES)
    syns = chosen(rows, rows["tcp_flags"] & packet_losses.SYN != 0)
    for handshake in handshakes(view, flow):
        events = _before(view.events(handshake.end), handshake.until_ns)
        again = events[events["what"] == records.RETRANSMIT]
        lost = _lost(view, handshake, syns)
        if len(again) or lost:
            moment = _moment(view, flow, handshake, events, lost)
            yield from of_end(view, flow, handshake.end, [moment])


def _before(rows: Rows, until_ns: int | None) -> Rows:
    return rows if until_ns is None else chosen(rows, rows["time_ns"] < until_ns)


def _lost(view: TraceView, handshake: Handshake, syns: Rows) -> list[Any]:
    """Return the lost SYNs and SYN-ACKs of a handshake, of those of its flow."""
    known = view.trace.tables["ends"]
    port, peer_port = known[known["end"] == handshake.end][["port", "peer_port"]][0].item()
    return [
        row
        for row in _before(syns, handshake.until_ns)
        if packet_losses.handshake_name(row)
        and {int(row["source_port"]), int(row["sink_port"])} == {port, peer_port}
        and (handshake.begin_ns is None or row["time_ns"] >= handshake.begin_ns)
    ]


def _moment(
    view: TraceView, flow: int, handshake: Handshake, events: Rows, lost: Sequence[Any]
) -> Moment:
    is_timer = (events["what"] == records.TIMER) & (events["value"] == RETRANSMISSION_TIMER)
    waits_ms = (events["before"][is_timer] / 1000).tolist()
    again = int(np.sum(events["what"] == records.RETRANSMIT))
    begin_ns, until_ns = handshake.begin_ns, handshake.until_ns
    if begin_ns is None:
        begin_ns = min(int(rows["time_ns"]) for rows in (*events[:1], *lost[:1]))
    name = view.flows[flow]
    took_ms = None if until_ns is None else (until_ns - begin_ns) / 1e6
    took = "went on" if took_ms is None else f"took {took_ms:.3f} ms"
    parts = [_loss(view, row) for row in lost]
    if waits_ms:
        after = " and ".join(f"{wait_ms:.0f} ms" for wait_ms in waits_ms)
        parts.append(f"the SYN timer ran out after {after}")
    if again:
        parts.append(f"the SYN was sent again {plural(again, 'time')}")
    if until_ns is None:
        parts.append("it was not established by the end of the trace")
    else:
        parts.append(f"the connection was established at {until_ns / 1e9:.6f} s")
    numbers: dict[str, Any] = {"retransmissions": again, "waited_ms": sum(waits_ms)}
    if took_ms is not None:
        numbers["took_ms"] = took_ms
    return Moment(
        begin_ns, flow, KIND, f"the handshake of {name} {took}: {'; '.join(parts)}", until_ns,
        numbers, {"events": len(events), "links": len(lost)},
    )  # fmt: skip


def _loss(view: TraceView, row: Any) -> str:
    where = view.channels[int(row["channel"])]
    cause = packet_losses.cause_name(view, row)
    return f"a {packet_losses.handshake_name(row)} was lost ({cause} at {where})"
