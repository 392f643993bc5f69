"""What a test bed reports of Multipath TCP connections at the edges of windows."""

from __future__ import annotations

from collections.abc import Collection

from orchestrator.decode.edges.times import edges_ns
from orchestrator.decode.output import malformed
from orchestrator.planning.flows.multipath import connections
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports.facts import Fact
from orchestrator.recording.multipath import Connection


def multipath_connections(spec: RunSpec, facts: Collection[Fact]) -> dict[str, Connection]:
    """Return the connections of a run by their names.

    Raises:
        BedError: a fact is of no connection or no subflow, or the counters of a connection are not
            those of each edge in the order of time.
    """
    subflows = {flow.name for flow in spec.flows if flow.subflow is not None}
    for state in protocol.of(facts, protocol.SubflowState):
        if state["flow"] not in subflows:
            raise malformed(f"flow {state['flow']} is no subflow with the fact subflow")
    edges = edges_ns(spec)
    reports: dict[str, list[protocol.Multipath]] = {}
    for fact in protocol.of(facts, protocol.Multipath):
        reports.setdefault(fact["flow"], []).append(fact)
    found: dict[str, Connection] = {}
    for connection in connections(spec.flows):
        own = reports.pop(connection.subflows[0].name, [])
        times_ns = tuple(fact["time_ns"] for fact in own)
        if list(times_ns) != edges:
            raise malformed(f"the facts multipath of {connection.name} are not those of all edges")
        found[connection.name] = Connection(
            tuple(flow.name for flow in connection.subflows),
            times_ns,
            tuple(tuple(fact["sender"]) for fact in own),
            tuple(tuple(fact["receiver"]) for fact in own),
        )
    if reports:
        raise malformed(f"flow {next(iter(reports))} is no connection with the fact multipath")
    return found
