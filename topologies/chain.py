"""Builds networks of routers in a row, with groups of hosts at any two of the routers.

Most topologies are such a row::

    a_src0 ─access─┐            ┌─access─ b_src0            ┌─access─ a_dst0
                   r1 ──stage── r2 ──stage── r3 ──stage── r4
                                             └─access─ b_dst0

``forward`` is from the sources to the sinks on access links, and along the row on stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import Field

from orchestrator.kinds.fields import MAX_PAIRS, Path, Slug, Strict
from orchestrator.network import Group, Network
from orchestrator.protocol.units import NS_PER_S, nanoseconds
from orchestrator.units import format_time
from topologies.base import Layout
from topologies.links import Access, Bottleneck, Links, Spread, delays_s, drawn


class HostGroup(Strict):
    """Pairs of hosts with the same access links; source i talks to sink i."""

    name: Slug = Field(description="unique; the hosts are <name>_src<i> and <name>_dst<i>")
    hosts: int = Field(default=1, ge=1, le=MAX_PAIRS, description="pairs of a source and a sink")
    access: Access | None = Field(
        default=None,
        description="the link of each host; the topology's `access` when not given. A group with "
        "an `rtt` needs none: its hosts' links then have no rate",
    )
    source_access: Access | None = Field(
        default=None, description="the sources' links, where they differ from `access`"
    )
    sink_access: Access | None = Field(
        default=None, description="the sinks' links, where they differ from `access`"
    )
    rtt: Spread | None = Field(
        default=None,
        description="sum of the delays there and back in place of the access links' delays, which "
        "share evenly what the other links leave of it. Evenly spaced over the hosts: "
        "{from: 66ms, to: 250ms} or {above: 20ms, to: 250ms}. Drawn: {from: 66ms, to: 250ms, "
        "drawn: true}",
    )


@dataclass(frozen=True)
class RouterLink:
    """A link between two adjacent routers; ``where`` is the path to it in the topology."""

    name: str
    spec: Bottleneck
    where: Path


@dataclass(frozen=True)
class PlacedGroup:
    """A group, and the routers (from 0) at which each block of its ``hosts`` enters and leaves."""

    group: HostGroup
    spans: tuple[tuple[int, int], ...]


Problem = tuple[Path, str]

_WITHOUT_ACCESS = (
    "give it here, or in the topology for all groups; or give an `rtt`, such as `rtt: 50ms`, which "
    "needs no access links"
)


@dataclass(frozen=True)
class Chain:
    """A row of routers, joined by stages, and the groups along it.

    ``access`` is the default access link of the groups. The bottlenecks are the stages.
    """

    routers: Sequence[str]
    stages: Sequence[RouterLink]
    members: Sequence[PlacedGroup]
    access: Access | None = None

    def problems(self) -> Iterator[Problem]:
        """Yield (path in the topology, message) of faults that involve several values."""
        if sum(member.group.hosts * len(member.spans) for member in self.members) > MAX_PAIRS:
            yield ("groups",), f"more than {MAX_PAIRS} pairs of hosts, the most that was run"
            return
        for number, member in enumerate(self.members):
            for path, message in self._group_problems(member):
                yield ("groups", number, *path), message

    def layout(self, seed: int) -> Layout:
        """Return the network; the stages come first, then each group's access links.

        The draw for a pair's RTT is the first number of Python's
        ``random.Random("<seed>:rtt:<group>:<pair>")``. The draw for a link's delay is the first
        number of ``random.Random("<seed>:delay:<group>:<host>")``, where the sources come before
        the sinks. All numbers count from 0. A draw does not depend on other draws or on names.
        """
        links = Links(seed)
        for left, stage in enumerate(self.stages):
            where = ("topology", *stage.where)
            links.add_bottleneck(
                stage.name, self.routers[left], self.routers[left + 1], stage.spec, where
            )
        groups = [self._attach(links, number, seed) for number in range(len(self.members))]
        hosts = tuple(host for group in groups for host in (*group.sources, *group.sinks))
        bottlenecks = tuple(stage.name for stage in self.stages)
        routers = tuple(self.routers)
        network = Network(hosts, routers, tuple(links.links), tuple(groups), bottlenecks)
        draws = any(self._draws(member.group) for member in self.members)
        return Layout(network, links.queues, links.scenario_paths, draws or links.drawn)

    def _draws(self, group: HostGroup) -> bool:
        spreads = [group.rtt]
        for key in ("source_access", "sink_access"):
            access = self._side(group, key)[1]
            if access is not None and access.delay is not None:
                spreads += [access.delay.forward, access.delay.reverse]
        return any(spread is not None and spread.drawn for spread in spreads)

    def _side(self, group: HostGroup, key: str) -> tuple[Path, Access | None]:
        """Return one side's access link and its path in the group, () when it is the default.

        An ``rtt`` alone is enough: the link then has no rate, and its delay follows from it.
        """
        for name in (key, "access"):
            own = getattr(group, name)
            if own is not None:
                return (name,), own
        if self.access is None and group.rtt is not None:
            return ("rtt",), Access()
        return (), self.access

    def _group_problems(self, member: PlacedGroup) -> Iterator[Problem]:
        group = member.group
        for key in ("source_access", "sink_access"):
            path, access = self._side(group, key)
            if access is None:
                yield (), f"`access` is missing: {_WITHOUT_ACCESS}"
                return
            if group.rtt is not None and access.delay is not None:
                yield ("rtt",), "give an `rtt` or the access link's `delay`, not both"
                return
            if group.rtt is None and access.delay is None:
                yield path, "`delay` is missing: give it, or give the group an `rtt`"
                return
        if group.rtt is not None:
            if any(stage.spec.delay.follows_trace for stage in self.stages):
                text = "an RTT is not possible over a delay that follows a trace: give delays"
                yield ("rtt",), text
                return
            most_ns = max(self._core_ns(*span) for span in member.spans)
            least_ns = group.rtt.at_ns(0, group.hosts, 0.0)
            if least_ns < most_ns:
                yield (
                    ("rtt",),
                    f"an RTT of {format_time(least_ns / NS_PER_S)} is less than the "
                    f"{format_time(most_ns / NS_PER_S)} that the links between the routers take",
                )

    def _core_ns(self, enter: int, leave: int) -> int:
        """Return the round-trip time between two routers, in ns."""
        crossed = self.stages[min(enter, leave) : max(enter, leave)]
        return sum(nanoseconds(d) for s in crossed for d in s.spec.delay.constant_s)

    def _attach(self, links: Links, number: int, seed: int) -> Group:
        """Add the access links of one group: those of the sources, then those of the sinks."""
        member = self.members[number]
        group = member.group
        ends = [(span, i) for span in member.spans for i in range(group.hosts)]
        names: dict[str, tuple[str, ...]] = {}
        for side, (key, suffix) in enumerate((("source_access", "src"), ("sink_access", "dst"))):
            path, access = self._side(group, key)
            assert access is not None, "checked by problems()"
            place: Path = ("topology", *(("groups", number, *path) if path else ("access",)))
            hosts = tuple(f"{group.name}_{suffix}{i}" for i in range(len(ends)))
            for pair, (host, ((enter, leave), i)) in enumerate(zip(hosts, ends, strict=True)):
                if group.rtt is not None:
                    draw = drawn(seed, "rtt", number, pair)
                    rest_ns = group.rtt.at_ns(i, group.hosts, draw) - self._core_ns(enter, leave)
                    delays = _share(rest_ns, side)
                else:
                    assert access.delay is not None, "checked by problems()"
                    draw = drawn(seed, "delay", number, side * len(ends) + pair)
                    delays = delays_s(access.delay, i, group.hosts, draw)
                if side == 0:
                    links.add(host, host, self.routers[enter], access, place, delays)
                else:
                    links.add(host, self.routers[leave], host, access, place, delays)
            names[suffix] = hosts
        return Group(group.name, names["src"], names["dst"])


def _share(rest_ns: int, side: int) -> tuple[float, float]:
    """Return forward and reverse delay of a source's link (side 0) or a sink's, in seconds."""
    share, left = divmod(rest_ns, 4)
    a, b = ((share + (place < left)) / NS_PER_S for place in (2 * side, 2 * side + 1))
    return a, b
