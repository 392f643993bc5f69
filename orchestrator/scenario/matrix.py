"""Expands the matrix: axes of values at paths, ``exclude`` and ``include`` as in GitHub Actions.

1. Every combination of the axes' values is a variant.
2. ``exclude`` removes each combination that has all values of one of its entries.
3. ``include`` adds each of its entries to every combination with equal values on the axes. An entry
   may replace what an earlier entry added, but no value of an axis. An entry that matches no
   combination becomes a combination of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from orchestrator.errors import Fault, ScenarioError
from orchestrator.scenario.document import Entry, Mapping, Node, Scalar, Sequence, find, plain
from orchestrator.scenario.overrides import PathError, put, split_path
from orchestrator.scenario.paths import Meant
from orchestrator.scenario.repetitions import MAX_RUNS
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shown

_FIXED = ("expect", "figures", "matrix", "repetitions", "version")

Values = dict[str, Entry]
"""Values by path; the entry's key is the position of the path."""


@dataclass(frozen=True)
class Variant:
    """One combination: its values by path, and the tree with them in place."""

    values: dict[str, object]
    tree: Node


def expand(tree: Node, meant: Meant) -> tuple[list[Variant], list[Fault]]:
    """Return the variants (without a matrix, the tree itself) and the faults found.

    With faults, the variants use the valid rest of the matrix, so that it can be checked too.
    ``meant`` suggests paths, and is told those of the matrix.
    """
    matrix = find(tree, ("matrix",))
    if not isinstance(matrix, Mapping) or not matrix.entries:
        return [Variant({}, tree)], []  # the validation reports another type
    faults = list(_shape_faults(matrix))
    combinations, more = _combinations(matrix, faults)
    faults += more
    variants: list[Variant] = []
    base = _without_matrix(tree)
    for combination in combinations:
        variant = base
        for path, entry in combination.items():
            meant.ask(path, entry.key)
            try:
                variant = put(variant, split_path(path, entry.key, spread=False), entry.node)
            except PathError as error:
                faults += meant.explained(error, path)
            except ScenarioError as error:
                faults += error.faults
        values = {path: plain(entry.node) for path, entry in combination.items()}
        variants.append(Variant(values, variant))
    return variants, faults


def _without_matrix(tree: Node) -> Node:
    """Return the tree without what is validated once and not for each variant."""
    if not isinstance(tree, Mapping):
        return tree
    return replace(
        tree,
        entries={k: v for k, v in tree.entries.items() if k not in ("expect", "matrix", "figures")},
    )


def _shape_faults(matrix: Mapping) -> Iterator[Fault]:
    """Yield the faults in the shape of the matrix."""
    for path, entry in matrix.entries.items():
        if not isinstance(entry.node, Sequence):
            yield entry.node.mark.fault(
                f"{shown(path)} must be a list, not {shown(plain(entry.node))}"
                f"{_as_list(path, entry.node)}"
            )
        elif not entry.node.items:
            yield entry.node.mark.fault(f"{shown(path)} must have at least one value")
        elif path not in ("include", "exclude"):
            yield from _path_faults(path, entry)
            yield from _doubled(path, entry.node.items)
        else:
            for item in entry.node.items:
                if not isinstance(item, Mapping) or not item.entries:
                    yield item.mark.fault(
                        f"must be a mapping of paths to values, not {shown(plain(item))}"
                    )
                    continue
                for inner, inner_entry in item.entries.items():
                    yield from _path_faults(inner, inner_entry)


def _as_list(path: str, node: Node) -> str:
    """Return the hint for an axis whose values are no list: how to write it."""
    if isinstance(node, Scalar):
        return "" if node.value is None else f": write {shown(f'[{node.value}]')}"
    inner: list[str] = [path]
    while isinstance(node, Mapping) and node.entries:
        key, entry = next(iter(node.entries.items()))
        inner.append(key)
        node = entry.node
    return f": write the path with dots, such as {shown('.'.join(inner))}"


def _doubled(path: str, items: list[Node]) -> Iterator[Fault]:
    """Yield a fault for each value that an axis repeats."""
    for number, item in enumerate(items):
        first = next((each for each in items[:number] if _same(item, each)), None)
        if first is not None:
            where = f"first at line {first.mark.line}, column {first.mark.column}"
            yield item.mark.fault(f"{shown(path)} has {shown(plain(item))} twice; {where}")


def _path_faults(path: str, entry: Entry) -> Iterator[Fault]:
    if path.split(".")[0] in _FIXED:
        yield entry.key.fault(
            f"{shown(path)} cannot vary: {', '.join(_FIXED)} are the same for all variants"
        )


def _combinations(matrix: Mapping, known: list[Fault]) -> tuple[list[Values], list[Fault]]:
    axes = {
        path: [Entry(entry.key, item) for item in _list(entry.node)]
        for path, entry in matrix.entries.items()
        if path not in ("include", "exclude") and _list(entry.node)
    }
    number = math.prod(len(entries) for entries in axes.values())
    if number > MAX_RUNS:
        return [], [matrix.mark.fault(f"{number} combinations; {MAX_RUNS} are allowed")]
    products = itertools.product(*axes.values()) if axes else ()
    found = [dict(zip(axes, each, strict=True)) for each in products]
    faults: list[Fault] = []
    for item in _list_at(matrix, "exclude"):
        found, more = _exclude(found, item, axes)
        faults += more
    original = [dict(each) for each in found]
    for item in _list_at(matrix, "include"):
        _include(found, original, item)
    if not found and not faults and not known:
        faults.append(matrix.mark.fault("every combination is excluded"))
    return found, faults


def _list(node: Node) -> list[Node]:
    return node.items if isinstance(node, Sequence) else []


def _list_at(matrix: Mapping, key: str) -> list[Mapping]:
    items = _list(matrix.entries[key].node) if key in matrix.entries else []
    return [item for item in items if isinstance(item, Mapping)]


def _same(one: Node, other: Node) -> bool:
    left, right = plain(one), plain(other)
    return type(left) is type(right) and left == right


def _exclude(
    found: list[Values], item: Mapping, axes: dict[str, list[Entry]]
) -> tuple[list[Values], list[Fault]]:
    unknown = [path for path in item.entries if path not in axes]
    if unknown:
        return found, [
            item.entries[path].key.fault(
                f"{shown(path)} is not a path of the matrix{suggest(path, axes)}; "
                f"valid: {listed(axes) or 'none'}"
            )
            for path in unknown
        ]
    kept = [
        each
        for each in found
        if not all(_same(each[path].node, entry.node) for path, entry in item.entries.items())
    ]
    if len(kept) == len(found):
        return found, [item.mark.fault("excludes no combination")]
    return kept, []


def _include(found: list[Values], original: list[Values], item: Mapping) -> None:
    extended = False
    for values, axes in zip(found, original, strict=False):
        if all(
            _same(axes[path].node, entry.node)
            for path, entry in item.entries.items()
            if path in axes
        ):
            values.update(item.entries)
            extended = True
    if not extended:
        found.append(dict(item.entries))
