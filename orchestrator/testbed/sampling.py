"""Takes every sample of a run: one loop, absolute times, no clock readings."""

from . import qdisc, schedule, system, tcpdiag


class Sampler:
    """Samples the flows' sockets and all qdiscs of the wires into ``records``."""

    def __init__(self, bed, records):
        self._records = records
        self._spec = bed.spec
        self._senders, self._receivers = [], []
        ends = {}
        for flow in bed.spec["flows"]:
            ports = (flow["client_port"], flow["port"])
            ends.setdefault(flow["source"], []).append((ports, tcpdiag.SENDER, flow))
            ends.setdefault(flow["sink"], []).append((ports[::-1], tcpdiag.RECEIVER, flow))
        for host, present in ends.items():
            ports, kinds, flows = zip(*present, strict=True)
            peer = flows[0]["sink" if kinds[0] == tcpdiag.SENDER else "source"]
            with bed.enter(host):
                probe = tcpdiag.TcpDiag(ports, (bed.address(host), bed.address(peer)))
                if any(flow["engine"] != "builtin" for flow in flows):
                    probe.watch_closing()
            if tcpdiag.SENDER in kinds:
                self._senders.append(probe)
            if tcpdiag.RECEIVER in kinds:
                self._receivers.append(probe)
        self._counters = qdisc.Counters(bed.wires)

    @property
    def queue_names(self):
        """(interface index, handle) of the qdiscs, in the order of the queue samples."""
        return self._counters.names

    def run(self, origin_ns, flows):
        """Sample from ``origin_ns`` to the end, stopping each flow when its time has come."""
        spec = self._spec
        timer = system.Timer()
        stops = sorted(
            ((flow.spec["stop_ns"], flow) for flow in flows if flow.spec["stop_ns"] is not None),
            key=lambda stop: stop[0],
        )
        sample = spec["sample"]
        plan = schedule.ticks(
            spec["duration_ns"], sample["tcp_ns"], sample["queue_ns"], spec["edges_ns"]
        )
        for time_ns, what in plan:
            while stops and stops[0][0] <= time_ns:
                stop_ns, flow = stops.pop(0)
                timer.sleep_until(origin_ns + stop_ns)
                flow.stop()
            timer.sleep_until(origin_ns + time_ns)
            self._take(time_ns, what)

    def _take(self, time_ns, what):
        if what & schedule.QUEUES:
            self._records.queue(time_ns, self._counters.sample())
        probes = self._senders if what & schedule.SENDERS else []
        if what & schedule.RECEIVERS:
            probes = [*probes, *(probe for probe in self._receivers if probe not in probes)]
        for probe in probes:
            self._records.tcp(time_ns, probe.answers())
            self._records.tcp(time_ns, probe.last_answers())
        if time_ns % schedule.DIGEST_NS == 0:
            self._records.progress("traffic", time_ns)
