"""Engines: what makes a flow's traffic inside the bed, a file each.

On the machines of a lab the two ends of a flow are in two beds: an engine then opens those ends
that ``bed.holds``, and the rest of this is true of each.

A module has ``ENGINES``, {name: class}. A class is made with (bed, spec, services), opens what
listens, and has ``start(origin_ns)`` and ``stop()``: called at the flow's stop time, if it has
one. One that notes transfers has ``finish()``: called behind the last sample, to note those that
are not complete. ``spec`` is the flow of the bed's specification: "name", "source", "sink",
"start_ns", "stop_ns", "seed", "congestion" and the engine's own "parameters"; of TCP "server" (the
end that listens: "sink", or "source" when the sink asks for the data), "port" (of the listener),
"connections" ("one", whose other port is "client_port"; "sequential", one at a time; or "many") and
their ports as sockets.py has them. The engine of a flow that is no TCP connection has
``counters(time_ns)``: the values of records.DATAGRAM_COUNTERS at that time since traffic began.
"""

import importlib
import pkgutil


class Services:
    """What an engine tells of its flow.

    Args:
        records: where everything of the run is written.
        number: the flow's place in the specification.
        name: the flow's name.
    """

    def __init__(self, records, number, name):
        self._records, self._number, self._name = records, number, name

    def problem(self, text):
        """Say that the flow failed; the run fails with it."""
        self._records.fact("flow_error", flow=self._name, problem=text)

    def note(self, **values):
        """Keep what the engine's program itself reports at its end."""
        self._records.fact("engine", flow=self._name, **values)

    def congestion(self, name):
        """Say what congestion control the kernel has for the sender of the first connection."""
        self._records.fact("congestion", flow=self._name, kernel=name)

    def transfer(self, start_ns, end_ns, size_bytes):
        """Note a whole transfer, in nanoseconds since traffic began.

        From the request or the connection's first packet to the last byte in the receiver's
        hands; ``end_ns`` is -1 for one that was not complete at the end, with the bytes that came.
        """
        self._records.transfer(self._number, start_ns, end_ns, size_bytes)

    def transfer_begins(self, port, start_ns):
        """Note that a transfer began, from that client port, whose end is on another machine."""
        self._records.fact("transfer_begins", flow=self._name, port=port, start_ns=start_ns)

    def transfer_ends(self, port, end_ns, size_bytes):
        """Note the end of one that began on another machine; ``end_ns`` as of ``transfer``."""
        values = {"port": port, "end_ns": end_ns, "bytes": size_bytes}
        self._records.fact("transfer_ends", flow=self._name, **values)


def engines():
    """Return every engine's class by its name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        found.update(getattr(importlib.import_module(f"{__name__}.{module.name}"), "ENGINES", {}))
    return found
