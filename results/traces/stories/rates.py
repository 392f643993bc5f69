"""How much a flow achieved in a window, and with which congestion window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import RECEIVER
from results.samples.received import received_bytes
from results.traces.causes.handshakes import states_after
from results.traces.choice import Window
from results.traces.view import Rows, TraceView

_NS_PER_S = 10**9


@dataclass(frozen=True)
class FlowRates:
    """Means of a flow over a window; None where they are not known, and of UDP without a cwnd.

    ``goodput_bps`` is that of the metric, whose samples are 100 ms apart or less: between two of
    them the bytes are taken as read evenly. ``cwnd_mean_segments`` is cwnd by the states after ACKs
    and timers, each until the next one of its connection.
    """

    goodput_bps: float | None
    cwnd_mean_segments: float | None


def rates(view: TraceView, flow: int, window: Window) -> FlowRates:
    """Return the means of a flow over a window of a trace with ``acks``, in nanoseconds."""
    return FlowRates(_goodput_bps(view, flow, window), _cwnd_segments(view, flow, window))


def spans(
    view: TraceView, flow: int, window: Window
) -> Iterator[tuple[Rows, npt.NDArray[np.int64]]]:
    """Yield the states of each sender of a flow, and how long each lasts in ns: the last one 0.

    Only the time inside a window counts.
    """
    for end in view.ends(flow, sender=True):
        states = states_after(view, end)
        times_ns = np.clip(states["time_ns"].astype(np.int64), *window)
        yield states, np.diff(times_ns, append=times_ns[-1:])


def _goodput_bps(view: TraceView, flow: int, window: Window) -> float | None:
    record, run = view.run.flows[flow], view.run
    udp = record.transport == "udp"
    columns = run.datagram_columns(flow) if udp else run.tcp_columns(flow, RECEIVER)
    if not len(columns["time_ns"]) or window[0] >= window[1]:
        return None
    read = np.interp(window, columns["time_ns"], received_bytes(record, columns), left=0)
    return float(read[1] - read[0]) * 8 * _NS_PER_S / (window[1] - window[0])


def _cwnd_segments(view: TraceView, flow: int, window: Window) -> float | None:
    of_ends = list(spans(view, flow, window))
    total_ns = sum(int(spans_ns.sum()) for _states, spans_ns in of_ends)
    if not total_ns:
        return None
    weighed = (states["cwnd_segments"].astype(np.int64) @ spans_ns for states, spans_ns in of_ends)
    return sum(map(int, weighed)) / total_ns
