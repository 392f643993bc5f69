"""Takes every sample of a run: one loop, absolute times, no clock readings."""

from . import qdisc, schedule, system, tcpdiag


class Sampler:
    """Samples the flows' sockets and all qdiscs of the wires into ``records``."""

    def __init__(self, bed, records):
        self._records = records
        self._spec = bed.spec
        self._senders, self._receivers = [], []
        endpoints = {}
        for number, flow in enumerate(bed.spec["flows"]):
            ports = (flow["client_port"], flow["port"])
            endpoints.setdefault(flow["source"], {})[ports] = (number, tcpdiag.SENDER)
            endpoints.setdefault(flow["sink"], {})[ports[::-1]] = (number, tcpdiag.RECEIVER)
        for host, table in endpoints.items():
            with bed.enter(host):
                probe = tcpdiag.TcpDiag(table, _addresses(bed, host, table))
                if any(
                    bed.spec["flows"][flow]["engine"] != "builtin" for flow, _e in table.values()
                ):
                    probe.watch_closing()
            kinds = {endpoint for _flow, endpoint in table.values()}
            if tcpdiag.SENDER in kinds:
                self._senders.append(probe)
            if tcpdiag.RECEIVER in kinds:
                self._receivers.append(probe)
        self._counters = qdisc.Counters(bed.wires)

    @property
    def queue_names(self):
        """(interface index, handle) of the qdiscs, in the order of the queue samples."""
        return self._counters.names

    @property
    def congestion_names(self):
        """{flow index: congestion control that the kernel reported for its sender}."""
        return {flow: name for probe in self._senders for flow, name in probe.names.items()}

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
            self._records.tcp(probe.rows(time_ns))
            self._records.tcp(probe.closed_rows(time_ns))
        if time_ns % schedule.DIGEST_NS == 0:
            self._records.progress("traffic", time_ns)


def _addresses(bed, host, table):
    """Return (own, peer's) address where the host has but one endpoint, else None."""
    if len(table) != 1:
        return None
    ((flow, endpoint),) = table.values()
    spec = bed.spec["flows"][flow]
    peer = spec["sink"] if endpoint == tcpdiag.SENDER else spec["source"]
    return bed.address(host), bed.address(peer)
