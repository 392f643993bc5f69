"""Finds the paths of a scenario that somebody may have meant by one that leads nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pydantic import ValidationError

from orchestrator.errors import Fault, ScenarioError
from orchestrator.kinds.fields import Context, Path
from orchestrator.scenario.document import Mapping, Mark, Node, Scalar, plain
from orchestrator.scenario.document import Sequence as List
from orchestrator.scenario.model import Scenario
from orchestrator.scenario.overrides import name_of, put, split_path
from orchestrator.suggestions import KEYS, NONE, Synonyms, did_you_mean, means

_ELSEWHERE = ("matrix", "reduced")
"""Keys of a scenario whose values are paths and no values of the scenario."""
_MOST_TRIED = 100
"""The most trials of a key in a mapping; each takes a validation of the scenario."""


@dataclass
class Meant:
    """Suggestions for paths into ``tree``, a scenario before any value is set at them.

    ``asked`` has the path that begins at a position: that of an axis of a matrix, or of ``--set``.
    """

    tree: Node
    context: Callable[[], Context]
    asked: dict[Mark, str] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)
    _placed: dict[str, str] = field(default_factory=dict)
    _tried: int = 0

    def ask(self, path: str, mark: Mark, *, spread: bool = False) -> None:
        """Note that a path is written at a position; ``spread`` as for ``split_path``."""
        try:
            parts = split_path(path, mark, spread=spread)
        except ScenarioError:
            return
        self.asked.update(dict.fromkeys((part.mark for part in parts), path))

    def at(self, mark: Mark) -> str:
        """Return the hint for the path that is written at a position; empty where none is."""
        path = self.asked.get(mark)
        return "" if path is None else self.hint(path)

    def explained(self, error: ScenarioError, path: str) -> list[Fault]:
        """Return the faults of a path that leads nowhere, with what may be meant."""
        hint = self.hint(path)
        return [replace(each, message=f"{each.message}{hint}") for each in error.faults]

    def hint(self, path: str) -> str:
        """Return `` (did you mean `topology.bottleneck.rate`?)``, empty when nothing is close."""
        if path not in self._known:
            parts = path.split(".")
            paths = list(_paths(self.tree))
            found = (
                [each for each in paths if _fits(parts, each)]
                or list(self._new(parts))
                or [each for each in paths if _fits(parts, each, KEYS)]
            )
            words = [".".join(each) for each in sorted(found, key=len)]
            self._known[path] = did_you_mean([word for word in words if word != path])
        return self._known[path]

    def elsewhere(self, key: str) -> str:
        """Return the hint for a key that is valid in other mappings than where it is written."""
        if key not in self._placed:
            self._placed[key] = did_you_mean([".".join(path) for path in self._new([key])])
        return self._placed[key]

    def _new(self, parts: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Yield the paths to keys that are valid, though the scenario does not give them."""
        owners = (
            each for each in _paths(self.tree, mappings=True) if _in_order(parts[:-1], each, KEYS)
        )
        paths = set(_paths(self.tree))
        new = (owner for owner in owners if (*owner, parts[-1]) not in paths)
        for owner in new:
            if self._tried == _MOST_TRIED:
                return
            self._tried += 1
            if self._takes(owner, parts[-1]):
                yield (*owner, parts[-1])

    def _takes(self, owner: Sequence[str], key: str) -> bool:
        """Return whether the mapping at a path may have the key, which it does not have."""
        try:
            parts = split_path(".".join([*owner, key]), self.tree.mark, spread=False)
            changed = put(self.tree, parts, Scalar(self.tree.mark, None))
        except ScenarioError:  # a name is empty or has a dot
            return False
        added = self._forbidden(changed) - self._forbidden_now
        return not any(path[-1] == key for path in added)

    @cached_property
    def _forbidden_now(self) -> set[Path]:
        return self._forbidden(self.tree)

    def _forbidden(self, tree: Node) -> set[Path]:
        """Return the paths of all keys that are not valid."""
        try:
            Scenario.model_validate(plain(tree), context=self.context())
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False)
            return {one["loc"] for one in details if one["type"] == "extra_forbidden"}
        return set()


def _fits(parts: Sequence[str], path: Sequence[str], synonyms: Synonyms = NONE) -> bool:
    """Return whether a path has the parts in their order, the last one at its end."""
    last = bool(parts) and bool(path) and means(parts[-1], path[-1], synonyms)
    return last and _in_order(parts[:-1], path[:-1], synonyms)


def _in_order(parts: Sequence[str], path: Sequence[str], synonyms: Synonyms) -> bool:
    rest = iter(path)
    return all(any(means(part, each, synonyms) for each in rest) for part in parts)


def _paths(
    node: Node, before: tuple[str, ...] = (), *, mappings: bool = False
) -> Iterator[tuple[str, ...]]:
    """Yield the path of each value below a node, or of each mapping, in the order of the text.

    An item of a list has its name or else its index.
    """
    if before and (not mappings or isinstance(node, Mapping)):
        yield before
    children: list[tuple[str, Node]] = []
    if isinstance(node, Mapping):
        entries = node.entries.items()
        children = [(key, entry.node) for key, entry in entries if before or key not in _ELSEWHERE]
    elif isinstance(node, List):
        children = [(name_of(item) or str(index), item) for index, item in enumerate(node.items)]
    for key, child in children:
        yield from _paths(child, (*before, key), mappings=mappings)
