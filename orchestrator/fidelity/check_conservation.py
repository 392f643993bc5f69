"""Conservation of packets: all that come to a place leave it, are dropped there, or wait in it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Literal, NamedTuple

from orchestrator.fidelity.check_drops import corrupted_at_most
from orchestrator.fidelity.evidence import Evidence
from orchestrator.network import Network
from orchestrator.protocol.links.netem import DUPLICATION, threshold_chance
from orchestrator.protocol.programs import PROGRAM
from orchestrator.protocol.reports import facts
from orchestrator.protocol.reports.packet_facts import PacketReading
from orchestrator.recording.model import Check

BATCH = 300
"""Packets that a real machine's kernel handles at a time (net.core.netdev_budget). Meanwhile they
are between two devices, where no counter has them."""
_MODULUS = 2**32
"""The kernel's counters of qdiscs have 32 bits."""

Stage = Literal["policer", "queue", "delay", "ring"]
_STAGES: tuple[Stage, ...] = ("policer", "queue", "delay", "ring")
Count = Callable[[PacketReading], int]
"""How many packets a reading has at a place."""


class _NetworkPart(NamedTuple):
    """A part of the network, with the counts of packets before and behind it."""

    name: str
    before: Count
    behind: Count
    surplus: Count = lambda _reading: 0
    """At most so many packets count twice before the place."""
    may_corrupt: bool = False
    """Whether corrupted packets may end here, because their address or header is wrong."""
    may_add: bool = False
    """Whether more packets may be behind the place than before it."""


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check over all places: devices, policers, queues, netems, rings, switches, hosts.

    Packets from the start of traffic to the end count, of every protocol. Runs without the fact
    yield nothing. Lab hosts do not report it: their interfaces carry packets of other programs.

    netem does not count its duplicates, and not the losses of packets that it duplicated. So a
    netem that duplicates is left to the checks of duplication and loss.
    """
    by_time = {fact["at"]: fact for fact in evidence.all(facts.Packets)}
    if set(by_time) != {"start", "end"}:
        return
    start, end = by_time["start"], by_time["end"]
    corrupted = corrupted_at_most(evidence)
    judged = []
    for part in _places(evidence):
        missing = _growth(part.before, start, end) - _growth(part.behind, start, end)
        missing = (missing + _MODULUS // 2) % _MODULUS - _MODULUS // 2
        if part.may_add:
            missing = max(missing, 0)
        tolerance = _moved(part, start) + _moved(part, end)
        tolerance += BATCH if evidence.real_time else 0
        if missing > 0:
            tolerance += _growth(part.surplus, start, end)
            tolerance += corrupted if part.may_corrupt else 0
        judged.append((abs(missing) - tolerance, missing, tolerance, part.name))
    excess, missing, tolerance, name = max(judged, key=lambda judgement: judgement[0])
    good = excess <= 0
    wrong = sum(judgement[0] > 0 for judgement in judged)
    detail = f"{len(judged)} places"
    if not good:
        amount = f"{abs(missing)} {'missing' if missing > 0 else 'too many'}"
        detail = f"{amount} at {name}; wrong at {wrong} of {len(judged)} places"
    yield Check("conservation", "packets", 0, missing, tolerance, good, detail)


def _growth(count: Count, start: PacketReading, end: PacketReading) -> int:
    return (count(end) - count(start)) % _MODULUS


def _moved(part: _NetworkPart, fact: facts.Packets) -> int:
    """Return how many packets passed a part of the network between the two readings of a fact."""
    if "again" not in fact:
        return 0
    again = fact["again"]
    return _growth(part.before, fact, again) + _growth(part.behind, fact, again)


def _places(evidence: Evidence) -> Iterator[_NetworkPart]:
    network = evidence.network
    duplicating = _duplicating(evidence)
    example = evidence.one(facts.Packets, at="start")
    for name, passages in example["channels"].items():
        yield from _along(name, set(passages), name in duplicating)
    yield from _at_nodes(network, _hosts_of_programs(evidence))


def _along(name: str, present: set[str], duplicates: bool) -> Iterator[_NetworkPart]:
    """Yield the places of one direction of a link, in the order of a packet."""
    yield _NetworkPart(f"{name}, way in", _at(name, "sent"), _at(name, "entered"))
    before = _frames(name, "entered")
    for stage in _STAGES:
        if stage in present:
            if not (stage == "delay" and duplicates):
                yield _NetworkPart(f"{name}, {stage}", before, _all_of(name, stage))
            before = _left(name, stage)
    yield _NetworkPart(f"{name}, last device", before, _at(name, "exited"))
    yield _NetworkPart(f"{name}, way out", _at(name, "exited"), _at(name, "received"))


def _hosts_of_programs(evidence: Evidence) -> set[str]:
    """Return the hosts of flows of users' programs."""
    flows = [flow for flow in evidence.flows if flow.engine == PROGRAM]
    return {host for flow in flows for host in (flow.source, flow.sink)}


