"""Takes what looks like a number as the text that it is: the kernel 5.10 is not 5.1."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.kinds.kernel import KEY
from orchestrator.scenario.document import Entry, Mapping, Node, Scalar, Sequence
from orchestrator.units import TEXT_PATHS


def with_texts(tree: Mapping) -> Mapping:
    """Return a scenario in which names of kernels are texts, wherever they are written."""
    entries = dict(tree.entries)
    for key, entry in tree.entries.items():
        if key == KEY:
            entries[key] = Entry(entry.key, _kernel(entry.node))
        elif key == "matrix" and isinstance(entry.node, Mapping):
            entries[key] = Entry(entry.key, _matrix(entry.node))
        elif key == "reduced" and isinstance(entry.node, Mapping):
            node = _paths(entry.node)
            inner = node.entries.get("matrix")
            if inner is not None and isinstance(inner.node, Mapping):
                matrix = Entry(inner.key, _matrix(inner.node))
                node = replace(node, entries={**node.entries, "matrix": matrix})
            entries[key] = Entry(entry.key, node)
    return replace(tree, entries=entries)


def _matrix(matrix: Mapping) -> Mapping:
    """Return a matrix: paths with lists, names with named values, and lists of combinations."""
    entries = {}
    for name, entry in matrix.entries.items():
        node = entry.node
        if isinstance(node, Sequence):
            items = [
                _paths(item) if isinstance(item, Mapping) and name not in TEXT_PATHS
                else _value(name, item) for item in node.items
            ]  # fmt: skip
            node = replace(node, items=items)
        elif isinstance(node, Mapping):
            values = {
                value: Entry(held.key, _paths(held.node))
                if isinstance(held.node, Mapping)
                else held
                for value, held in node.entries.items()
            }
            node = replace(node, entries=values)
        entries[name] = Entry(entry.key, node)
    return replace(matrix, entries=entries)


def _paths(mapping: Mapping) -> Mapping:
    """Return a mapping of paths to values."""
    entries = {
        path: Entry(entry.key, _value(path, entry.node)) for path, entry in mapping.entries.items()
    }
    return replace(mapping, entries=entries)


def _value(path: str, node: Node) -> Node:
    if path == KEY:
        return _kernel(node)
    return _text(node) if path in TEXT_PATHS else node


def _kernel(node: Node) -> Node:
    if not isinstance(node, Mapping):
        return _text(node)
    entries = {
        key: Entry(entry.key, _text(entry.node)) if f"{KEY}.{key}" in TEXT_PATHS else entry
        for key, entry in node.entries.items()
    }
    return replace(node, entries=entries)


def _text(node: Node) -> Node:
    if isinstance(node, Scalar) and node.written is not None:
        return Scalar(node.mark, node.written)
    return node
