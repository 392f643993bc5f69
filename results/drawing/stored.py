"""The network of a stored run, as far as a drawing of it needs it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from orchestrator.kinds.losses.independent import Independent
from orchestrator.network import Channel, Group, Link, Network, Policer, Queue
from orchestrator.protocol.links.qdisc import Qdisc
from orchestrator.recording.model import FlowRecord, QueueRecord
from results.records.links import ChannelSummary, LinkSummary

_HOST = re.compile(r"(?P<group>.+)_(?:src|dst)(?P<number>\d+)")
"""Names of hosts in every topology but ``custom``."""

_Records = dict[tuple[str, str, str], QueueRecord]
"""Queues and policers by link, direction and role."""


def network_of(
    links: Sequence[LinkSummary],
    flows: Sequence[FlowRecord],
    queues: Sequence[QueueRecord] = (),
) -> Network | None:
    """Return the network of a run, None where its links are not known.

    Losses are independent ones with the mean of the run's. What else impairs packets is not known.

    Args:
        links: those of the run.
        flows: the run's flows, which tell groups of hosts where their names do not.
        queues: the run's queues and policers, which tell rates that change.
    """
    if not links:
        return None
    records: _Records = {(record.link, record.direction, record.role): record for record in queues}
    made = tuple(_link(link, records) for link in links)
    nodes = dict.fromkeys(node for link in made for node in (link.a, link.b))
    degrees = Counter(node for link in made for node in (link.a, link.b))
    ends = {host for flow in flows for host in (flow.source, flow.sink)}
    hosts = [
        node
        for node in nodes
        if node in ends or _HOST.fullmatch(node) or (degrees[node] == 1 and len(made) > 1)
    ]
    known = set(hosts)
    return Network(
        tuple(hosts),
        tuple(node for node in nodes if node not in known),
        made,
        _groups(hosts, flows),
        tuple(
            link.name for link in made if link.forward.is_bottleneck or link.reverse.is_bottleneck
        ),
    )


def _link(stored: LinkSummary, records: _Records) -> Link:
    forward = _channel(stored.forward, records, stored.name, "forward")
    reverse = _channel(stored.reverse, records, stored.name, "reverse")
    return Link(stored.name, stored.a, stored.b, forward, reverse)


def _channel(stored: ChannelSummary, records: _Records, link: str, way: str) -> Channel:
    kind = stored.queue_kind
    queue, policer = records.get((link, way, "queue")), records.get((link, way, "policer"))
    steps = queue.rate_steps if queue else ()
    return Channel(
        stored.delay_s,
        stored.rate_bps,
        Queue(kind, Qdisc(kind), stored.limit_packets, stored.limit_bytes) if kind else None,
        Independent(probability=stored.loss) if stored.loss else None,
        stored.bottleneck,
        Policer(policer.rate_bps or 0, policer.limit_bytes or 0) if policer else None,
        later_rates=tuple(rate_bps for _time_s, rate_bps in steps),
    )


def _groups(hosts: Sequence[str], flows: Sequence[FlowRecord]) -> tuple[Group, ...]:
    """Return pairs of hosts by group: those of a name's number, else those of the flows."""
    pairs: dict[str, dict[str, str]] = {}
    there = set(hosts)
    for host in hosts:
        match = _HOST.fullmatch(host)
        other = f"{match['group']}_dst{match['number']}" if match else ""
        if match and other in there and other != host:
            pairs.setdefault(match["group"], {})[host] = other
    named = {host for group in pairs.values() for pair in group.items() for host in pair}
    for flow in flows:
        if flow.source not in named and flow.sink not in named:
            pairs.setdefault(flow.group, {})[flow.source] = flow.sink
    return tuple(Group(name, tuple(group), tuple(group.values())) for name, group in pairs.items())
