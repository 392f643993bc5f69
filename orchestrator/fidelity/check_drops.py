"""Drops outside the places where they are expected: in queues, devices and the CPU's backlog."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.fidelity.check_corruption import corrupted
from orchestrator.fidelity.evidence import Evidence
from orchestrator.protocol.reports import facts
from orchestrator.recording.model import Check


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check: packets dropped outside the bottlenecks, by queues, devices and the CPU.

    Interfaces may drop corrupted frames, whose address or protocol is unknown. Interfaces of a
    lab's machines also count frames of other senders with unknown protocols. These are no fault,
    but cannot be told apart from drops of the run, so the check is then in doubt.
    """
    places: dict[str, int] = {}
    for number, queue in enumerate(evidence.queues):
        channel = evidence.channel(f"{queue.link}:{queue.direction}")
        begins = evidence.network.begins_at(queue.link, queue.direction)
        # A host may have asked for a queueing discipline, which drops as it does. A delay line with
        # loss and a policer drop on purpose. Other checks judge them.
        expected = {
            "queue": channel.is_bottleneck or begins in evidence.network.qdisc_hosts,
            "delay": channel.loses,
            "policer": True,
        }
        if not expected[queue.role]:
            places[queue.name] = _growth(evidence, number)
    start, end = (
        evidence.one(facts.Interfaces, at="start"),
        evidence.one(facts.Interfaces, at="end"),
    )
    for name, after in end["interfaces"].items():
        before = start["interfaces"].get(name, {"rx_dropped": 0, "tx_dropped": 0})
        places[name] = sum(after[key] - before[key] for key in ("rx_dropped", "tx_dropped"))
    at_interfaces = sum(places[name] for name in end["interfaces"])
    places["per-CPU backlog"] = (
        evidence.one(facts.Softnet, at="end")["drops"]
        - evidence.one(facts.Softnet, at="start")["drops"]
    )
    total = sum(places.values())
    excused = min(at_interfaces, corrupted_at_most(evidence))
    worst = max(places, key=lambda drop_place: places[drop_place])
    detail = f"most at {worst}: {places[worst]}" if total else f"{len(places)} places"
    if excused:
        detail += f"; {excused} at interfaces may have been corrupted"
    good: bool | None = total == excused
    shared = sum(
        places[name] for name in end["interfaces"] if end["interfaces"][name].get("shared")
    )
    if not good and total == shared:
        good = None
        detail += "; which may be frames of a protocol that nobody speaks there"
    yield Check("drops_outside_bottleneck", "packets", 0, total, excused, good, detail)


def corrupted_at_most(evidence: Evidence) -> int:
    """Return the largest plausible number of corrupted packets."""
    most = 0
    for number, queue in enumerate(evidence.queues):
        requested = evidence.channel(f"{queue.link}:{queue.direction}").most_corruption
        samples = evidence.samples(number)
        if queue.role == "delay" and requested and len(samples):
            most += corrupted(
                int(samples["packets"][-1] + samples["backlog_packets"][-1]), requested
            )
    return most


def _growth(evidence: Evidence, queue: int) -> int:
    """Return the drops since the bed was built, so those of probes, too."""
    samples = evidence.samples(queue)
    return int(samples["drops"][-1]) if len(samples) else 0
