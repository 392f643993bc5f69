"""Offloads of every interface of the bed: as requested, before and after traffic."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check

_OF_TSO = ("gso", "tso")


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check: offloads (TSO, GSO, GRO) that are not as requested at either time.

    They are off but at a host with TSO, which has TSO and GSO on.
    """
    wrong: set[str] = set()
    requested = {(f"{host}/", name) for host in evidence.network.tso_hosts for name in _OF_TSO}
    count = 0
    for when in ("start", "end"):
        interfaces = evidence.one(facts.Interfaces, at=when)["interfaces"]
        count = len(interfaces)
        for name, state in interfaces.items():
            node = name[: name.index("/") + 1]
            for offload, on in state["offloads"].items():
                if on is not ((node, offload) in requested):
                    wrong.add(f"{offload} of {name}{'' if on else ' is off'}")
    detail = ", ".join(sorted(wrong)[:3]) if wrong else f"{count} interfaces"
    yield Check("offloads_on", "", 0, len(wrong), 0, not wrong, detail)
