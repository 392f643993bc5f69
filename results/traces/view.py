"""A stored trace of a run, as the causes of what happened look at it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.model import QueueRecord
from orchestrator.recording.trace import Trace
from results.store.stored import StoredRun
from results.traces.columns import channel_names

Rows = npt.NDArray[np.void]


def chosen(rows: Rows, mask: npt.NDArray[np.bool_]) -> Rows:
    """Return the rows for which a mask is true."""
    return np.asarray(rows[mask])


class TraceView:
    """The rows of a trace by flows, channels and ends of connections.

    Times are nanoseconds since the start of traffic.
    """

    def __init__(self, run: StoredRun, trace: Trace) -> None:
        self.run, self.trace = run, trace
        self.flows = [flow.name for flow in run.flows]
        self.channels = channel_names(run)

    @property
    def kinds(self) -> frozenset[str]:
        """What was traced."""
        return self.trace.capture.kinds

    @cached_property
    def _queues(self) -> dict[str, QueueRecord]:
        return {
            f"{queue.link}:{queue.direction}": queue
            for queue in self.run.queues
            if queue.role == "queue"
        }

    def queue(self, channel: int) -> QueueRecord | None:
        """Return the queue of the channel of that number."""
        return self._queues.get(self.channels[channel])

    def base_rtt_ns(self, flow: int) -> int:
        """Return the base RTT of a flow, measured or else planned."""
        record = self.run.flows[flow]
        return int((record.base_rtt_measured_s or record.base_rtt_s) * 1e9)

    def sysctl(self, flow: int, name: str) -> str:
        """Return a sysctl of a flow's sending host as read back, empty where it is not known."""
        known = self.run.provenance.get("sysctls")
        if not isinstance(known, dict):
            return ""
        own = known.get("hosts", {}).get(self.run.flows[flow].source, {})
        return str({**known.get("every_host", {}), **own}.get(name, ""))

    def ends(self, flow: int, sender: bool) -> list[int]:
        """Return the numbers of the ends of a flow's connections that send, or that receive."""
        known = self.trace.tables["ends"]
        mask = (known["flow"] == flow) & (known["is_sender"] == int(sender))
        return [int(end) for end in known["end"][mask]]

    def ports(self, flow: int, end: int) -> tuple[int, int] | None:
        """Return the ports of a connection, of its sender and its receiver, given one of its ends.

        None where the flow has only this connection in the trace.
        """
        known = self.trace.tables["ends"]
        of_flow = known[known["flow"] == flow]
        (found,) = of_flow[of_flow["end"] == end]
        ports = (int(found["port"]), int(found["peer_port"]))
        alike = of_flow[of_flow["is_sender"] == found["is_sender"]]
        if len(alike) == 1:
            return None
        return ports if found["is_sender"] else (ports[1], ports[0])

    def events(self, end: int) -> Rows:
        """Return the events of the end of a connection."""
        rows = self.trace.tables["events"]
        return chosen(rows, rows["end"] == end)

    def states(self, end: int) -> Rows:
        """Return the states of the end of a connection after its ACKs and timers."""
        rows = self.trace.tables["acks"]
        return chosen(rows, rows["end"] == end)

    def steps(self, flow: int, steps: Collection[int]) -> Rows:
        """Return some steps of a flow's packets through links."""
        rows = self.trace.tables["links"]
        return chosen(rows, (rows["flow"] == flow) & np.isin(rows["step"], list(steps)))

    def drops(self, flow: int) -> Rows:
        """Return a flow's packets that were dropped outside of links."""
        rows = self.trace.tables["drops"]
        return chosen(rows, rows["flow"] == flow)


def counter(event: Any) -> str:
    """Return the name of the counter that an event is of, empty for another event."""
    if int(event["what"]) != records.COUNTER:
        return ""
    return bytes(event["name"]).decode("ascii", "replace")
