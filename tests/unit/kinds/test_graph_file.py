"""Graph files: three formats, and everything that is not a usable graph."""

from __future__ import annotations

import json
import re
from pathlib import Path

import networkx
import pytest

from orchestrator.kinds.files import graph_file
from orchestrator.kinds.files.graph_file import GraphFile, read_graph

HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


def graphml(inner: str, edges: str = "undirected", head: str = "") -> bytes:
    return f'{head}{HEAD}<graph edgedefault="{edges}">{inner}</graph></graphml>'.encode()


def node_link(**changed: object) -> bytes:
    whole = {"nodes": [{"id": 1}, {"id": 2}], "edges": [{"source": 1, "target": 2}], **changed}
    return json.dumps(whole).encode()


def ends(graph: GraphFile) -> list[tuple[str, str]]:
    return [(edge.a, edge.b) for edge in graph.edges]


def test_all_formats_give_the_same_graph(tmp_path: Path) -> None:
    made = networkx.MultiGraph()
    made.add_node(0, city="Zürich", Latitude=47.37)
    made.add_node(1, city="Bern")
    made.add_edge(0, 1, speed=10.5)
    made.add_edge(0, 1, speed=20)
    networkx.write_graphml(made, tmp_path / "x.graphml")
    networkx.write_gml(made, tmp_path / "x.gml")
    for at in ("edges", "links"):
        data = networkx.node_link_data(made, edges=at)
        (tmp_path / f"{at}.json").write_text(json.dumps(data))
    for name in ("x.graphml", "x.gml", "edges.json", "links.json"):
        graph = read_graph(name, (tmp_path / name).read_bytes())
        assert [node.id for node in graph.nodes] == ["0", "1"], name
        assert graph.nodes[0].attributes["city"] == "Zürich"
        assert graph.nodes[0].attributes["Latitude"] == 47.37
        assert ends(graph) == [("0", "1"), ("0", "1")]
        assert [edge.attributes["speed"] for edge in graph.edges] == [10.5, 20]
        assert not graph.directed


def test_equal_edges_of_a_simple_graph_stay_two() -> None:
    twice = [{"source": 1, "target": 2}] * 2
    assert len(read_graph("x.json", node_link(edges=twice, multigraph=False)).edges) == 2


BOMB = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">
<!ENTITY lol1 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]>"""
OUTSIDE = '<!DOCTYPE graphml [<!ENTITY passwd SYSTEM "file:///etc/passwd">]>'
NODES = '<node id="a"/><node id="b"/>'
DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.graphml", graphml('<node id="&lol1;"/>', head=BOMB), "a DTD and entities"),
        ("x.graphml", graphml("<node id='a'>&passwd;</node>", head=OUTSIDE), "a DTD and entities"),
        ("x.graphml", graphml("", head="<!DOCTYPE graphml>"), "a DTD and entities"),
        ("x.graphml", b"<graphml>\n  <graph>", "line 2, column 10: not XML: "),
        ("x.graphml", b'<?xml version="1.0" encoding="none"?><a/>', "not XML: "),
        ("x.graphml", b"<graphml/>", "must have one `<graph>`, not 0"),
        ("x.graphml", graphml("<node id='a'><graph/></node>"), "must have one `<graph>`, not 2"),
        ("x.graphml", graphml(NODES), "there are no edges"),
        ("x.graphml", graphml(NODES + '<edge source="a" target="c"/>'), "`c`, which does not"),
        (
            "x.graphml",
            graphml('<node id="a"/><node id="a"/><edge source="a" target="a"/>'),
            "2 nodes have the id `a`",
        ),
        (
            "x.graphml",
            graphml(NODES + '<edge id="1" source="a" target="b"/>' * 2),
            "two edges between the same nodes have the same id",
        ),
        ("x.gml", b"graph [ node [ id 1 ] node [ id 1 ] ]", "duplicated"),
        ("x.gml", b"graph [ node [ id 1 ] edge [ source 1 target 2 ] ]", "undefined target 2"),
        ("x.gml", b"graph [ " * 5000, ""),
        ("x.gml", b"\xff", "byte 0 is not UTF-8"),
        ("x.json", b'{"nodes":', "line 1, column 10: not JSON"),
        ("x.json", DEEP, "not JSON: "),
        ("x.json", b"[]", "must be a graph in node-link form"),
        ("x.json", node_link(nodes=[{"id": 1}, {"id": "1"}]), "2 nodes have the id `1`"),
        ("x.json", node_link(nodes=[{"name": 1}]), "each node must have an `id`"),
        ("x.json", node_link(nodes=[{"id": 1}, {"id": 3}]), "node `2`, which does not exist"),
        ("x.json", node_link(edges=[{"source": 1}]), "a `source` and a `target`"),
        ("x.json", b'{"nodes": [], "nodes": []}', "`nodes` is given twice"),
        ("x.json", b'{"nodes": [{"id": NaN}], "edges": []}', "NaN is not a number"),
        ("x.txt", b"", "must end in .graphml, .gml or .json"),
    ],
)
def test_what_is_no_graph_is_refused_by_name(name: str, content: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=f"^`{re.escape(name)}`.*{re.escape(words)}"):
        read_graph(name, content)


def test_there_are_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_file, "MAX_NODES", 2)
    with pytest.raises(ValueError, match="3 nodes; at most 2 are allowed"):
        read_graph("x.json", node_link(nodes=[{"id": n} for n in (1, 2, 3)]))
    monkeypatch.setattr(graph_file, "MAX_EDGES", 0)
    with pytest.raises(ValueError, match="1 edges; at most 0 are allowed"):
        read_graph("y.json", node_link())
