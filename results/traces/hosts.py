"""The hosts of a trace: which of them has which ends of connections."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.errors import UsageError
from orchestrator.recording.trace import Trace
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shown
from results.store.stored import StoredRun

_MOST_NAMED = 40
"""The most hosts that a message names."""


def ends_of_hosts(run: StoredRun, trace: Trace) -> dict[str, list[int]]:
    """Return the numbers of the ends of the flows' connections, by the host that has them.

    They are in the order in which they were seen.
    """
    found: dict[str, list[int]] = {}
    for end, number, is_sender in trace.tables["ends"][["end", "flow", "is_sender"]].tolist():
        if 0 <= number < len(run.flows):
            flow = run.flows[number]
            found.setdefault(flow.source if is_sender else flow.sink, []).append(end)
    return found


def ends_at(run: StoredRun, trace: Trace, host: str | None) -> Sequence[int]:
    """Return the ends that a host has.

    Raises:
        UsageError: none is named, it has none, or the trace has none at all.
    """
    known = ends_of_hosts(run, trace)
    if not known:
        place = "" if host is None else f" {shown(host)}"
        raise UsageError(f"--at{place}: the trace has no TCP connection")
    if host is not None and host in known:
        return known[host]
    there = list(known)
    if host is None:
        wrong = "--at: name the host whose connections are meant"
    else:
        wrong = f"--at {shown(host)}: no end of a connection was seen there{suggest(host, there)}"
    more = f" and {len(there) - _MOST_NAMED} more" if len(there) > _MOST_NAMED else ""
    raise UsageError(f"{wrong}\n  hosts: {listed(there[:_MOST_NAMED]) or 'none'}{more}")
