"""Machines with several interfaces, each of which is a host of the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.kinds.fields import Path
from orchestrator.network import Group, Network
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shown

Problem = tuple[Path, str]

MOST_INTERFACES = 100
"""Each further interface has a table of routes, and Linux has 252 of them with a plain number."""


def with_machines(network: Network, joined: Sequence[Sequence[str]]) -> Network:
    """Return the network with its machines, for lists of groups without ``machine_faults``."""
    places = {host: number for number, host in enumerate(network.hosts)}
    machines = dict.fromkeys(
        tuple(sorted(hosts, key=places.__getitem__))
        for groups in joined
        for hosts in _joined_hosts([network.group(name) for name in groups])
        if len(hosts) > 1
    )
    return replace(network, machines=tuple(machines)) if machines else network


def machine_faults(network: Network, joined: Sequence[Sequence[str]]) -> Iterator[Problem]:
    """Yield (path in the scenario, message) of groups that cannot share their machines."""
    known = {group.name: group for group in network.groups}
    seen: set[str] = set()
    machine_of: dict[str, set[str]] = {}
    for number, names in enumerate(joined):
        where: Path = ("topology", "multihomed", number)
        problems = list(_group_faults(names, known, seen))
        if len(names) > MOST_INTERFACES:
            problems.append(
                (MOST_INTERFACES, f"a machine has at most {MOST_INTERFACES} interfaces")
            )
        yield from (((*where, place), text) for place, text in problems)
        if problems:
            continue
        for hosts in _joined_hosts([known[name] for name in names]):
            twice = [host for host in sorted(hosts) if machine_of.setdefault(host, hosts) != hosts]
            if twice:
                text = f"host {twice[0]} would be an interface of two machines"
                yield where, f"{text}: {_words(machine_of[twice[0]])} and {_words(hosts)}"
                break


def _group_faults(
    names: Sequence[str], known: dict[str, Group], seen: set[str]
) -> Iterator[tuple[int, str]]:
    """Yield (place in the list, message); note the names as seen."""
    for place, name in enumerate(names):
        if name not in known:
            valid = list(known)
            text = f"there is no group {shown(name)}{suggest(name, valid)}"
            yield place, f"{text}; defined: {listed(valid)}"
        elif name in seen:
            yield place, f"group {shown(name)} is given twice"
        elif names[0] in known and len(known[name].sources) != len(known[names[0]].sources):
            pairs = [len(known[one].sources) for one in (names[0], name)]
            text = f"group {shown(name)} has {pairs[1]} pairs of hosts, and {shown(names[0])}"
            yield place, f"{text}, whose machines it shares, {pairs[0]}: give both as many"
        seen.add(name)


def _joined_hosts(groups: Sequence[Group]) -> Iterator[set[str]]:
    """Yield the interfaces of each machine of groups with equally many pairs."""
    for sources_or_sinks in ([g.sources for g in groups], [g.sinks for g in groups]):
        yield from map(set, zip(*sources_or_sinks, strict=True))


def _words(hosts: set[str]) -> str:
    return " with ".join(sorted(hosts))
