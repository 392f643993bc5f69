"""The data of a run that metrics are computed from, and a span of its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.recording.counters import CounterNames
from orchestrator.recording.model import FlowRecord, QueueRecord
from orchestrator.recording.multipath import Connection
from orchestrator.windows import Window
from results.samples.sample_tables import Columns


@dataclass(frozen=True)
class Span:
    """The time a metric is computed over, in seconds since the start of traffic."""

    from_s: float
    to_s: float

    @property
    def length_s(self) -> float:
        """Length in seconds."""
        return self.to_s - self.from_s


class RunData(Protocol):
    """The data of a run from which metrics are computed, before or after it is stored."""

    @property
    def duration_s(self) -> float:
        """Simulated time with traffic."""

    @property
    def warmup_s(self) -> float:
        """Time left out of the metrics of the whole run."""

    @property
    def windows(self) -> Sequence[Window]:
        """Named parts of the time with metrics of their own."""

    @property
    def metrics_grid_s(self) -> float | None:
        """Period at which senders were read for metrics; None where no sender was."""

    @property
    def flows(self) -> Sequence[FlowRecord]:
        """The flows by index."""

    @property
    def entries(self) -> Sequence[str]:
        """The flow entry of the scenario of each flow."""

    @property
    def queues(self) -> Sequence[QueueRecord]:
        """The qdiscs by index."""

    def tcp_columns(self, flow: int, endpoint: int) -> Columns:
        """Return the samples of one end of a flow."""

    def queue_columns(self, queue: int) -> Columns:
        """Return the samples of a qdisc."""

    def sojourn_columns(self, queue: int) -> Columns:
        """Return how long packets waited in a queue; see SOJOURN_DTYPE."""

    @property
    def counter_names(self) -> CounterNames:
        """The names of SNMP counters and of their hosts; none of a run without counters."""

    def extracted(self, flow: int) -> Mapping[str, float | None]:
        """Return the numbers of a flow's program's output by the names of their metrics."""

    def multipath(self, flow: int) -> Connection | None:
        """Return the Multipath TCP connection that a flow is a subflow of; None of other flows."""

    def share_of_packets(self, flow: int, channel: str) -> float:
        """Return the share of a flow's packets that a channel of its path carries: 1, or less.

        It is less where switches spray packets over equal paths.
        """

    def counter_columns(self, host: int) -> Columns:
        """Return the SNMP counters of a host that changed; see COUNTER_DTYPE."""

    def datagram_columns(self, flow: int) -> Columns:
        """Return the samples of a UDP flow; none of any other."""

    def transfer_columns(self, flow: int) -> Columns:
        """Return the transfers of a flow that makes many; none of any other."""

    def sender_states(self, flow: int) -> Columns:
        """Return the states of a flow's sender on the metrics' grid; see ``regular.on_grid``."""
