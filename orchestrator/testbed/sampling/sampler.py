"""Takes every sample of a run: one loop, absolute times, no clock readings."""

from __future__ import annotations

from orchestrator.protocol import sampling_schedule
from orchestrator.protocol.engines import ENGINES, SUBFLOW
from orchestrator.protocol.numbering import CHANNEL_ENDS, QUEUE_HANDLE
from orchestrator.protocol.ports import MANY_PORTS
from orchestrator.testbed.kernel import system, tcpdiag
from orchestrator.testbed.kernel.diag_batch import DiagBatch, DiagSequence
from orchestrator.testbed.network import redirect
from orchestrator.testbed.sampling.counters import HostCounters
from orchestrator.testbed.sampling.readings import NEVER_NS as _NEVER_NS
from orchestrator.testbed.sampling.readings import QueueReader
from orchestrator.testbed.sampling.sender_states import SenderStates
from orchestrator.testbed.sampling.sojourn import SojournTimes
from orchestrator.testbed.traffic.sockets import is_multipath

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeGuard

    from orchestrator.protocol.specification import FlowSpec, WordSpec
    from orchestrator.testbed.bed import Bed, DatagramEngine, Engine
    from orchestrator.testbed.sampling.records import Records

    End = tuple[tuple[int, int], int, FlowSpec]
    """((local port, remote port), SENDER or RECEIVER, flow)."""

_SKIPPED_IF_LATE = sampling_schedule.GRID | sampling_schedule.COUNTERS
_BEHIND_NS = 1
"""Flows act at round times, too. A sample shows what happened up to and at its time."""


