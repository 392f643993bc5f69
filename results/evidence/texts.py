"""The texts of a run for a mail: intervals, counters, sysctls."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

import numpy as np

from orchestrator import plaintext
from orchestrator.recording.model import SENDER
from results.metrics import METRICS, in_parts
from results.metrics.base import Span
from results.samples.sample_tables import Array
from results.store.stored import StoredRun

_MOST_INTERVALS = 100
_COLUMNS = (
    ("goodput_bps", 1e-6, "Mbit/s", 3),
    ("retransmitted_segments", 1.0, "retrans", 0),
    ("rtt_mean_s", 1e3, "RTT ms", 3),
)
"""Metric, factor, heading and decimals."""

_NS_PER_S = 10**9


def intervals(run: StoredRun) -> Iterator[str]:
    """Yield the lines of a table of each flow's goodput, retransmissions, RTT and window.

    Intervals are whole seconds, 100 at most. They are of the whole run, with its warm-up.
    """
    length_s = max(1, math.ceil(run.duration_s / _MOST_INTERVALS))
    number = max(1, round(run.duration_s / length_s))
    headings = [*(heading for _name, _factor, heading, _decimals in _COLUMNS), "cwnd"]
    yield "  from s     to s  " + "".join(f"{heading:>10}" for heading in headings)
    whole = Span(0.0, run.duration_s)
    for index, flow in enumerate(run.flows):
        name, control = map(plaintext.one_line, (flow.name, flow.congestion_asked or "UDP"))
        yield f"flow {name} ({control})"
        values = [
            in_parts(run, METRICS[name, "flow"], index, whole, number) for name, *_ in _COLUMNS
        ]
        for part in range(number):
            edges = [run.duration_s * side / number for side in (part, part + 1)]
            cells = [
                "-" if math.isnan(value[part]) else f"{value[part] * factor:.{decimals}f}"
                for value, (_name, factor, _heading, decimals) in zip(values, _COLUMNS, strict=True)
            ]
            cells.append(_window(run, index, edges) if flow.transport == "tcp" else "-")
            yield f"{edges[0]:8.2f} {edges[1]:8.2f}  " + "".join(f"{cell:>10}" for cell in cells)


def _window(run: StoredRun, flow: int, edges_s: Sequence[float]) -> str:
    """Return the mean congestion window of a flow's samples in an interval, in segments."""
    first_ns, last_ns = (round(edge * _NS_PER_S) for edge in edges_s)
    column = "snd_cwnd_segments"
    found = run.tcp(flow, SENDER, (column,), (first_ns, last_ns))[column]
    return f"{found.mean():.1f}" if len(found) else "-"


def counters(run: StoredRun, host: str, period_ns: int) -> Iterator[str]:
    """Yield what the counters of a host gained in each period, in nstat's form."""
    series = run.counter_series(run.counter_names.place_of[host])
    last_ns = round(run.duration_s * _NS_PER_S)
    for end_ns in range(period_ns, last_ns + 1, period_ns):
        gained = {}
        for name, (times, growth) in sorted(series.items()):
            before, after = (
                growth[at - 1] if (at := int(np.searchsorted(times, edge, "right"))) else 0
                for edge in (end_ns - period_ns, end_ns)
            )
            if after != before:
                gained[name] = int(after - before)
        yield f"{end_ns // _NS_PER_S}.{end_ns % _NS_PER_S:09}"
        yield "#kernel"
        for name, value in gained.items():
            yield f"{plaintext.one_line(name.replace(':', '')):<32}{value:<16}{0.0:6.1f}"


def sysctls(run: StoredRun) -> str:
    """Return the sysctls that matter to TCP as the kernel had them, as JSON."""
    found = run.provenance.get("sysctls", {})
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


_MEMORY = (
    ("r", "rmem_alloc_bytes"), ("rb", "rcvbuf_bytes"), ("t", "wmem_alloc_bytes"),
    ("tb", "sndbuf_bytes"), ("f", "fwd_alloc_bytes"), ("w", "wmem_queued_bytes"),
    ("o", "optmem_bytes"), ("bl", "backlog_bytes"), ("d", "drops"),
)  # fmt: skip
"""What ss calls each column of the samples."""


class SocketMemory:
    """The memory of senders' sockets, as ``ss -m`` prints it, at the samples of a run."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run
        self._known: dict[int, dict[str, Array]] = {}

    def at(self, flow: int, time_ns: int) -> str:
        """Return the memory at the first sample of a flow's sender from that time on."""
        if flow not in self._known:
            columns = ("time_ns", *(f"skmem_{column}" for _short, column in _MEMORY))
            self._known[flow] = self._run.tcp(flow, SENDER, columns)
        found = self._known[flow]
        row = int(np.searchsorted(found["time_ns"], time_ns))
        if row == len(found["time_ns"]):
            return ""
        parts = (f"{short}{int(found[f'skmem_{column}'][row])}" for short, column in _MEMORY)
        return f"skmem:({','.join(parts)}) "
