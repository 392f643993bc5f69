"""Reads a graph from GraphML, GML or JSON (node-link form).

networkx reads the formats. A file may come from a stranger, so its size is limited first, and XML
with a DTD or entities is refused. networkx adds a node that only an edge names, and joins nodes
with the same id. Both are errors here.

GraphML: http://graphml.graphdrawing.org/specification.html. GML: M. Himsolt, "GML: A portable
Graph File Format", 1997. JSON: networkx.node_link_data, whose edges are at ``edges`` or ``links``.
"""

from __future__ import annotations

import functools
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NoReturn
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from orchestrator.files.user_files import named
from orchestrator.units import shortened, shown

if TYPE_CHECKING:
    from networkx import MultiGraph

MAX_BYTES = 8_000_000
MAX_NODES = 500
MAX_EDGES = 2000
_MOST_REASON = 200

Value = str | int | float | bool
Attributes = Mapping[str, Value]


@dataclass(frozen=True)
class GraphNode:
    """A node with its id in the file."""

    id: str
    attributes: Attributes


@dataclass(frozen=True)
class GraphEdge:
    """An edge between two nodes, by their ids; a directed one goes from ``a`` to ``b``."""

    a: str
    b: str
    attributes: Attributes


@dataclass(frozen=True)
class GraphFile:
    """A graph as its file has it; attributes that are no text, number or bool are left out."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    directed: bool


class _Refused(Exception):
    """A file is not a graph that can be used; the message says why."""


@functools.lru_cache(maxsize=8)
def read_graph(name: str, content: bytes) -> GraphFile:
    """Return the graph in a file with that content; the end of its name says the format.

    Raises:
        ValueError: it is not a graph of that format, has too many nodes or edges, two nodes with
            the same id, or an edge to a node that does not exist. The message names the file.
    """
    suffix = PurePosixPath(name).suffix.lower()
    reader = _READERS.get(suffix)
    if reader is None:
        raise ValueError(
            f"{named(name)} must end in .graphml, .gml or .json, which says its format"
        )
    try:
        return _checked(reader(content))
    except _Refused as error:
        raise ValueError(f"{named(name)}: {error}") from None


def _checked(graph: MultiGraph) -> GraphFile:
    nodes = tuple(GraphNode(str(node), _plain(data)) for node, data in graph.nodes(data=True))
    edges = tuple(GraphEdge(str(a), str(b), _plain(data)) for a, b, data in graph.edges(data=True))
    _require_unique(node.id for node in nodes)
    _require_size(len(nodes), len(edges))
    return GraphFile(nodes, edges, graph.is_directed())


def _plain(data: Mapping[Any, Any]) -> Attributes:
    return {str(key): value for key, value in data.items() if isinstance(value, Value)}


def _require_size(nodes: int, edges: int) -> None:
    for number, most, what in ((nodes, MAX_NODES, "nodes"), (edges, MAX_EDGES, "edges")):
        if number > most:
            raise _Refused(f"{number} {what}; at most {most} are allowed")
        if not number:
            raise _Refused(f"there are no {what}")


def _require_unique(ids: Iterable[str]) -> None:
    for node, number in Counter(ids).items():
        if number > 1:
            raise _Refused(f"{number} nodes have the id {shown(node)}")


def _require_all(graph: MultiGraph, ids: set[str], edges: int) -> None:
    """Raise _Refused unless a graph has the nodes with these ids and that many edges."""
    unknown = next((str(node) for node in graph.nodes if str(node) not in ids), None)
    if unknown is not None:
        raise _Refused(f"an edge ends at node {shown(unknown)}, which does not exist")
    if graph.number_of_edges() != edges:
        raise _Refused("two edges between the same nodes have the same id")


def _graphml(content: bytes) -> MultiGraph:
    from networkx import read_graphml

    try:
        tree = fromstring(content, forbid_dtd=True)
    except DefusedXmlException:
        raise _Refused("a DTD and entities are not allowed: take `<!DOCTYPE ...>` out") from None
    except ParseError as error:
        line, column = error.position
        raise _Refused(f"line {line}, column {column + 1}: not XML: {_reason(error)}") from None
    except (ValueError, LookupError) as error:  # an encoding that Python does not have
        raise _Refused(f"not XML: {_reason(error)}") from None
    kinds = Counter(str(element.tag).rpartition("}")[2] for element in tree.iter())
    if kinds["graph"] != 1:
        raise _Refused(f"must have one `<graph>`, not {kinds['graph']}")
    _require_size(kinds["node"], kinds["edge"])
    nodes = [element for element in tree.iter() if str(element.tag).rpartition("}")[2] == "node"]
    ids = [str(node.get("id")) for node in nodes]
    _require_unique(ids)
    graph = _by_library(
        lambda: read_graphml(io.BytesIO(content), node_type=str, force_multigraph=True)
    )
    _require_all(graph, set(ids), kinds["edge"])
    return graph


def _gml(content: bytes) -> MultiGraph:
    from networkx import parse_gml

    lines = _text(content).splitlines()
    return _by_library(lambda: parse_gml(lines, label="id"))


def _json(content: bytes) -> MultiGraph:
    from networkx import node_link_graph

    try:
        data = json.loads(
            _text(content), object_pairs_hook=_without_doubles, parse_constant=_no_number
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise _Refused(f"{place}: not JSON: {_reason(error.msg)}") from None
    except (ValueError, RecursionError) as error:
        raise _Refused(f"not JSON: {_reason(error)}") from None
    at = "links" if isinstance(data, dict) and "links" in data else "edges"
    nodes, edges = (_listed(data, key) for key in ("nodes", at))
    _require_size(len(nodes), len(edges))
    if any(not isinstance(node.get("id"), str | int) for node in nodes):
        raise _Refused("each node must have an `id`, a text or a whole number")
    for edge in edges:
        if not all(isinstance(edge.get(end), str | int) for end in ("source", "target")):
            raise _Refused(f"each of `{at}` must have a `source` and a `target`, ids of nodes")
    ids = [str(node["id"]) for node in nodes]
    _require_unique(ids)
    # Without keys, edges between the same nodes stay several, and equal keys join none.
    several = [{name: value for name, value in edge.items() if name != "key"} for edge in edges]
    whole = {**data, "multigraph": True, "graph": {}, at: several}
    graph = _by_library(lambda: node_link_graph(whole, edges=at))
    _require_all(graph, set(ids), len(edges))
    return graph


def _listed(data: object, key: str) -> list[dict[str, Any]]:
    items = data.get(key) if isinstance(data, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _Refused(
            "must be a graph in node-link form: an object with the lists `nodes` and `edges`"
        )
    return items


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key, number in Counter(key for key, _value in pairs).items():
        if number > 1:
            raise _Refused(f"the key {shown(key)} is given twice in one object")
    return dict(pairs)


def _no_number(text: str) -> NoReturn:
    raise _Refused(f"{text} is not a number of JSON")


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _Refused(f"byte {error.start} is not UTF-8") from None


def _by_library(read: Callable[[], MultiGraph]) -> MultiGraph:
    """Return what networkx reads; whatever it raises means that a file is not such a graph."""
    from networkx import NetworkXException

    try:
        return read()
    except (
        NetworkXException,
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise _Refused(_reason(error)) from None


def _reason(error: object) -> str:
    return shortened(str(error), _MOST_REASON) or type(error).__name__


_READERS: Mapping[str, Callable[[bytes], MultiGraph]] = {
    ".graphml": _graphml,
    ".xml": _graphml,
    ".gml": _gml,
    ".json": _json,
}
