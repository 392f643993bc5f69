"""Super-packets: all become frames where a host's link begins, and none is ever on a link."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check in a run some of whose hosts have TSO: super-packets that a link carried.

    The module of links counts each that comes to a queue, from set-up to the end.

    Raises:
        LookupError: a link's counters are missing.
    """
    if not evidence.network.tso_hosts:
        return
    channels = evidence.one(facts.Packets, at="end")["channels"]
    carried = {}
    cut = frames = 0
    for name, passages in channels.items():
        if "queue" not in passages:
            continue  # packets pass at once: the kernel makes frames for a device without TSO
        of_one, made, whole = passages["super_packets"]
        cut, frames = cut + of_one, frames + made
        if whole:
            carried[name] = whole
    worst = max(carried, key=lambda name: carried[name], default="")
    detail = f"{cut} became {frames} frames"
    if carried:
        detail = f"{carried[worst]} at {worst}; at {len(carried)} of {len(channels)} places"
    total = sum(carried.values())
    yield Check("super_packets", "packets", 0, total, 0, not carried, detail)
