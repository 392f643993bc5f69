"""How much of the time that a congestion window limited a sender was the sender's pacing.

The kernel's counters do not tell both apart (tcp_chrono of include/linux/tcp.h), and the trace has
no flag of pacing. So it is told by what the sender did: it had room in its window and data, which
it sent later, at a pacing rate of its own. Linux sets a pacing rate for every sender, also where
nothing obeys it: a ratio of cwnd / srtt (tcp_update_pacing_rate of net/ipv4/tcp_input.c).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from results.traces.choice import Window
from results.traces.stories.rates import spans
from results.traces.view import Rows, TraceView

_BUSY = 1
"""TCP_CHRONO_BUSY: the congestion window or pacing limits the sender."""
_ROOM_SEGMENTS = 2
"""Room that a window has now and then without pacing, because segments leave in pairs."""
_EQUAL = 0.05
"""Rates that differ by less are equal: cwnd and srtt may have changed since the rate was set."""
_RATIOS = {"net.ipv4.tcp_pacing_ss_ratio": "200", "net.ipv4.tcp_pacing_ca_ratio": "120"}
"""Linux's pacing rates in percent of cwnd / srtt, by sysctl with its default."""


def paced_share(view: TraceView, flow: int, window: Window) -> float | None:
    """Return the share of a sender's busy time in which pacing held it back, 0 to 1.

    None where the trace shows no time in which the congestion window or pacing limited the sender.
    """
    ratios = [float(view.sysctl(flow, name) or usual) / 100 for name, usual in _RATIOS.items()]
    busy_ns = paced_ns = 0
    for states, spans_ns in spans(view, flow, window):
        busy = states["limited_by"] == _BUSY
        busy_ns += int(spans_ns[busy].sum())
        paced_ns += int(spans_ns[busy & _paced(states, ratios)].sum())
    return paced_ns / busy_ns if busy_ns else None


def _paced(states: Rows, ratios: list[float]) -> npt.NDArray[np.bool_]:
    """Return after which states a sender waited for its pacing."""
    count = {name: states[f"{name}_segments"].astype(np.int64) for name in (
        "packets_out", "sacked", "lost_out", "retrans_out", "cwnd",
    )}  # fmt: skip
    in_flight = count["packets_out"] - count["sacked"] - count["lost_out"] + count["retrans_out"]
    room = count["cwnd"] - in_flight > _ROOM_SEGMENTS
    sent_later = np.diff(states["snd_nxt"].astype(np.int64), append=states["snd_nxt"][-1:]) != 0
    by_window = np.maximum(count["cwnd"], count["packets_out"]) * states["mss_bytes"].astype(float)
    rate = states["pacing_rate_bytes_per_s"].astype(float) * states["srtt_us"] / 1e6
    own = np.all([np.abs(rate - one * by_window) > _EQUAL * one * by_window for one in ratios], 0)
    limited = states["pacing_rate_bytes_per_s"] != np.iinfo(np.uint64).max
    return np.asarray(room & sent_later & own & limited & (states["app_limited"] == 0))
