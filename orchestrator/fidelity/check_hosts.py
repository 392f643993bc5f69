"""Interfaces, routes and sysctls of all namespaces: as requested, before and after traffic."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check: settings that are not as requested at either time.

    Settings are MTU and qdiscs of each interface, routes with their metrics, and sysctls that
    matter to TCP. What the run does not set must have the kernel's default. Lab hosts have settings
    of their own, so theirs at the end are compared with those at the start.
    """
    states = evidence.all(facts.HostState)
    if not states:
        return  # a run of a version without the fact
    differences = {
        (
            namespace,
            setting,
        ): f"{setting} in {namespace}: {value or 'none'}, requested: {requested or 'none'}"
        for state in states
        for namespace, setting, requested, value in state["differences"]
    }
    detail = "; ".join(list(differences.values())[:3])
    count = max(state["settings"] for state in states)
    detail = detail or f"{count} settings of interfaces, routes and sysctls"
    yield Check("hosts_as_requested", "", 0, len(differences), 0, not differences, detail)
