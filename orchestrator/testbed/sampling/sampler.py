"""Takes every sample of a run: one loop, absolute times, no clock readings."""

from orchestrator.protocol import sampling_schedule
from orchestrator.protocol.engines import ENGINES
from orchestrator.protocol.numbering import CHANNEL_ENDS, CHILD_HANDLE
from orchestrator.protocol.ports import MANY_PORTS
from orchestrator.testbed.kernel import system, tcpdiag
from orchestrator.testbed.network import redirect

_BEHIND_NS = 1
"""Flows act at round times, too: what happens at the time of a sample has happened by then."""


class Sampler:
    """Samples the flows' ends and all qdiscs of the wires into ``records``.

    Args:
        bed: the built network.
        records: where the samples go.
        flows: the engines, in the order of the specification's flows; those with ``counters()``
            are asked, the others' sockets are sampled.
        among_packets: makes a context in which flows are stopped, which sends something; see
            ``hostload.Watcher``.
    """

    def __init__(self, bed, records, flows, among_packets):
        self._records = records
        self._spec = bed.spec
        self._flows = flows
        self._among_packets = among_packets
        # On a machine of a lab there may be some of all flows only.
        self._counting = [
            (flow.spec.get("number", place), flow)
            for place, flow in enumerate(flows)
            if hasattr(flow, "counters")
        ]
        self._senders, self._receivers, self._crowds = [], [], []
        self._closed = tcpdiag.Closed()
        for host, present in _ends(bed, flows).items():
            self._open(bed, host, present)
        self._counters = bed.queue_counters(_words(bed))
        self._policers = redirect.Policers(bed.wires, _policed(bed))

    def _open(self, bed, host, present):
        """Open the probe of a host on which these (ports, kind, flow) end."""
        few = [end for end in present if end[2]["connections"] != "many"]
        single = None
        if len(few) == 1 and few[0][2]["connections"] == "one":
            (ports, kind, flow) = few[0]
            peer = flow["sink" if kind == tcpdiag.SENDER else "source"]
            single = (*ports, bed.address(host), bed.address(peer))
        crowd_port = MANY_PORTS[0] if len(few) < len(present) else None
        with bed.enter(host):
            probe = tcpdiag.TcpDiag(single, crowd_port, bed.ports)
            if any(_closes(flow) for _ports, _kind, flow in present):
                self._closed.watch()
        kinds = {kind for _ports, kind, _flow in few}
        if tcpdiag.SENDER in kinds:
            self._senders.append(probe)
        if tcpdiag.RECEIVER in kinds:
            self._receivers.append(probe)
        if crowd_port is not None:
            self._crowds.append(probe)

    def queues(self):
        """Return what the queue samples are of, for the fact ``queues``.

        "names" are (interface index, handle) of the qdiscs and "policers" interface indices.
        """
        return {"names": self._counters.names, "policers": self._policers.indices}

    def forget_places(self):
        """Expect another layout of the qdiscs' dump from now on: a setting has changed."""
        self._counters.forget()

    def run(self, origin_ns):
        """Sample from ``origin_ns`` to the end, stopping each flow when its time has come.

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
            spec["duration_ns"], sample["tcp_ns"], sample["queue_ns"], spec["edges_ns"]
        )
        for time_ns, what in plan:
            while stops and stops[0][0] <= time_ns:
                stop_ns, flow = stops.pop(0)
                timer.sleep_until(origin_ns + stop_ns)
                with self._among_packets():
                    flow.stop()
            timer.sleep_until(origin_ns + time_ns + _BEHIND_NS)
            self._take(time_ns, what)
        for flow in self._flows:
            if hasattr(flow, "finish"):
                flow.finish()

    def _take(self, time_ns, what):
        if what & sampling_schedule.QUEUES:
            self._records.queue(time_ns, self._counters.sample() + self._policers.sample())
        probes = self._senders if what & sampling_schedule.SENDERS else []
        if what & sampling_schedule.RECEIVERS:
            probes = [*probes, *(probe for probe in self._receivers if probe not in probes)]
        for probe in probes:
            self._records.tcp(time_ns, probe.answers())
        for probe in self._crowds if what & sampling_schedule.CROWDS else []:
            self._records.tcp(time_ns, probe.crowd_answers())
        if what & ~sampling_schedule.QUEUES:
            self._records.tcp(time_ns, self._closed.take())
        if what & sampling_schedule.SENDERS:
            for number, flow in self._counting:
                self._records.datagrams(time_ns, number, flow.counters(time_ns))
        if time_ns % sampling_schedule.DIGEST_NS == 0:
            self._records.progress("traffic", time_ns)


def _ends(bed, engines):
    """Return {host: [((local port, remote port), SENDER or RECEIVER, flow)]} of what is sampled.

    Hosts that share a namespace are one of them; those of other machines are left out.
    """
    ends = {}
    for flow in (engine.spec for engine in engines if not hasattr(engine, "counters")):
        ports = (flow["client_port"], flow["port"])
        if flow["server"] == "source":
            ports = ports[::-1]
        sampled = ((flow["source"], ports, tcpdiag.SENDER),
                   (flow["sink"], ports[::-1], tcpdiag.RECEIVER))  # fmt: skip
        for host, ends_at, kind in sampled:
            if bed.holds(host):
                ends.setdefault(bed.place(host), []).append((ends_at, kind, flow))
    return ends


def _closes(flow):
    """Tell whether sockets of the flow are closed before the end of the run."""
    return ENGINES[flow["engine"]].closes_early or flow["connections"] != "one"


def _words(bed):
    """Return what is taken of each queue beside its counters; see qdisc.Counters."""
    return {
        (link.device(queue_end)[1], CHILD_HANDLE): link.spec[direction]["queue"]["words"]
        for link in bed.links.values()
        for direction, (_source, queue_end, _sink) in CHANNEL_ENDS.items()
        if link.spec[direction]["queue"] is not None
    }


def _policed(bed):
    """Return the interfaces on which a policer is, where a direction of a link begins."""
    return [
        link.device(source)[1]
        for link in bed.links.values()
        for direction, (source, _queue, _sink) in CHANNEL_ENDS.items()
        if link.spec[direction]["policer"] is not None
    ]
