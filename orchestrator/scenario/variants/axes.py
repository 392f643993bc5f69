"""Reads the axes of a matrix: paths with lists of values, and names with named values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, field
from functools import cached_property

from orchestrator.errors import Fault
from orchestrator.repetitions import MAX_RUNS
from orchestrator.scenario.document import Entry, Mapping, Mark, Node, Scalar, Sequence, plain
from orchestrator.scenario.model import Scenario
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shown

FIXED = ("expect", "figures", "matrix", "repetitions", "version")
"""Keys of a scenario that are the same for all variants."""
LISTS = ("include", "exclude")
MAX_AXES = 100
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}", re.ASCII)
_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+%-]{0,39}", re.ASCII)


@dataclass(frozen=True)
class AxisValue:
    """A value of an axis: where it is written, and the value at each path that it sets.

    ``node`` is the value itself, or the name of a named value.
    """

    mark: Mark
    node: Node
    sets: dict[str, Entry] = field(compare=False)

    @cached_property
    def text(self) -> str:
        """The value as a text that is equal for equal values only."""
        return same(self.node)


@dataclass(frozen=True)
class Axis:
    """An axis, and its choices by their ``text``."""

    name: str
    named: bool
    choices: dict[str, AxisValue]


def same(node: Node) -> str:
    """Return a text that is equal for equal values only."""
    return json.dumps(plain(node), sort_keys=True, default=str)


def read_axes(matrix: Mapping) -> tuple[dict[str, Axis], list[Fault]]:
    """Return the axes by name, and the faults of their form. Faulty axes are left out."""
    axes: dict[str, Axis] = {}
    faults: list[Fault] = []
    for name, entry in matrix.entries.items():
        if name in LISTS:
            continue
        choices, more = (_named if isinstance(entry.node, Mapping) else _listed)(name, entry)
        faults += more
        if choices:
            axes[name] = Axis(name, isinstance(entry.node, Mapping), choices)
    if len(axes) > MAX_AXES:
        return {}, [*faults, matrix.mark.fault(f"{len(axes)} axes; {MAX_AXES} are allowed")]
    return axes, faults


def choice_of(axes: MappingABC[str, Axis], path: str, entry: Entry) -> AxisValue | Fault:
    """Return what an entry of ``include`` sets at a path, or by the name of a value."""
    axis = axes.get(path)
    if axis is None or not axis.named:
        return AxisValue(entry.key, entry.node, {path: entry})
    choice = axis.choices.get(same(entry.node))
    return choice if choice is not None else unknown(axis, entry)


def unknown(axis: Axis, entry: Entry) -> Fault:
    """Return the fault of a value that an axis of named values does not have."""
    names = [str(plain(choice.node)) for choice in axis.choices.values()]
    given = plain(entry.node)
    close = suggest(given, names) if isinstance(given, str) else ""
    return entry.node.mark.fault(
        f"{shown(axis.name)} has no value {shown(given)}{close}; valid: {listed(names)}"
    )


def path_faults(path: str, entry: Entry) -> Iterator[Fault]:
    """Yield the fault of a path that cannot vary."""
    if path.split(".")[0] in FIXED:
        yield entry.key.fault(
            f"{shown(path)} cannot vary: {', '.join(FIXED)} are the same for all variants"
        )


def _listed(path: str, entry: Entry) -> tuple[dict[str, AxisValue], list[Fault]]:
    """Return the choices of an axis with a list of values."""
    node = entry.node
    if not isinstance(node, Sequence):
        hint = f": write {shown(f'[{plain(node)}]')}" if plain(node) is not None else ""
        text = f"{shown(path)} must be a list, not {shown(plain(node))}{hint}"
        return {}, [node.mark.fault(text)]
    if not node.items:
        return {}, [node.mark.fault(f"{shown(path)} must have at least one value")]
    if len(node.items) > MAX_RUNS:
        text = f"{shown(path)} has {len(node.items)} values; {MAX_RUNS} are allowed"
        return {}, [node.mark.fault(text)]
    faults = list(path_faults(path, entry))
    choices: dict[str, AxisValue] = {}
    for item in node.items:
        choice = AxisValue(entry.key, item, {path: Entry(entry.key, item)})
        first = choices.setdefault(choice.text, choice)
        if first is not choice:
            mark = first.node.mark
            where = f"first at line {mark.line}, column {mark.column}"
            text = f"{shown(path)} has {shown(plain(item))} twice; {where}"
            faults.append(item.mark.fault(text))
    return choices, faults


def _named(name: str, entry: Entry) -> tuple[dict[str, AxisValue], list[Fault]]:
    """Return the choices of an axis with named values."""
    values = entry.node
    assert isinstance(values, Mapping), "checked by the caller"
    if not values.entries:
        return {}, [values.mark.fault(f"{shown(name)} must have at least one value")]
    if dotted := _as_path(name, values):
        text = f"{shown(name)} must be a list, not a mapping: write the path with dots, such as "
        return {}, [values.mark.fault(f"{text}{shown(dotted)}")]
    faults: list[Fault] = []
    if not _NAME.fullmatch(name):
        faults.append(
            entry.key.fault(
                f"{shown(name)} is no name of an axis with named values: use a letter, then "
                "letters, digits, `_` and `-`; a path has a list of values"
            )
        )
    choices: dict[str, AxisValue] = {}
    for value, value_entry in values.entries.items():
        if not _VALUE.fullmatch(value):
            text = "is no name of a value: use a letter or digit, then letters, digits and `_.+%-`"
            faults.append(value_entry.key.fault(f"{shown(value)} {text}"))
        elif not isinstance(value_entry.node, Mapping) or not value_entry.node.entries:
            text = "must be a mapping of paths to values, such as `duration: 5s`, not "
            written = shown(plain(value_entry.node))
            faults.append(
                value_entry.node.mark.fault(f"{shown(f'{name}.{value}')} {text}{written}")
            )
        else:
            for path, inner in value_entry.node.entries.items():
                faults += path_faults(path, inner)
            choice = AxisValue(
                value_entry.key, Scalar(value_entry.key, value), value_entry.node.entries
            )
            choices[choice.text] = choice
    return choices, faults


def _as_path(name: str, node: Mapping) -> str:
    """Return the path with dots that nested keys of a scenario may mean; empty for named values.

    Values of an axis that has the name of a key set paths, which begin with a key.
    """
    keys = Scenario.keys()
    inner = [
        path.split(".")[0]
        for item in node.entries.values()
        for path in (item.node.entries if isinstance(item.node, Mapping) else {"": item})
    ]
    if name not in keys or all(path in keys for path in inner):
        return ""
    parts, inner_node = [name], node
    while isinstance(inner_node, Mapping) and inner_node.entries:
        key, entry = next(iter(inner_node.entries.items()))
        parts.append(key)
        inner_node = entry.node  # type: ignore[assignment]
    return ".".join(parts)
