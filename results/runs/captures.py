"""What captures at the hosts of real machines have lost, and by which clocks their times are."""

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


@dataclass(frozen=True)
class HostClock:
    """The clock of a lab host, which the times of frames at some of the run's hosts are by.

    Its times count from the start of traffic. They differ from those of the controller's clock by
    at most ``error_ns``: how exactly it was read before traffic, and how far it drifted until the
    end. Two clocks can differ by the sum of both.
    """

    machine: str
    hosts: Sequence[str]
    error_ns: int

    @property
    def text(self) -> str:
        """The clock in words."""
        off_ms = self.error_ns / 1e6
        return f"the clock of {self.machine}, within {off_ms:.3g} ms of the controller's"


def host_clocks(run: StoredRun, hosts: Sequence[CapturedHost]) -> list[HostClock]:
    """Return the clocks of captures on lab hosts; others have one clock, and none is returned.

    Raises:
        StoreError: the clocks are not stored.
    """
    lab = run.provenance.get("lab")
    if lab is None or not hosts:
        return []
    captured = {one.host for one in hosts}
    clocks = []
    try:
        for machine, facts in lab["hosts"].items():
            here, clock = [host for host in facts["plays"] if host in captured], facts["clock"]
            if here:
                error_ns = int(clock["uncertainty_ns"]) + abs(int(clock["drift_ns"]))
                clocks.append(HostClock(machine, here, error_ns))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise StoreError(f"run {run.id}: the clocks of its lab hosts are not stored") from None
    return clocks


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
