"""The real machine: how late it woke the test bed up, and what used its CPU."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.fidelity.host import (
    MOST_BUSY,
    MOST_DELAY_S,
    MOST_OTHERS,
    UNUSABLE_DELAY_S,
    HostLoad,
)
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield three checks of each real machine; none of a guest in virtual time.

    A slow or busy machine makes a run doubtful. Above UNUSABLE_DELAY_S the run is unfaithful,
    because its delays then have no meaning.
    """
    for host in evidence.hosts:
        where = f" {host.name}" if len(evidence.hosts) > 1 else ""
        yield _delay(host, where)
        yield _load(host, where)
        yield _own_load(host, where)


def _delay(host: HostLoad, where: str) -> Check:
    good: bool | None = host.late_p99_s <= MOST_DELAY_S
    detail = (
        f"99th percentile of {host.wakeups} wake-ups; the latest, {host.late_max_s * 1e3:.3g} ms, "
        f"in second {host.late_max_second}"
    )
    if not good:
        detail = f"the machine wakes the run up too late to vouch for its timing: {detail}"
        good = None if host.late_p99_s <= UNUSABLE_DELAY_S else False
    return Check(f"scheduling_delay{where}", "s", 0.0, host.late_p99_s, MOST_DELAY_S, good, detail)


def _load(host: HostLoad, where: str) -> Check:
    good = host.outside <= MOST_OTHERS or None
    detail = f"share of CPU {host.cpu} that others used"
    if host.steal:
        detail += f", {host.steal:.3g} of it taken by the machine below (steal)"
    if not good:
        detail = f"the machine was busy with other things than the run: {detail}"
    return Check(f"host_load{where}", "", 0.0, host.outside, MOST_OTHERS, good, detail)


def _own_load(host: HostLoad, where: str) -> Check:
    good = host.busy <= MOST_BUSY or None
    detail = f"share of CPU {host.cpu} that the run itself used"
    if not good:
        detail = f"the machine is too slow for this scenario: {detail}"
    return Check(f"run_load{where}", "", 0.0, host.busy, MOST_BUSY, good, detail)
