"""The reduced form of a scenario: values at paths that make a shorter run of it."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.errors import Fault, ScenarioError
from orchestrator.scenario.document import Mapping, Node, find
from orchestrator.scenario.variants.overrides import MOST_PATHS, put, split_path
from orchestrator.units import shown

_FIXED = ("reduced", "version")


def has_reduced(tree: Node) -> bool:
    """Return whether the scenario has a reduced form."""
    node = find(tree, ("reduced",))
    return isinstance(node, Mapping) and bool(node.entries)


def reduce(tree: Node) -> tuple[Node, list[Fault]]:
    """Return the tree of the reduced form, and the faults of its paths.

    With faults, the tree has the values of the valid paths.
    """
    reduced = find(tree, ("reduced",))
    faults: list[Fault] = []
    if not isinstance(reduced, Mapping):
        return tree, faults  # the validation reports another type
    if len(reduced.entries) > MOST_PATHS:
        text = f"`reduced` has {len(reduced.entries)} paths; {MOST_PATHS} are allowed"
        return tree, [reduced.mark.fault(text)]
    for path, entry in reduced.entries.items():
        if path.split(".")[0] in _FIXED:
            fixed = ", ".join(_FIXED)
            faults.append(
                entry.key.fault(f"{shown(path)} cannot be reduced: {fixed} cannot change")
            )
            continue
        try:
            tree = put(tree, split_path(path, entry.key, spread=False), entry.node)
        except ScenarioError as error:
            faults += error.faults
    return tree, faults


def without_reduced(tree: Node) -> Node:
    """Return the tree without its reduced form."""
    if not isinstance(tree, Mapping):
        return tree
    return replace(tree, entries={k: v for k, v in tree.entries.items() if k != "reduced"})
