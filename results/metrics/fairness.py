"""Fairness between flows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from orchestrator.recording.capacity import Capacity
from orchestrator.recording.model import SENDER, FlowRecord
from results.metrics.base import RunData, Span, TableColumn, channel, last_before, metric
from results.metrics.goodput import goodput
from results.metrics.regular import RegularRun

# include/net/tcp_states.h: the states of a sender whose every byte was acknowledged.
_DONE = (5, 6, 7)  # FIN_WAIT2, TIME_WAIT, CLOSE


@metric(
    "jain_index",
    unit="1",
    most=1.0,
    subject="flow",
    scopes=("run",),
    title="Jain's index",
    columns=(
        TableColumn("run", 30, "Jain's index"),
        TableColumn("runs", 30, "Jain's index"),
    ),
)
def jain_index(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Jain's fairness index of the bulk flows' goodputs: (sum x)^2 / (n sum x^2), 1/n to 1.

    R. Jain, D. Chiu, W. Hawe, DEC-TR-301 (1984); RFC 5166 section 2.3. It includes all flows of
    bulk traffic that are scheduled within the span and had not sent all their bytes before. Group,
    direction and congestion control do not matter. A flow that a `window` limits is included, too:
    its lower goodput makes the index lower. Subflows of a Multipath TCP connection count together.
    Other kinds of traffic are not included. None when there are no such flows, when nothing
    arrived, or when one of them has no goodput.
    """
    return _jain(data, flows, span)


@metric(
    "jain_index_forward",
    unit="1",
    most=1.0,
    subject="flow",
    scopes=("run",),
    title="Jain's index, forward",
)
def jain_index_forward(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Jain's index, as ``jain_index``, of the bulk flows that cross a bottleneck forward.

    The first bottleneck of a flow's path counts, from its link's end a to its end b.
    """
    return _jain(data, _in_direction(data, flows, "forward"), span)


@metric(
    "jain_index_reverse",
    unit="1",
    most=1.0,
    subject="flow",
    scopes=("run",),
    title="Jain's index, reverse",
)
def jain_index_reverse(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Jain's index, as ``jain_index``, of the bulk flows that cross a bottleneck in reverse."""
    return _jain(data, _in_direction(data, flows, "reverse"), span)


@metric(
    "jain_index_entry",
    unit="1",
    most=1.0,
    subject="flow",
    scopes=("flow",),
    title="Jain's index of the entry",
)
def jain_index_entry(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Jain's index, as ``jain_index``, of the bulk flows of the flow's entry in the scenario.

    All flows of an entry have the same value. None of an entry with a single flow.
    """
    entry = data.entries[flows[0]]

    def make() -> float | None:
        mine = [index for index, name in enumerate(data.entries) if name == entry]
        return _jain(data, mine, span) if len(_connections(data, mine)) > 1 else None

    return RegularRun.of(data).once(("jain_index_entry", entry, span), make)


@metric("goodput_to_fair_share", unit="1", subject="flow", scopes=("flow",))
def goodput_to_fair_share(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Goodput / fair share of the flow's path. The value of an entry is the mean over its flows.

    The fair share is the minimum over the path's links of rate / number of bulk flows that are on
    in the span and send data through the link. Where packets are sprayed, the links of all its
    paths count, and a flow counts at each with the share of its packets that crosses it on average.
    A rate that changes is its mean over the span. The rate includes headers, the goodput does not:
    segments of 1448 bytes can reach 0.956. None of other traffic than bulk, and where no link of
    the path has a rate.
    """
    if not is_on(data, flows[0], span):
        return None
    goodput_bps = goodput(data, flows, span)
    share_bps = fair_share_bps(data, data.flows[flows[0]], span)
    return goodput_bps / share_bps if goodput_bps is not None and share_bps else None


def fair_share_bps(data: RunData, flow: FlowRecord, span: Span) -> float | None:
    """Return the fair share of a flow's path; see ``goodput_to_fair_share``."""
    shares_bps = RegularRun.of(data).once(("fair shares", span), lambda: _shares_bps(data, span))
    return min((shares_bps[name] for name in flow.path if name in shares_bps), default=None)


def _shares_bps(data: RunData, span: Span) -> dict[str, float]:
    """Return the mean rate of each channel / the number of bulk flows that send through it.

    Of a flow whose packets are sprayed, their share counts.
    """
    flows: defaultdict[str, float] = defaultdict(float)
    for index, flow in enumerate(data.flows):
        if is_on(data, index, span):
            for name in set(flow.path):
                flows[name] += data.share_of_packets(index, name)
    shares_bps = {}
    for queue in data.queues:
        name = channel(queue)
        capacity = Capacity.of(queue) if queue.role == "queue" and flows[name] else None
        if capacity is not None:
            rate_bps = float(capacity.bits(span.from_s, span.to_s)) / span.length_s
            shares_bps[name] = rate_bps / flows[name]
    return shares_bps


def _jain(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    on = [index for index in flows if is_on(data, index, span)]
    rates = [goodput(data, together, span) for together in _connections(data, on)]
    known = [rate for rate in rates if rate is not None]
    squares = sum(rate * rate for rate in known)
    if len(known) < len(rates) or not squares:
        return None
    return sum(known) ** 2 / (len(known) * squares)


def _connections(data: RunData, flows: Sequence[int]) -> list[list[int]]:
    """Return the flows, those that are subflows of one connection together."""
    found: dict[object, list[int]] = {}
    for flow in flows:
        connection = data.multipath(flow)
        found.setdefault(flow if connection is None else connection.subflows, []).append(flow)
    return list(found.values())


def _in_direction(data: RunData, flows: Sequence[int], direction: str) -> list[int]:
    """Return the flows whose first bottleneck is crossed in that direction."""
    bottlenecks = {channel(queue) for queue in data.queues if queue.bottleneck}
    first = {
        flow: next((name for name in data.flows[flow].path if name in bottlenecks), "")
        for flow in flows
    }
    return [flow for flow, name in first.items() if name.endswith(f":{direction}")]


def is_on(data: RunData, index: int, span: Span) -> bool:
    """Return whether a flow is scheduled within the span and had not sent all its bytes before."""
    flow = data.flows[index]
    if flow.traffic != "bulk":
        return False
    if flow.start_s >= span.to_s or (flow.stop_s is not None and flow.stop_s <= span.from_s):
        return False
    columns = data.tcp_columns(index, SENDER)
    first, last = (last_before(columns["time_ns"], edge) for edge in (span.from_s, span.to_s))
    # A flow has a sample at every edge while it exists. Without one in the span it has ended.
    return first is None or (first != last and int(columns["state"][first]) not in _DONE)