class Sampler:
    """Samples the flows' ends and all qdiscs of the wires into ``records``.

    Args:
        bed: the built network.
        records: where the samples go.
        flows: the engines, in the order of the specification's flows. Engines with ``counters()``
            report by it; of the others the sockets are sampled.
        among_packets: returns a context in which flows are stopped, because that sends packets;
            see ``host_load.LoadMonitor``.
    """

    def __init__(
        self,
        bed: Bed,
        records: Records,
        flows: Sequence[Engine],
        among_packets: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._records = records
        self._spec = bed.spec
        self._flows = flows
        self._among_packets = among_packets
        # A lab host may have only some of all flows.
        self._numbers = {
            flow.spec["name"]: flow.spec.get("number", position)
            for position, flow in enumerate(flows)
        }
        self._counting = [
            (self._numbers[flow.spec["name"]], flow) for flow in flows if _counts_itself(flow)
        ]
        self._subflows = {
            self._numbers[flow.spec["name"]]: flow.spec["name"]
            for flow in flows
            if flow.spec["engine"] == SUBFLOW or is_multipath(flow.spec)
        }
        self._sending: list[int] = []
        senders: list[tcpdiag.TcpDiag] = []
        receivers: list[tcpdiag.TcpDiag] = []
        self._many: list[tcpdiag.TcpDiag] = []
        self._closed = tcpdiag.ClosedSockets()
        self._states = SenderStates(
            (
                (self._numbers[flow.spec["name"]], flow.spec)
                for flow in flows
                if not _counts_itself(flow) and flow.spec["connections"] != "many"
            ),
            records,
        )
        for host, present in _ends(bed, flows).items():
            self._open(bed, host, present, senders, receivers)
        ask = DiagSequence if self._spec.get("real_time", False) else DiagBatch
        self._senders, self._senders_briefly = ask(senders), ask(senders, brief=True)
        self._receivers = ask([probe for probe in receivers if probe not in senders])
        self._counters = bed.queue_counters(_words(bed))
        self._policers = redirect.Policers(bed.wires, _policed(bed))
        self._sojourn = SojournTimes(bed, self._counters.names)
        self._host_counters = HostCounters(bed, records)
        self._readings = QueueReader(
            bed, self._counters.names, len(self._policers.indices), records
        )

    def _open(
        self,
        bed: Bed,
        host: str,
        present: Sequence[End],
        senders: list[tcpdiag.TcpDiag],
        receivers: list[tcpdiag.TcpDiag],
    ) -> None:
        """Open the socket that samples the given ends of flows on a host."""
        few = [end for end in present if end[2]["connections"] != "many"]
        single = None
        if len(few) == 1 and few[0][2]["connections"] == "one":
            (ports, kind, flow) = few[0]
            ends = (flow["source"], flow["sink"])
            own, peer = ends if kind == tcpdiag.SENDER else ends[::-1]
            single = (*ports, bed.address(own), bed.address(peer))
        many_port = MANY_PORTS[0] if len(few) < len(present) else None
        with bed.enter(host):
            probe = tcpdiag.TcpDiag(single, many_port, bed.ports)
            if any(_closes(flow) for _ports, _kind, flow in present):
                self._closed.watch()
        kinds = {kind for _ports, kind, _flow in few}
        if tcpdiag.SENDER in kinds:
            senders.append(probe)
            self._sending += [
                self._numbers[flow["name"]] for _ports, kind, flow in few if kind == tcpdiag.SENDER
            ]
        if tcpdiag.RECEIVER in kinds:
            receivers.append(probe)
        if many_port is not None:
            self._many.append(probe)

    def queues(self) -> dict[str, object]:
        """Return which queues and policers are sampled, for the fact "queues"."""
        return {"names": self._counters.names, "policers": self._policers.indices}

    def begin(self) -> dict[str, object]:
        """Read the counters of hosts before traffic, and return the values of the fact "counters".

        What a host counts from then on is of the run. Nothing but traffic may follow.
        """
        return self._host_counters.begin()

    def forget_places(self) -> None:
        """Expect another layout of the qdiscs' dump from now on: a setting has changed."""
        self._counters.forget()

    def run(self, origin_ns: int) -> None:
        """Sample from ``origin_ns`` to the end, and stop each flow at its stop time.

        At the end the flows note what is not complete.
        """
        spec = self._spec
        timer = system.Timer()
        stops = sorted(
            (
                (flow.spec["stop_ns"], flow)
                for flow in self._flows
                if flow.spec["stop_ns"] is not None
            ),
            key=lambda stop: stop[0],
        )
        sample = spec["sample"]
        plan = sampling_schedule.ticks(
            spec["duration_ns"],
            sample["tcp_ns"],
            sample["queue_ns"],
            spec["edges_ns"],
            sample["readings_ns"],
            sample["grid_ns"],
            sample.get("counters_ns"),
        )
        readings = self._readings
        for time_ns, due in plan:
            while True:
                stop_ns = stops[0][0] if stops else _NEVER_NS
                if min(stop_ns, readings.next_ns) > time_ns:
                    break
                if readings.next_ns < stop_ns:
                    timer.sleep_until(origin_ns + readings.next_ns + _BEHIND_NS)
                    readings.read()
                    continue
                timer.sleep_until(origin_ns + stop_ns)
                with self._among_packets():
                    stops.pop(0)[1].stop()
            timer.sleep_until(origin_ns + time_ns + _BEHIND_NS)
            if not due & ~_SKIPPED_IF_LATE and self._is_late(origin_ns + time_ns):
                continue
            self._take(time_ns, due)
        for flow in self._flows:
            flow.finish()

    def _is_late(self, due_ns: int) -> bool:
        """Tell whether the next reading of the grid or of counters is due, too, on a real machine.

        A machine that cannot keep up reads as often as it can. Otherwise its samples and queues
        would be read later and later.
        """
        if not self._spec.get("real_time", False):
            return False
        sample = self._spec["sample"]
        periods_ns = (sample["grid_ns"], sample.get("counters_ns"))
        shortest_ns = min(period_ns for period_ns in periods_ns if period_ns is not None)
        return system.monotonic_ns() >= due_ns + shortest_ns

    def _take_queues(self, time_ns: int, due: int) -> None:
        if due & (sampling_schedule.QUEUES | sampling_schedule.READINGS):
            counters = self._counters.sample() + self._policers.sample()
            if due & sampling_schedule.QUEUES:
                self._records.queue(time_ns, counters)
            if due & sampling_schedule.READINGS:
                self._readings.take(time_ns, counters)
        if due & sampling_schedule.EDGES:
            for queue_number, sojourn_values in self._sojourn.read():
                self._records.sojourn(time_ns, queue_number, sojourn_values)
            self._note_multipath(time_ns)

    def _note_multipath(self, time_ns: int) -> None:
        """Record what connections of several subflows have done by an edge of windows."""
        for flow in self._flows:
            read = getattr(flow, "multipath_counters", None)
            if read is not None and (counters := read()) is not None:
                sender, receiver = counters
                self._records.fact(
                    "multipath", flow=flow.spec["name"], time_ns=time_ns, sender=sender,
                    receiver=receiver,
                )  # fmt: skip

    def _note_subflows(self, time_ns: int, answers: bytes) -> None:
        """Record what the kernel says of the senders of subflows by an edge of windows."""
        for number, flags in self._states.subflows(answers, self._subflows):
            self._records.fact("subflow", flow=self._subflows[number], time_ns=time_ns, flags=flags)

    def _take(self, time_ns: int, due: int) -> None:
        self._take_queues(time_ns, due)
        self._take_sockets(time_ns, due)
        for probe in self._many if due & sampling_schedule.MANY else []:
            self._records.tcp(time_ns, probe.many_answers())
        if due & (sampling_schedule.SENDERS | sampling_schedule.MANY):
            self._records.tcp(time_ns, self._closed.take())
        if due & sampling_schedule.SENDERS:
            for number, flow in self._counting:
                self._records.datagrams(time_ns, number, flow.counters(time_ns))
        if due & sampling_schedule.COUNTERS:
            self._host_counters.take(time_ns)
        if time_ns % sampling_schedule.DIGEST_NS == 0:
            self._records.progress("traffic", time_ns)

    def _take_sockets(self, time_ns: int, due: int) -> None:
        """Sample the sockets of flows with one connection at a time."""
        if due & sampling_schedule.SENDERS:
            answers = self._senders.answers()
            self._records.tcp(time_ns, answers)
            if due & sampling_schedule.EDGES:
                self._note_subflows(time_ns, answers)
        elif due & sampling_schedule.GRID:
            answers = self._senders_briefly.answers()
        if due & sampling_schedule.GRID:
            self._states.take(time_ns, answers, self._sending)
        if due & sampling_schedule.RECEIVERS:
            self._records.tcp(time_ns, self._receivers.answers())


def _counts_itself(engine: Engine) -> TypeGuard[DatagramEngine]:
    return hasattr(engine, "counters")


def _ends(bed: Bed, engines: Sequence[Engine]) -> dict[str, list[End]]:
    """Return the ends of TCP flows that are sampled, by host.

    Hosts that share a namespace appear as one of them. Hosts of other machines are left out.
    """
    ends: dict[str, list[End]] = {}
    sampled_flows = (engine.spec for engine in engines if not _counts_itself(engine))
    for flow in sampled_flows:
        if ENGINES[flow["engine"]].notes_all:
            continue
        ports = (flow["client_port"], flow["port"])
        if flow["server"] == "source":
            ports = ports[::-1]
        sampled = ((flow["source"], ports, tcpdiag.SENDER),
                   (flow["sink"], ports[::-1], tcpdiag.RECEIVER))  # fmt: skip
        for host, ends_at, kind in sampled:
            if bed.holds(host):
                ends.setdefault(bed.place(host), []).append((ends_at, kind, flow))
    return ends


def _closes(flow: FlowSpec) -> bool:
    """Tell whether sockets of the flow may close before the end of the run."""
    early = ENGINES[flow["engine"]].closes_early or is_multipath(flow)
    return early or flow["connections"] != "one"


def _words(bed: Bed) -> dict[tuple[int, int], list[WordSpec]]:
    """Return which words of each queue are sampled; see qdisc_counters.NamespaceCounters."""
    return {
        (link.device(sink)[1], QUEUE_HANDLE): queue["words"]
        for link in bed.links.values()
        for direction, (_source, sink) in CHANNEL_ENDS.items()
        for queue in [link.spec[direction]["queue"]]
        if queue is not None
    }


def _policed(bed: Bed) -> list[int]:
    """Return the indices of the interfaces with a policer, where a direction of a link begins."""
    return [
        link.device(source)[1]
        for link in bed.links.values()
        for direction, (source, _sink) in CHANNEL_ENDS.items()
        if link.spec[direction]["policer"] is not None
    ]
