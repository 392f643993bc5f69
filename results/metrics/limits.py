"""Who limits a sender: shares of the time by receive window, send buffer, application and the rest.

The kernel counts them itself (tcp_chrono of net/ipv4/tcp_output.c, since Linux 4.10). Their sum,
tcpi_busy_time, is the time in which the sender had unacknowledged or unsent data. The counters
advance in jiffies: 4 ms in the guest. The time of a flow is that from its start to its end within
the span. None of UDP, of flows with many connections at a time, and without a connection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.recording.model import SENDER, FlowRecord
from results.metrics.base import RunData, Span, growth, last_before, metric


@metric(
    "cwnd_limited_share",
    unit="1",
    most=1.0,
    subject="flow",
    scopes=("run", "flow"),
    title="Limited by the congestion window",
    shown_as="percent",
)
def cwnd_limited_share(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Share of the time in which the congestion window limited the sender, and so the network.

    The growth of tcpi_busy_time less that of tcpi_rwnd_limited and tcpi_sndbuf_limited, / the
    flow's time (RFC 4898 tcpEStatsPerfSndLimTimeCwnd). An application that sends little and waits
    counts here, too, until its data are acknowledged. So does a sender that paces, such as BBR's,
    while it waits for its next packet's time. Of a run the mean over its flows, weighed by their
    times.
    """
    return _share(data, flows, span, lambda times: times.busy - times.window - times.buffer)


@metric(
    "rwnd_limited_share",
    unit="1",
    most=1.0,
    subject="flow",
    scopes=("run", "flow"),
    title="Limited by the receive window",
    shown_as="percent",
)
def rwnd_limited_share(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Share of the time in which the receiver's window limited the sender.

    The growth of tcpi_rwnd_limited / the flow's time (RFC 4898 tcpEStatsPerfSndLimTimeRwin). Of a
    run the mean over its flows, weighed by their times.
    """
    return _share(data, flows, span, lambda times: times.window)


@metric(
    "sndbuf_limited_share",
    unit="1",
    most=1.0,
    subject="flow",
    scopes=("run", "flow"),
    title="Limited by the send buffer",
    shown_as="percent",
)
def sndbuf_limited_share(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Share of the time in which a full send buffer limited the sender.

    The growth of tcpi_sndbuf_limited / the flow's time: all queued data were sent, the congestion
    window had room, and the application waited for room in the buffer. Of a run the mean over its
    flows, weighed by their times.
    """
    return _share(data, flows, span, lambda times: times.buffer)


@metric(
    "app_limited_share",
    unit="1",
    most=1.0,
    subject="flow",
    scopes=("run", "flow"),
    title="Limited by the application",
    shown_as="percent",
)
def app_limited_share(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Share of the time in which the sender had no data: neither unsent nor unacknowledged.

    1 - the growth of tcpi_busy_time / the flow's time (RFC 4898 tcpEStatsPerfSndLimTimeSnd). The
    handshake counts. Of a run the mean over its flows, weighed by their times.
    """
    return _share(data, flows, span, lambda times: times.length - times.busy)


@metric("receive_window_growth", unit="1", subject="flow", scopes=("flow",))
def receive_window_growth(data: RunData, flows: Sequence[int], span: Span) -> float | None:
    """Factor by which the receiver's window grows in a base RTT, as the geometric mean over a span.

    (tcpi_snd_wnd at the end / at the beginning) ^ (base RTT / length of the span). A window of
    `measure` chooses the span, such as that of slow start. 1 where the window did not grow. None
    of a flow without a connection or a window at the beginning, and over a path without delay.
    """
    (flow,) = flows
    columns, rtt_s = data.tcp_columns(flow, SENDER), data.flows[flow].base_rtt_s
    first, last = (last_before(columns["time_ns"], edge) for edge in (span.from_s, span.to_s))
    if first is None or last is None or not rtt_s:
        return None
    before, after = (int(columns["snd_wnd_bytes"][edge]) for edge in (first, last))
    return float((after / before) ** (rtt_s / span.length_s)) if before else None


@dataclass(frozen=True)
class _LimitTimes:
    """Growths of a sender's counters, and the flow's time, in seconds."""

    length: float
    busy: float
    window: float
    buffer: float


def _share(
    data: RunData, flows: Sequence[int], span: Span, part: Callable[[_LimitTimes], float]
) -> float | None:
    """Return the sum of a part of the flows' times over the sum of these times, 0 to 1."""
    known = [times for flow in flows if (times := _times(data, flow, span)) is not None]
    length_s = sum(times.length for times in known)
    if not length_s:
        return None
    # A counter in jiffies may be a jiffy ahead of the time, or of another counter.
    return min(max(sum(map(part, known)) / length_s, 0.0), 1.0)


def flow_time_s(record: FlowRecord, span: Span) -> tuple[float, float]:
    """Return from when until when a flow has its time in a span, in seconds of simulated time."""
    ends_s = (record.ended_s, record.stop_s, span.to_s)
    end_s = min(span.to_s, next(end for end in ends_s if end is not None))
    return max(span.from_s, record.start_s), end_s


def _times(data: RunData, flow: int, span: Span) -> _LimitTimes | None:
    if not len(data.sender_states(flow)["time_ns"]):
        return None
    start_s, end_s = flow_time_s(data.flows[flow], span)
    length_s = end_s - start_s
    if length_s <= 0:
        return None
    columns = data.tcp_columns(flow, SENDER)
    busy_s, window_s, buffer_s = (
        growth(columns["time_ns"], columns[name], span) / 1e6
        for name in ("busy_time_us", "rwnd_limited_us", "sndbuf_limited_us")
    )
    return _LimitTimes(length_s, busy_s, window_s, buffer_s)
