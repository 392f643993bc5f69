"""Names the nodes of a graph file, and makes links of its edges."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from orchestrator.kinds.fields import MAX_NAME
from orchestrator.kinds.files.graph_file import GraphEdge, GraphFile
from orchestrator.units import shown


@dataclass(frozen=True)
class EdgeLink:
    """A link between two nodes, by their ids, and the edge of each of its directions.

    The edges are the same one in an undirected graph.
    """

    name: str
    a: str
    b: str
    forward: GraphEdge
    reverse: GraphEdge


def node_names(graph: GraphFile, attribute: str | None) -> dict[str, str]:
    """Return the name of each node by its id, made of its id or of an attribute.

    Raises:
        ValueError: a node has no such attribute or none that can be a name, or two have the same.
    """
    names: dict[str, str] = {}
    first: dict[str, str] = {}
    for node in graph.nodes:
        text = node.id if attribute is None else node.attributes.get(attribute)
        if text is None:
            known = sorted({key for each in graph.nodes for key in each.attributes})
            raise ValueError(
                f"node {shown(node.id)} has no attribute {shown(attribute)}; attributes of nodes: "
                f"{', '.join(known[:20]) or 'none'}"
            )
        name = _name(str(text))
        if not name:
            raise ValueError(f"{shown(text)} of node {shown(node.id)} has no letter or digit")
        if len(name) > MAX_NAME:
            raise ValueError(
                f"the name {shown(name)} of node {shown(node.id)} is longer than {MAX_NAME} "
                "characters"
            )
        if name in first:
            raise ValueError(
                f"nodes {shown(first[name])} and {shown(node.id)} are both called {shown(name)}"
            )
        names[node.id] = name
        first[name] = node.id
    return names


def edge_links(graph: GraphFile, names: Mapping[str, str]) -> list[EdgeLink]:
    """Return the links of a graph, in the order of its edges.

    Raises:
        ValueError: an edge joins a node to itself, or an edge of a directed graph has none back.
    """
    loop = next((edge for edge in graph.edges if edge.a == edge.b), None)
    if loop is not None:
        raise ValueError(f"an edge joins node {shown(names[loop.a])} to itself")
    links: list[EdgeLink] = []
    seen: Counter[frozenset[str]] = Counter()
    for there, back in _paired(graph, names):
        ends = frozenset((there.a, there.b))
        seen[ends] += 1
        number = f"-{seen[ends]}" if seen[ends] > 1 else ""
        name = f"{names[there.a]}-{names[there.b]}{number}"
        links.append(EdgeLink(name, there.a, there.b, there, back))
    twice = [name for name, times in Counter(link.name for link in links).items() if times > 1]
    if twice:
        raise ValueError(
            f"two links would be called {shown(twice[0])}: name the nodes by another attribute"
        )
    return links


def require_connected(names: Mapping[str, str], links: Iterable[EdgeLink]) -> None:
    """Raise ValueError unless links join all nodes; it names two that no path joins.

    ``names`` has the name of each node by its id.
    """
    neighbours: dict[str, list[str]] = defaultdict(list)
    for link in links:
        neighbours[link.a].append(link.b)
        neighbours[link.b].append(link.a)
    first, *others = names
    reached, ahead = {first}, [first]
    while ahead:
        for node in neighbours[ahead.pop()]:
            if node not in reached:
                reached.add(node)
                ahead.append(node)
    apart = next((node for node in others if node not in reached), None)
    if apart is not None:
        raise ValueError(f"no path joins {shown(names[first])} and {shown(names[apart])}")


def _name(text: str) -> str:
    """Return a text as a name: letters without accents, digits, `_` and `-`."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_")
    return name if not name or name[0].isalpha() else f"n{name}"


def _paired(graph: GraphFile, names: Mapping[str, str]) -> Iterator[tuple[GraphEdge, GraphEdge]]:
    """Yield the edges of both directions of each link."""
    if not graph.directed:
        for edge in graph.edges:
            yield edge, edge
        return
    back: dict[tuple[str, str], list[GraphEdge]] = defaultdict(list)
    for edge in reversed(graph.edges):
        back[edge.a, edge.b].append(edge)
    taken: set[int] = set()
    for edge in graph.edges:
        if id(edge) in taken:
            continue
        back[edge.a, edge.b].pop()
        if not back[edge.b, edge.a]:
            raise ValueError(
                f"the graph is directed, and its edge from {shown(names[edge.a])} to "
                f"{shown(names[edge.b])} has none back: add it, or make the graph undirected"
            )
        other = back[edge.b, edge.a].pop()
        taken.add(id(other))
        yield edge, other
