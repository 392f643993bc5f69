"""Expands the matrix: axes, ``exclude`` and ``include``.

An axis is a path with a list of values, or a name with named values, each of which sets several
paths. The value of such an axis is its name.

1. Every combination of the axes' values is a variant.
2. ``exclude`` removes each combination that has all values of one of its entries.
3. ``include`` adds each of its entries to every combination with equal values on the axes. An entry
   that matches no combination becomes a combination of its own. An entry may replace in some
   combinations what an earlier one added, as in GitHub Actions, but not in all of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from collections.abc import Mapping as MappingABC
from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass, field, replace

from orchestrator.errors import Fault, ScenarioError
from orchestrator.repetitions import MAX_RUNS
from orchestrator.scenario.document import Mapping, Mark, Node, Sequence, find, plain
from orchestrator.scenario.paths import PathSuggestions
from orchestrator.scenario.variants.axes import (
    Axis,
    AxisValue,
    choice_of,
    path_faults,
    read_axes,
    same,
    unknown,
)
from orchestrator.scenario.variants.overrides import (
    MOST_PATHS,
    Names,
    PathError,
    canonical,
    put,
    split_path,
)
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shown

MAX_VALUES = 10_000_000
"""The most values of the scenario, times its combinations."""
_MOST_DIGITS = 12


@dataclass(frozen=True)
class VariantCounts:
    """How the variants of a matrix came about: combinations, less excluded, and added ones."""

    combinations: int
    excluded: int
    included: int

    def __str__(self) -> str:
        return (
            f"{self.combinations} combinations, {self.excluded} excluded, {self.included} included"
        )


Combination = dict[str, AxisValue]
"""What a variant has, by axis or path."""


@dataclass(frozen=True)
class Variant:
    """One combination: its values by axis, what named values set, and the tree with them in place.

    ``sets`` has, for each axis of named values, the values by path.
    """

    values: dict[str, object]
    tree: Node
    sets: dict[str, dict[str, object]] = field(default_factory=dict)
    marks: dict[str, Mark] = field(default_factory=dict)
    """Where the value of each axis is written."""


def expand(
    tree: Node, meant: PathSuggestions
) -> tuple[list[Variant], VariantCounts | None, list[Fault]]:
    """Return the variants (without a matrix, the tree itself), their counts, and the faults found.

    With faults, the variants use the valid rest of the matrix, so that it can be checked too.
    ``meant`` suggests paths, and is told those of the matrix.
    """
    matrix = find(tree, ("matrix",))
    if not isinstance(matrix, Mapping) or not matrix.entries:
        return [Variant({}, tree)], None, []  # the validation reports another type
    axes, faults = read_axes(matrix)
    entries = {key: _entries(matrix, key) for key in ("exclude", "include")}
    faults += [fault for _items, form_faults in entries.values() for fault in form_faults]
    base = _without_matrix(tree)
    combinations, more = _combinations(matrix, axes, _size(base))
    whole = len(combinations)
    combinations, excluding_faults = _exclude(combinations, axes, entries["exclude"][0])
    more += excluding_faults
    kept = len(combinations)
    more += _include(combinations, axes, entries["include"][0])
    if not combinations and not faults and not more:
        more.append(matrix.mark.fault("every combination is excluded"))
    faults += [*more, *_equal(combinations)]
    most = max(
        (sum(len(choice.sets) for choice in picked.values()) for picked in combinations), default=0
    )
    if most > MOST_PATHS:
        text = f"a combination sets {most} paths; {MOST_PATHS} are allowed"
        return [], None, [*faults, matrix.mark.fault(text)]
    variants = [_variant(base, combination, axes, meant, faults) for combination in combinations]
    return variants, VariantCounts(whole, whole - kept, len(combinations) - kept), faults


def _variant(
    base: Node,
    combination: Combination,
    axes: MappingABC[str, Axis],
    meant: PathSuggestions,
    faults: list[Fault],
) -> Variant:
    """Return a combination's variant; its faults are added to ``faults``."""
    variant = base
    placed: _Placed = {}
    for axis, choice in combination.items():
        for path, entry in choice.sets.items():
            meant.ask(path, entry.key, entry.node)
            faults += _replaced(placed, axis, path, canonical(base, path), entry.key)
            try:
                variant = put(variant, split_path(path, entry.key, spread=False), entry.node)
            except PathError as error:
                faults += meant.explained(error, path, entry.node)
            except ScenarioError as error:
                faults += error.faults
    values = {axis: plain(choice.node) for axis, choice in combination.items()}
    sets = {
        axis: {path: plain(entry.node) for path, entry in choice.sets.items()}
        for axis, choice in combination.items()
        if axis in axes and axes[axis].named
    }
    marks = {axis: choice.mark for axis, choice in combination.items()}
    return Variant(values, variant, sets, marks)


