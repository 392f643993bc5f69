"""What the kernel counts and does not say otherwise: undone reductions, HyStart, reordering, ..."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from results.traces.moments import Moment, of_end
from results.traces.view import TraceView, counter

_BY_TIME_STAMPS = "the ACKs' time stamps show that"
_OF_ENDS = {
    "TCPFullUndo": (
        "undo",
        f"the reduction of {{flow}} was undone: {_BY_TIME_STAMPS} no retransmission was needed",
    ),
    "TCPDSACKUndo": (
        "undo",
        "the reduction of {flow} was undone: DSACKs show that no retransmission was needed",
    ),
    "TCPPartialUndo": (
        "undo",
        f"a part of the reduction of {{flow}} was undone: {_BY_TIME_STAMPS} the first "
        "retransmission was not needed",
    ),
    "TCPLossUndo": (
        "undo",
        "the reduction of {flow} after a timeout was undone: nothing had been lost",
    ),
    "TCPHystartTrainDetect": (
        "HyStart",
        "HyStart ended slow start of {flow} at cwnd {cwnd}: its train of ACKs was as long as half "
        "the RTT",
    ),
    "TCPHystartDelayDetect": (
        "HyStart",
        "HyStart ended slow start of {flow} at cwnd {cwnd}: the RTT had grown",
    ),
    "TCPLostRetransmit": (
        "lost retransmission",
        "a retransmission of {flow} was taken for lost, too",
    ),
    "TCPSACKReorder": ("reordering", "packets of {flow} arrived in another order (SACK)"),
    "TCPTSReorder": ("reordering", "packets of {flow} arrived in another order (time stamps)"),
    "TCPRenoReorder": ("reordering", "packets of {flow} arrived in another order (duplicate ACKs)"),
    "TCPSACKReneging": (
        "reneging",
        "the receiver of {flow} forgot what it had acknowledged by SACK",
    ),
    "TCPLossProbeRecovery": ("tail loss", "the tail loss probe of {flow} repaired a loss"),
    "PAWSEstab": ("PAWS drop", "the {end} of {flow} dropped {count} with an old time stamp (PAWS)"),
    "TCPRcvQDrop": ("receive buffer", "the {end} of {flow} dropped {count}: its buffer was full"),
    "TCPOFODrop": (
        "receive buffer",
        "the {end} of {flow} dropped {count} out of order: its buffer was full",
    ),
    "TCPBacklogDrop": (
        "receive buffer",
        "the {end} of {flow} dropped {count}: its backlog was full",
    ),
    "TCPZeroWindowDrop": (
        "receive window",
        "the {end} of {flow} dropped {count} beyond its window",
    ),
    "TCPToZeroWindowAdv": ("receive window", "the {end} of {flow} closed its window"),
    "TCPFromZeroWindowAdv": ("receive window", "the {end} of {flow} opened its window again"),
}
"""By the counter's name in /proc/net/netstat: kind of the moment, and its sentence."""
_OF_WINDOWS = frozenset({"TCPToZeroWindowAdv", "TCPFromZeroWindowAdv"})
"""Of a subflow of Multipath TCP they tell of no window that closed. The kernel gives a subflow what
is left of the connection's window with each segment (mptcp_set_rwin() of net/mptcp/options.c), and
the next segment compares with that."""


def moments(view: TraceView, flow: int) -> Iterator[Moment]:
    """Yield a moment for each group of growths of a counter, less than a base RTT apart."""
    left_out = _OF_WINDOWS if view.run.multipath(flow) is not None else frozenset()
    for is_sender in (True, False):
        for end in view.ends(flow, is_sender):
            by_name: dict[str, list[Any]] = {}
            for event in view.events(end):
                if (name := counter(event)) in _OF_ENDS and name not in left_out:
                    by_name.setdefault(name, []).append(event)
            for name, events in by_name.items():
                for group in _groups(events, view.base_rtt_ns(flow)):
                    yield from of_end(
                        view, flow, end, [_moment(view, flow, is_sender, name, group)]
                    )


def _groups(events: Sequence[Any], gap_ns: int) -> Iterator[list[Any]]:
    group: list[Any] = []
    for event in events:
        if group and event["time_ns"] - group[-1]["time_ns"] > gap_ns:
            yield group
            group = []
        group.append(event)
    yield group


def _moment(view: TraceView, flow: int, is_sender: bool, name: str, group: Sequence[Any]) -> Moment:
    kind, sentence = _OF_ENDS[name]
    total = sum(int(event["value"]) for event in group)
    text = sentence.format(
        flow=view.flows[flow],
        cwnd=int(group[0]["cwnd_segments"]),
        end="sender" if is_sender else "receiver",
        count="a segment" if total == 1 else f"{total} segments",
    )
    if total > 1 and "{count}" not in sentence:
        text += f" ({total} times)"
    begin_ns, end_ns = int(group[0]["time_ns"]), int(group[-1]["time_ns"])
    until_ns = end_ns if end_ns > begin_ns else None
    numbers = {"counter": name, "by": total}
    return Moment(begin_ns, flow, kind, text, until_ns, numbers, {"events": len(group)})