def _at_nodes(network: Network, of_programs: Container[str]) -> Iterator[_NetworkPart]:
    """Yield the switches, and each host as a sender and as a receiver.

    What a program sends by UDP_SEGMENT counts as one datagram (Udp:OutDatagrams, udp_send_skb() of
    Linux's net/ipv4/udp.c), and leaves its host as several. So more may leave hosts of programs.
    """
    arriving: dict[str, list[Count]] = {node: [] for node in (*network.hosts, *network.switches)}
    leaving: dict[str, list[Count]] = {node: [] for node in arriving}
    for link in network.links:
        for name, source, sink in (
            (f"{link.name}:forward", link.a, link.b),
            (f"{link.name}:reverse", link.b, link.a),
        ):
            leaving[source].append(_frames(name, "sent"))
            arriving[sink].append(_at(name, "received"))
    for node in network.switches:
        came, left = _sum(arriving[node]), _sum(leaving[node])
        yield _NetworkPart(f"switch {node}", came, left, may_corrupt=True)
    for node in dict.fromkeys(map(network.machine, network.hosts)):
        interfaces = network.interfaces(node)
        came, left = (
            _sum([count for host in interfaces for count in counts[host]])
            for counts in (arriving, leaving)
        )
        sent, twice = _of_host(node, "transport"), _of_host(node, "twice")
        cuts = any(host in of_programs for host in interfaces)
        yield _NetworkPart(f"{node}, sending", sent, left, surplus=twice, may_add=cuts)
        # Its buffers of several segments hide a loss of segments, but not one of buffers.
        yield _NetworkPart(f"{node}, sending by IP", _of_host(node, "ip"), left, may_add=True)
        delivered = _of_host(node, "delivered")
        yield _NetworkPart(f"{node}, receiving", came, delivered, may_corrupt=True)


def _duplicating(evidence: Evidence) -> set[str]:
    """Return the channels that duplicate packets at any time of the run."""
    return {
        f"{queue.link}:{queue.direction}"
        for number, queue in enumerate(evidence.queues)
        if queue.role == "delay"
        and any(
            threshold_chance(span.settings.get(DUPLICATION, 0)) for span in evidence.spans(number)
        )
    }


def _at(channel: str, key: Literal["sent", "entered", "exited", "received"]) -> Count:
    return lambda reading: reading["channels"][channel][key]


def _frames(channel: str, key: Literal["sent", "entered"]) -> Count:
    """Return the count of frames at a place before the one where super-packets become frames."""

    def count(reading: PacketReading) -> int:
        passages = reading["channels"][channel]
        cut, frames, _aggregates = passages.get("super_packets") or (0, 0, 0)
        return passages[key] - cut + frames

    return count


def _all_of(channel: str, stage: Stage) -> Count:
    return lambda reading: sum(reading["channels"][channel][stage])


def _left(channel: str, stage: Stage) -> Count:
    return lambda reading: reading["channels"][channel][stage][0]


def _of_host(host: str, key: Literal["ip", "transport", "twice", "delivered"]) -> Count:
    return lambda reading: reading["hosts"][host][key]


def _sum(counts: list[Count]) -> Count:
    return lambda reading: sum(count(reading) for count in counts)