_Placed = dict[Names, dict[Names, tuple[str, str]]]
"""By each place and those above it, the places there that were set, with the axis and path."""


def _replaced(placed: _Placed, axis: str, path: str, names: Names, mark: Mark) -> Iterator[Fault]:
    """Yield a fault if a path replaces what another one has set; add its place to ``placed``."""
    for other, (by, there) in placed.get(names, {}).items():
        if other == names:
            setters = f"{shown(by)} and {shown(axis)}" if by != axis else shown(axis)
            yield mark.fault(f"{shown(path)} is set twice, by {setters}")
        else:
            text = f"{shown(path)} replaces {shown(there)}, which comes before it: give it first"
            yield mark.fault(text)
    for length in range(1, len(names) + 1):
        placed.setdefault(names[:length], {})[names] = axis, path


def _without_matrix(tree: Node) -> Node:
    """Return the tree without what is validated once and not for each variant."""
    if not isinstance(tree, Mapping):
        return tree
    return replace(
        tree,
        entries={k: v for k, v in tree.entries.items() if k not in ("expect", "matrix", "figures")},
    )


def _size(node: Node) -> int:
    """Return how many values a tree has."""
    match node:
        case Mapping(entries=entries):
            return 1 + sum(_size(entry.node) for entry in entries.values())
        case Sequence(items=items):
            return 1 + sum(map(_size, items))
    return 1


def _entries(matrix: Mapping, key: str) -> tuple[list[Mapping], list[Fault]]:
    """Return the entries of ``include`` or ``exclude``, and the faults of their form."""
    if key not in matrix.entries:
        return [], []
    node = matrix.entries[key].node
    if not isinstance(node, Sequence):
        text = f"{shown(key)} must be a list of mappings, not {shown(plain(node))}"
        return [], [node.mark.fault(text)]
    if not node.items:
        return [], [node.mark.fault(f"{shown(key)} must have at least one value")]
    if len(node.items) > MAX_RUNS:
        text = f"{shown(key)} has {len(node.items)} entries; {MAX_RUNS} are allowed"
        return [], [node.mark.fault(text)]
    mappings: list[Mapping] = []
    faults: list[Fault] = []
    for item in node.items:
        if isinstance(item, Mapping) and item.entries:
            mappings.append(item)
            for path, entry in item.entries.items():
                faults += path_faults(path, entry)
        else:
            text = f"must be a mapping of paths to values, not {shown(plain(item))}"
            faults.append(item.mark.fault(text))
    return mappings, faults


def _combinations(
    matrix: Mapping, axes: MappingABC[str, Axis], size: int
) -> tuple[list[Combination], list[Fault]]:
    """Return every combination of the axes' values; ``size`` is the number of values of each."""
    number = math.prod(len(axis.choices) for axis in axes.values())
    if number > MAX_RUNS:
        return [], [matrix.mark.fault(f"{_bounded(number)} combinations; {MAX_RUNS} are allowed")]
    if number * size > MAX_VALUES:
        text = f"{number} combinations of {size} values each; {MAX_VALUES} values are allowed"
        return [], [matrix.mark.fault(text)]
    products = itertools.product(*(axis.choices.values() for axis in axes.values())) if axes else ()
    return [dict(zip(axes, product, strict=True)) for product in products], []


def _bounded(number: int) -> str:
    """Return a number of combinations in words; a hundred axes have hundreds of digits."""
    text = str(number)
    return text if len(text) <= _MOST_DIGITS else f"at least 10^{len(text) - 1}"


class _CombinationIndex:
    """Finds the combinations that have some axes' values. Each set of axes is compared once."""

    def __init__(self, combinations: SequenceABC[Combination]) -> None:
        self._texts = [
            {path: choice.text for path, choice in combination.items()}
            for combination in combinations
        ]
        self._places: dict[tuple[str, ...], dict[tuple[str, ...], list[int]]] = {}
        self._left = MAX_VALUES

    def find(self, texts: MappingABC[str, str]) -> list[int] | None:
        """Return the combinations that have these texts of values; None where that is too much."""
        paths = tuple(sorted(texts))
        if paths not in self._places:
            self._left -= len(self._texts) * (1 + len(paths))
            if self._left < 0:
                return None
            places: dict[tuple[str, ...], list[int]] = {}
            for number, known in enumerate(self._texts):
                places.setdefault(tuple(known[path] for path in paths), []).append(number)
            self._places[paths] = places
        numbers = self._places[paths].get(tuple(texts[path] for path in paths), [])
        self._left -= len(numbers)
        return numbers if self._left >= 0 else None


