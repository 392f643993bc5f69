"""The samples that metrics use: those that every run of a digest has, whatever it samples.

Counters of TCP and UDP flows are taken every 100 ms and at the edges of windows, at which each run
is sampled. Values that change from round trip to round trip are taken on the metrics' grid.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.sampling_schedule import DIGEST_NS
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.counters import CounterNames
from orchestrator.recording.model import FlowRecord, QueueRecord
from orchestrator.recording.multipath import Connection
from orchestrator.windows import Window
from results.metrics.run_data import RunData, Span
from results.samples.sample_tables import Array, Columns

T = TypeVar("T")

CLOSE = 7
"""State of a socket that the kernel has destroyed (include/net/tcp_states.h)."""

# include/net/tcp_states.h: the states in which a sender may wait for an acknowledgement of data.
SENDING = (1, 4, 8, 9, 11)  # ESTABLISHED, FIN_WAIT1, CLOSE_WAIT, LAST_ACK, CLOSING

TOLERANCE_NS = 10_000
"""A sample that is taken at most this long after an edge counts as taken at the edge."""

_EXTREMES = (("delay_min_ns", np.fmin), ("delay_max_ns", np.fmax))


class RegularRun:
    """A run whose samples do not depend on its sampling periods.

    Args:
        data: the run with all its samples.
    """

    def __init__(self, data: RunData) -> None:
        self._data = data
        windows = (edge for window in data.windows for edge in (window.from_s, window.to_s))
        edges_s = (0.0, data.warmup_s, *windows, data.duration_s)
        self._edges_ns = np.array(sorted({nanoseconds(edge) for edge in edges_s}), np.int64)
        self._columns: dict[tuple[str, int, int], Columns] = {}
        self._made: dict[Hashable, Any] = {}

    @classmethod
    def of(cls, data: RunData) -> RegularRun:
        """Return the run in this form; one that has it already is returned as it is."""
        return data if isinstance(data, cls) else cls(data)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make`` returned when it was first called with that key."""
        if key not in self._made:
            self._made[key] = make()
        value: T = self._made[key]
        return value

    @property
    def duration_s(self) -> float:
        """Simulated time with traffic."""
        return self._data.duration_s

    @property
    def warmup_s(self) -> float:
        """Time left out of the metrics of the whole run."""
        return self._data.warmup_s

    @property
    def windows(self) -> Sequence[Window]:
        """Named parts of the time with metrics of their own."""
        return self._data.windows

    @property
    def metrics_grid_s(self) -> float | None:
        """Period at which senders were read for metrics."""
        return self._data.metrics_grid_s

    @property
    def flows(self) -> Sequence[FlowRecord]:
        """The flows by index."""
        return self._data.flows

    @property
    def entries(self) -> Sequence[str]:
        """The flow entry of each flow."""
        return self._data.entries

    @property
    def queues(self) -> Sequence[QueueRecord]:
        """The qdiscs by index."""
        return self._data.queues

    def tcp_columns(self, flow: int, endpoint: int) -> Columns:
        """Return the samples of one end of a flow at the times that every run has.

        The bed notes a socket that the kernel has destroyed with its next sample. Here it is noted
        at the next of these times.
        """
        key = ("tcp", flow, endpoint)
        if key not in self._columns:
            self._columns[key] = self._of_tcp(self._data.tcp_columns(flow, endpoint))
        return self._columns[key]

    def _of_tcp(self, columns: Columns) -> Columns:
        times_ns = columns["time_ns"]
        kept = self._is_regular(times_ns)
        moved_ns = times_ns
        if len(kept) and not kept[-1] and columns["state"][-1] == CLOSE:
            kept[-1] = True
            moved_ns = times_ns.copy()
            moved_ns[-1] = self._next_ns(int(times_ns[-1]))

        def fetch(name: str) -> Array:
            values: Array = (moved_ns if name == "time_ns" else columns[name])[kept]
            return values

        return Columns(tuple(columns), fetch)

    def queue_columns(self, queue: int) -> Columns:
        """Return the samples of a qdisc."""
        return self._data.queue_columns(queue)

    def sojourn_columns(self, queue: int) -> Columns:
        """Return how long packets waited in a queue."""
        return self._data.sojourn_columns(queue)

    @property
    def counter_names(self) -> CounterNames:
        """The names of SNMP counters and of their hosts."""
        return self._data.counter_names

    def extracted(self, flow: int) -> Mapping[str, float | None]:
        """Return the numbers of a flow's program's output."""
        return self._data.extracted(flow)

    def multipath(self, flow: int) -> Connection | None:
        """Return the Multipath TCP connection that a flow is a subflow of; None of other flows."""
        return self._data.multipath(flow)

    def share_of_packets(self, flow: int, channel: str) -> float:
        """Return the share of a flow's packets that a channel of its path carries."""
        return self._data.share_of_packets(flow, channel)

    def counter_columns(self, host: int) -> Columns:
        """Return the SNMP counters of a host."""
        return self._data.counter_columns(host)

    def datagram_columns(self, flow: int) -> Columns:
        """Return the samples of a UDP flow at the times that every run has.

        The extremes of the delay are those since the row before.
        """
        key = ("datagrams", flow, 0)
        if key not in self._columns:
            self._columns[key] = self._of_datagrams(self._data.datagram_columns(flow))
        return self._columns[key]

    def _of_datagrams(self, columns: Columns) -> Columns:
        places = np.flatnonzero(self._is_regular(columns["time_ns"]))
        extremes = dict(_EXTREMES)

        def fetch(name: str) -> Array:
            values = columns[name]
            if name not in extremes or not len(places):
                kept: Array = values[places]
                return kept
            begins = np.concatenate([[0], places[:-1] + 1])
            folded: Array = extremes[name].reduceat(values[: places[-1] + 1], begins)
            return folded

        return Columns(tuple(columns), fetch)

    def transfer_columns(self, flow: int) -> Columns:
        """Return the transfers of a flow."""
        return self._data.transfer_columns(flow)

    def sender_states(self, flow: int) -> Columns:
        """Return the states of a flow's sender."""
        return self._data.sender_states(flow)

    def _is_regular(self, times_ns: Array) -> npt.NDArray[np.bool_]:
        edge = np.searchsorted(self._edges_ns, times_ns, side="right") - 1
        after_edge_ns = times_ns - self._edges_ns[np.maximum(edge, 0)]
        late_ns = np.minimum(times_ns % DIGEST_NS, np.where(edge < 0, DIGEST_NS, after_edge_ns))
        regular: npt.NDArray[np.bool_] = late_ns <= TOLERANCE_NS
        return regular

    def _next_ns(self, time_ns: int) -> int:
        """Return the first of the times that every run has, from a time on."""
        later = self._edges_ns[self._edges_ns >= time_ns]
        regular_ns = -(-time_ns // DIGEST_NS) * DIGEST_NS
        return min(regular_ns, int(later[0])) if len(later) else regular_ns


@dataclass(frozen=True)
class GridStates:
    """States of a sender that the times of the grid in a span have found while its flow runs.

    ``columns`` has the states, and ``counts`` at how many times of the grid each was found.
    ``tick`` is the first of these times, in grid periods since the start of traffic.
    """

    columns: dict[str, Array]
    counts: npt.NDArray[np.int64]
    tick: npt.NDArray[np.int64]

    def sampled(self, name: str) -> Array:
        """Return a column's value at each time of the grid."""
        return np.repeat(self.columns[name], self.counts)

    def ticks(self) -> npt.NDArray[np.int64]:
        """Return these times of the grid, in its periods since the start of traffic."""
        before = np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        times: npt.NDArray[np.int64] = np.repeat(self.tick, self.counts) + np.arange(len(before))
        return times - before


def on_grid(data: RunData, flow: int, span: Span, names: Sequence[str]) -> GridStates:
    """Return the states of a flow's sender at the times of the grid within a span.

    Both edges of the span count if they are such times. Of a span without such a time its end
    counts. Only the times at which the flow is scheduled and its sender is connected count.
    """
    states = data.sender_states(flow)
    grid_ns = nanoseconds(data.metrics_grid_s or 0.0)
    if not grid_ns or not len(states["time_ns"]):
        none = np.zeros(0, np.int64)
        return GridStates(dict.fromkeys(names, none), none, none)
    # A state that was found at an edge between two times of the grid holds from the later one on.
    ticks = -(-states["time_ns"] // grid_ns)
    record = data.flows[flow]
    from_ns = max(nanoseconds(span.from_s), nanoseconds(record.start_s)) - TOLERANCE_NS
    to_ns = nanoseconds(span.to_s)
    if record.stop_s is not None:
        to_ns = min(to_ns, nanoseconds(record.stop_s))
    first, last = -(-from_ns // grid_ns), (to_ns + TOLERANCE_NS) // grid_ns
    if first > last and from_ns <= to_ns:
        ticks = states["time_ns"]
        first = last = to_ns
    begin = np.clip(ticks, first, last + 1)
    counts = np.diff(begin, append=last + 1)
    kept = (counts > 0) & np.isin(states["state"], SENDING)
    columns = {name: states[name][kept] for name in names}
    return GridStates(columns, counts[kept], begin[kept])
