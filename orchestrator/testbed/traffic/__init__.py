"""Traffic engines: the classes that make the traffic of flows, one file for each engine.

A module of this package lists its engines in ``ENGINES``, {name: class}. Each class derives from
``FlowEngine``, and tells its ``outcomes`` how connections begin and end. The constructor opens the
sockets that listen, so that they are ready before any flow starts. In a lab, the two ends of a flow
can be on two machines. The engine then opens only the ends for which ``bed.holds`` is true.

``FlowSpec`` in protocol/specification.py describes a flow, and protocol/engine_parameters.py the
parameters of each engine. sockets.py says which ports connections have. An engine that uses no TCP
also has ``counters(time_ns)``; see ``bed.DatagramEngine``.
"""

from __future__ import annotations

import importlib
import pkgutil

from orchestrator.testbed.traffic.outcomes import Outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from orchestrator.protocol.reports.program_facts import ExtractedValue
    from orchestrator.protocol.specification import FlowSpec
    from orchestrator.testbed.bed import Bed, Engine
    from orchestrator.testbed.programs.keeping import Kept
    from orchestrator.testbed.sampling.records import Records
    from orchestrator.testbed.traffic.outcomes import Report

    EngineClass: TypeAlias = "Callable[[Bed, FlowSpec, Services], Engine]"


class Services:
    """What an engine uses to report about its flow.

    Args:
        records: the writer of the run's records.
        number: the flow's place in the specification.
        name: the flow's name.
    """

    def __init__(self, records: Records, number: int, name: str) -> None:
        self._records, self._number, self._name = records, number, name

    def problem(self, text: str) -> None:
        """Report that the flow failed; the run then fails, too."""
        self._fact("flow_error", problem=text)

    def note(self, **values: int) -> None:
        """Record what the engine's program itself reports at its end."""
        self._fact("engine", **values)

    def congestion(self, name: str) -> None:
        """Record which congestion control the kernel uses for the first connection's sender."""
        self._fact("congestion", kernel=name)

    def transfer(self, start_ns: int, end_ns: int, size_bytes: int) -> None:
        """Record a transfer, with times in nanoseconds since traffic began.

        It lasts from the request, or from the connection's first packet, until the receiver has
        read the last byte. For a transfer that is incomplete at the end of the run, ``end_ns`` is
        -1 and ``size_bytes`` is the number of bytes that the receiver has read.
        """
        if not self._records.over:
            self._records.transfer(self._number, start_ns, end_ns, size_bytes)

    def transfer_begins(self, port: int, start_ns: int) -> None:
        """Record the start of a transfer from that client port, which ends on another machine."""
        self._fact("transfer_begins", port=port, start_ns=start_ns)

    def transfer_ends(self, port: int, end_ns: int, size_bytes: int) -> None:
        """Record the end of a transfer that began on another machine; see ``transfer``."""
        self._fact("transfer_ends", port=port, end_ns=end_ns, bytes=size_bytes)

    def outcome(self, report: Report) -> None:
        """Record how the flow's connections ended here."""
        self._fact("outcome", **report)

    def program(self, **report: object) -> None:
        """Record how a user's program ended; see protocol.facts.Program."""
        self._fact("program", **report)

    def extracted(self, values: Mapping[str, ExtractedValue]) -> None:
        """Record the numbers that were taken from a client's output, by their names."""
        self._fact("extracted", values=values)

    def room_to_keep_bytes(self) -> int:
        """Return how many bytes of files the run may still keep."""
        return self._records.most_kept_bytes - self._records.kept_bytes

    def kept(self, role: str, kept: Kept) -> None:
        """Record the files that are kept of what a program has left."""
        if not self._records.over:
            self._records.kept(kept.contents)
            self._fact("kept", role=role, files=kept.files, left_out=kept.left_out)

    def _fact(self, name: str, **values: object) -> None:
        """Record a fact about the flow; after traffic it is no longer part of the run."""
        if not self._records.over:
            self._records.fact(name, flow=self._name, **values)


class FlowEngine:
    """What all engines have in common. A derived class adds ``start(origin_ns)``.

    Args:
        spec: the flow.
        services: receives the engine's reports.
    """

    def __init__(self, spec: FlowSpec, services: Services) -> None:
        self.spec, self.services = spec, services
        self.outcomes = Outcomes()

    def stop(self) -> None:
        """Do nothing: most engines end the flow at its stop time by themselves."""

    def finish(self) -> None:
        """Record how the flow's connections ended."""
        self.services.outcome(self.outcomes.report())


def engines() -> dict[str, EngineClass]:
    """Return every engine's class by its name."""
    classes: dict[str, EngineClass] = {}
    for module in pkgutil.iter_modules(__path__):
        classes.update(getattr(importlib.import_module(f"{__name__}.{module.name}"), "ENGINES", {}))
    return classes