def _too_many(item: Mapping, what: str) -> Fault:
    return item.mark.fault(
        f"up to this entry, {what} has more than {MAX_VALUES} values to compare and set: "
        "make axes of them, or several scenarios"
    )


def _exclude(
    all_combinations: list[Combination], axes: MappingABC[str, Axis], items: list[Mapping]
) -> tuple[list[Combination], list[Fault]]:
    """Return the combinations that no entry of ``exclude`` removes, and the faults."""
    faults: list[Fault] = []
    matching, kept = _CombinationIndex(all_combinations), [True] * len(all_combinations)
    for item in items:
        strange = [path for path in item.entries if path not in axes]
        faults += [
            item.entries[path].key.fault(
                f"{shown(path)} is not an axis of the matrix{suggest(path, axes)}; "
                f"valid: {listed(axes) or 'none'}"
            )
            for path in strange
        ]
        if strange:
            continue
        texts = {path: same(entry.node) for path, entry in item.entries.items()}
        there = matching.find(texts)
        if there is None:
            return all_combinations, [*faults, _too_many(item, "`exclude`")]
        removed = [number for number in there if kept[number]]
        for number in removed:
            kept[number] = False
        if not removed:
            named = [path for path, text in texts.items()
                     if axes[path].named and text not in axes[path].choices]  # fmt: skip
            faults += [unknown(axes[path], item.entries[path]) for path in named] or [
                item.mark.fault("excludes no combination")
            ]
    return [
        combination for combination, is_kept in zip(all_combinations, kept, strict=True) if is_kept
    ], faults


def _include(
    all_combinations: list[Combination], axes: MappingABC[str, Axis], items: list[Mapping]
) -> list[Fault]:
    """Extend combinations in place by the entries of ``include``; return the faults."""
    faults: list[Fault] = []
    matching = _CombinationIndex(all_combinations)
    added: list[tuple[Mapping, Combination]] = []
    for item in items:
        choices: Combination = {}
        for path, entry in item.entries.items():
            choice = choice_of(axes, path, entry)
            if isinstance(choice, Fault):
                faults.append(choice)
            else:
                choices[path] = choice
        there = matching.find(
            {path: choice.text for path, choice in choices.items() if path in axes}
        )
        if there is None:
            return [*faults, _too_many(item, "`include`")]
        for number in there:
            all_combinations[number].update(
                {path: picked for path, picked in choices.items() if path not in axes}
            )
        if there:
            added.append((item, choices))
        else:
            all_combinations.append(choices)
    return [*faults, *_lost(all_combinations, axes, added)]


def _lost(
    all_combinations: list[Combination],
    axes: MappingABC[str, Axis],
    added: list[tuple[Mapping, Combination]],
) -> Iterator[Fault]:
    """Yield a fault for each entry of ``include`` whose value at a path is in no combination."""
    kept = {id(choice) for combination in all_combinations for choice in combination.values()}
    last = {
        path: item
        for item, choices in added
        for path, choice in choices.items()
        if id(choice) in kept
    }
    for item, choices in added:
        for path, choice in choices.items():
            if path in axes or id(choice) in kept:
                continue
            by = last[path]
            yield item.entries[path].key.fault(
                f"the entry at line {by.mark.line}, column {by.mark.column} replaces "
                f"{shown(path)} in every combination: name other values of axes in the two "
                "entries, or make an axis of the values"
            )
        if set(choices) <= set(axes):
            yield item.mark.fault("adds nothing: the combination is in the matrix")


def _equal(all_combinations: list[Combination]) -> Iterator[Fault]:
    """Yield a fault for each combination that has the values of an earlier one."""
    first: dict[frozenset[tuple[str, str]], Combination] = {}
    for combination in all_combinations:
        texts = frozenset((path, choice.text) for path, choice in combination.items())
        other = first.setdefault(texts, combination)
        if other is not combination:
            here, there = (
                next(iter(duplicate.values())).mark for duplicate in (combination, other)
            )
            yield here.fault(
                f"the combination is given twice; first at line {there.line}, column {there.column}"
            )
