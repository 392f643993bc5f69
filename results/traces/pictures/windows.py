"""A flow's congestion window after each ACK of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import SSTHRESH_INFINITE
from orchestrator.recording.trace import Trace
from results.traces.view import chosen

Floats = npt.NDArray[np.float64]

TABLES = ("acks",)


class AckStates(NamedTuple):
    """States of one connection's sender after its ACKs and timers; NaN where a value is none."""

    time_s: Floats
    cwnd: Floats
    ssthresh: Floats
    srtt_s: Floats
    in_flight: Floats


def windows_of(trace: Trace, flow: int) -> Iterator[AckStates]:
    """Yield the states of each connection of a flow that has any."""
    ends, states = trace.tables["ends"], trace.tables["acks"]
    for end in ends["end"][(ends["flow"] == flow) & (ends["is_sender"] == 1)]:
        rows = chosen(states, states["end"] == end)
        if not len(rows):
            continue
        ssthresh = rows["ssthresh_segments"].astype(np.float64)
        srtt = rows["srtt_us"].astype(np.float64)
        # tcp_packets_in_flight() of include/net/tcp.h
        gone = rows["sacked_segments"].astype(np.float64) + rows["lost_out_segments"]
        yield AckStates(
            rows["time_ns"] / 1e9,
            rows["cwnd_segments"].astype(np.float64),
            np.where(ssthresh >= SSTHRESH_INFINITE, np.nan, ssthresh),
            np.where(srtt > 0, srtt / 1e6, np.nan),
            rows["packets_out_segments"] - gone + rows["retrans_out_segments"],
        )
