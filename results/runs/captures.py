"""What captures at the hosts of real machines have lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.errors import StoreError
from orchestrator.windows import window_text
from results.store.parts.traces import TraceHead
from results.store.stored import StoredRun


@dataclass(frozen=True)
class CapturedHost:
    """The capture of a host: when it was open, how many frames came to it, and how many it lost."""

    host: str
    from_ns: int
    to_ns: int
    seen: int
    lost: int


def captured_hosts(run: StoredRun, head: TraceHead) -> list[CapturedHost]:
    """Return the captures of a trace; there are none of a guest's, which loses nothing.

    Raises:
        StoreError: the trace or the run's network cannot be read.
    """
    if not head.rows.get("hosts"):
        return []
    names = host_names(run)
    rows = run.trace(head.number, ("hosts",)).tables["hosts"].tolist()
    return [CapturedHost(names[host], *values) for host, *values in rows]


def incomplete(head: TraceHead, hosts: Sequence[CapturedHost]) -> list[str]:
    """Return what is missing of a trace, a text for each host that something is missing of."""
    texts = []
    for one in hosts:
        if one.lost:
            texts.append(
                f"{one.host} lost {one.lost} of {one.seen} frames, for which its buffer had no room"
            )
        if (one.from_ns, one.to_ns) != (head.capture.from_ns, head.capture.to_ns):
            window = window_text(one.from_ns, one.to_ns)
            texts.append(f"{one.host} was captured in {window} only")
    return texts


def host_names(run: StoredRun) -> list[str]:
    """Return the names of the hosts, in the order of their numbers.

    Raises:
        StoreError: the run has none.
    """
    try:
        hosts = run.evidence["network"]["hosts"]
    except (KeyError, TypeError):
        hosts = None
    if not (isinstance(hosts, list) and all(isinstance(host, str) for host in hosts)):
        raise StoreError(f"run {run.id}: the names of its hosts are not stored")
    return hosts
