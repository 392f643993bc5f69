"""Multipath: machines with an interface at each of several paths, which share no link.

::

    wifi_src0 ─access─ wifi_1 ═══wifi═══ wifi_2 ─access─ wifi_dst0
    lte_src0  ─access─ lte_1  ═══lte════ lte_2  ─access─ lte_dst0

``wifi_src0`` and ``lte_src0`` are interfaces of one machine, and so are ``wifi_dst0`` and
``lte_dst0``. Each path is a group of that name. ``forward`` is from the sources to the sinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, model_validator

from orchestrator.kinds.fields import MAX_PAIRS, Path, Slug, located
from orchestrator.network import Group, Network
from orchestrator.units import shown
from topologies.base import Layout, Topology
from topologies.links import Access, Bottleneck, Links, delays_s, drawn
from topologies.machines import MOST_INTERFACES


class NamedPath(Bottleneck):
    """A path: its bottleneck, and the link of each interface."""

    name: Slug = Field(description="unique; the group and the bottleneck have this name")
    access: Access | None = Field(
        default=None, description="the link of each interface; without rate and delay by default"
    )


class Multipath(Topology):
    """Machines that are joined by several paths without a common link."""

    kind: Literal["multipath"] = Field(description="several paths between the same machines")
    paths: list[NamedPath] = Field(
        min_length=2,
        max_length=MOST_INTERFACES,
        description="the paths; each is a group of hosts, by its name",
    )
    hosts: int = Field(default=1, ge=1, le=MAX_PAIRS, description="pairs of machines")

    @classmethod
    def group_names(cls, data: dict[str, Any]) -> list[object]:
        """Return the names of the paths in parameters that are not validated yet."""
        return super().group_names({"groups": data.get("paths")})

    @property
    def joined_groups(self) -> Sequence[Sequence[str]]:
        """All paths."""
        return [[path.name for path in self.paths]]

    @model_validator(mode="after")
    def _sound(self) -> Multipath:
        names = [path.name for path in self.paths]
        problems: list[tuple[Path, str]] = [
            (("paths", number, "name"), f"path {shown(name)} is given twice")
            for number, name in enumerate(names)
            if name in names[:number]
        ]
        if len(self.paths) * self.hosts > MAX_PAIRS:
            text = f"more than {MAX_PAIRS} pairs of interfaces, the most that was run"
            problems.append((("hosts",), text))
        made = {
            f"{name}{ending}": name for name in names for ending in ("_1", "_2", "_src0", "_dst0")
        }
        problems += [
            (("paths", number, "name"), f"{shown(name)} is a node of the path {shown(made[name])}")
            for number, name in enumerate(names)
            if name in made
        ]
        if problems:
            raise located(problems)
        return self

    def layout(self, seed: int) -> Layout:
        """Return the network: the bottleneck of each path, then the links of its interfaces."""
        links = Links(seed)
        groups: list[Group] = []
        switches: list[str] = []
        for number, path in enumerate(self.paths):
            first, last = ends = (f"{path.name}_1", f"{path.name}_2")
            links.add_bottleneck(path.name, *ends, path, ("topology", "paths", number))
            switches += ends
            access, where = path.access or Access(), ("topology", "paths", number, "access")
            names: list[tuple[str, ...]] = []
            for side, suffix in enumerate(("src", "dst")):
                names.append(tuple(f"{path.name}_{suffix}{i}" for i in range(self.hosts)))
                for i, host in enumerate(names[side]):
                    delay = (0.0, 0.0)
                    if access.delay is not None:
                        draw = drawn(seed, "delay", number, side * self.hosts + i)
                        delay = delays_s(access.delay, i, self.hosts, draw)
                    nodes = (last, host) if side else (host, first)
                    links.add(host, *nodes, access, where, delay)
            groups.append(Group(path.name, *names))
        # A path without flows has the limit in BDP of another one.
        queues = {name: replace(queue, of_any_flow=True) for name, queue in links.queues.items()}
        hosts = tuple(host for group in groups for host in (*group.sources, *group.sinks))
        bottlenecks = tuple(path.name for path in self.paths)
        network = Network(hosts, tuple(switches), tuple(links.links), tuple(groups), bottlenecks)
        spreads = [
            spread
            for path in self.paths
            if path.access is not None and path.access.delay is not None
            for spread in (path.access.delay.forward, path.access.delay.reverse)
        ]
        draws = links.drawn or any(spread.drawn for spread in spreads)
        return Layout(network, queues, links.scenario_paths, draws)
