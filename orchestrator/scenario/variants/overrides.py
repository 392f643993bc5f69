"""Sets a value at a dotted path, for ``--set PATH=VALUE`` and the matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator.errors import Fault, ScenarioError
from orchestrator.scenario.document import Entry, Mapping, Mark, Node, Scalar, Sequence, parse
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shortened, shown

_SHORT = {"congestion": "name", "kernel": "source"}
"""The key of a mapping that a single text at this key is short for."""

_MOST_SHOWN = 300
"""Faults of an override begin with up to this many of its characters."""

MOST_PATHS = 1000
"""The most paths that a combination of a matrix or a reduced form may set: each copies what holds
the value, so the time grows with their square."""


Names = tuple[str, ...]
"""A path in parts; an item of a list has its name or else its index."""


class PathError(ScenarioError):
    """A path leads nowhere."""


@dataclass(frozen=True)
class PathPart:
    """One part of a dotted path and its position."""

    text: str
    mark: Mark


def split_path(path: str, mark: Mark, *, spread: bool = True) -> list[PathPart]:
    """Return the parts of a dotted path that starts at ``mark``.

    With ``spread`` each part has its own column, otherwise all have that of ``mark``.

    Raises:
        ScenarioError: the path has an empty part.
    """
    parts: list[PathPart] = []
    column = mark.column
    for text in path.split("."):
        where = replace(mark, column=column) if spread else mark
        if not text:
            raise ScenarioError(
                [where.fault(f"{shown(path)} is not a valid path: it has an empty part")]
            )
        parts.append(PathPart(text, where))
        column += len(text) + 1
    return parts


def file_of(override: str) -> str:
    """Return what faults of an override have in place of a file."""
    return shortened(f"--set {override}", _MOST_SHOWN)


def read(override: str) -> tuple[str, Node, list[Fault]]:
    """Return path and value of the override ``PATH=VALUE``, and the faults of the value's text.

    Raises:
        ScenarioError: the text has no path or no value.
    """
    file = file_of(override)
    path, equals, text = override.partition("=")
    if not equals or not path:
        raise ScenarioError([Fault(file, 1, 1, "write PATH=VALUE, such as `duration=30s`")])
    if path.split(".")[0] == "reduced":
        raise ScenarioError(
            [Fault(file, 1, 1, "`reduced` cannot be overridden: override the path itself")]
        )
    value, faults = parse(text, file, column=len(path) + 2)
    if value is None:
        nothing = Fault(file, 1, len(path) + 2, f"a value for {shown(path)} is missing")
        raise ScenarioError(faults or [nothing])
    return path, value, faults


def canonical(root: Node, path: str) -> Names:
    """Return a path in parts, in which an item of a list has its index, however it is named."""
    parts: list[str] = []
    node: Node | None = root
    for part in path.split("."):
        if isinstance(node, Sequence):
            names = [name_of(item) for item in node.items]
            index = names.index(part) if part in names else int(part) if part.isdecimal() else -1
            node = node.items[index] if 0 <= index < len(names) else None
            parts.append(part if index < 0 else str(index))
        else:
            entry = node.entries.get(part) if isinstance(node, Mapping) else None
            node = None if entry is None else entry.node
            parts.append(part)
    return tuple(parts)


def put(root: Node, parts: list[PathPart], value: Node) -> Node:
    """Return a tree with the value at a path; it shares everything else with ``root``.

    Missing keys are created; the validation refuses those that are not valid.

    Raises:
        PathError: a list has no such item, or the path leads through a single value.
    """
    return _put(root, parts, 0, value)


def _put(node: Node, parts: list[PathPart], depth: int, value: Node) -> Node:
    if depth == len(parts):
        return value
    part = parts[depth]
    if isinstance(node, Scalar) and node.value is None:
        node = Mapping(part.mark)
    elif isinstance(node, Scalar) and depth and parts[depth - 1].text in _SHORT:
        node = Mapping(node.mark, {_SHORT[parts[depth - 1].text]: Entry(node.mark, node)})
    match node:
        case Mapping(entries=entries):
            if depth == 1 and parts[0].text == "matrix":
                parts = [parts[0], *_in_matrix(entries, parts[1:])]
                part = parts[1]
            old = entries.get(part.text, Entry(part.mark, Mapping(part.mark)))
            new = Entry(old.key, _put(old.node, parts, depth + 1, value))
            return replace(node, entries={**entries, part.text: new})
        case Sequence(items=items):
            index = _index(items, parts, depth)
            new_item = _put(items[index], parts, depth + 1, value)
            return replace(node, items=[*items[:index], new_item, *items[index + 1 :]])
        case Scalar():
            before = ".".join(outer.text for outer in parts[:depth])
            raise PathError(
                [
                    part.mark.fault(
                        f"{shown(before)} is the single value {shown(node.value)} and has no "
                        f"{shown(part.text)}: set all of {shown(before)}"
                    )
                ]
            )


def _in_matrix(entries: dict[str, Entry], parts: list[PathPart]) -> list[PathPart]:
    """Return the keys below ``matrix``: a path is one key, and names of values are, too."""

    def joined(some: list[PathPart]) -> list[PathPart]:
        return [PathPart(".".join(part.text for part in some), some[0].mark)] if some else []

    axis = entries.get(parts[0].text)
    if axis is None or not isinstance(axis.node, Mapping):
        return joined(parts)
    for length in range(2, len(parts) + 1):  # a value's name may have dots
        (value,) = joined(parts[1:length])
        if value.text in axis.node.entries:
            return [parts[0], value, *joined(parts[length:])]
    return [*parts[:2], *joined(parts[2:])]


def _index(items: list[Node], parts: list[PathPart], depth: int) -> int:
    """Return the index of the item that a part names, by ``name`` or else by index."""
    part = parts[depth]
    names = [name_of(item) for item in items]
    if part.text in names:
        return names.index(part.text)
    if part.text in map(str, range(len(items))):
        return int(part.text)
    valid = [name for name in names if name]
    names_there = f"; valid: {listed(valid)}" if valid else ""
    indices = f" or an index from 0 to {len(items) - 1}" if items else ""
    before = ".".join(outer.text for outer in parts[:depth])
    raise PathError(
        [
            part.mark.fault(
                f"{shown(before)} has no item {shown(part.text)}{suggest(part.text, valid)}"
                f"{names_there}{indices}"
            )
        ]
    )


def name_of(item: Node) -> str | None:
    """Return the ``name`` of an item of a list, None when it has none."""
    name = item.entries.get("name") if isinstance(item, Mapping) else None
    value = name.node.value if name and isinstance(name.node, Scalar) else None
    return value if isinstance(value, str) else None
