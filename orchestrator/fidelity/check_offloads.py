"""Offloads of every interface of the bed: as requested, before and after traffic."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check

_OF_TSO = ("gso", "tso")


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check: offloads (TSO, GSO, GRO) that are not as requested at either time.

    They are off but at a host with TSO, which has TSO and GSO on, and at a host with GRO.
    """
    wrong: set[str] = set()
    network = evidence.network
    requested = {(f"{host}/", name) for host in network.tso_hosts for name in _OF_TSO}
    requested |= {(f"{host}/", "gro") for host in network.gro_hosts}
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
