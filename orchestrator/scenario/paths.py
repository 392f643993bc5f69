"""Finds the keys and paths of a scenario that somebody may have meant by one that is not valid.

Each is tried: it is suggested only if the value there gives the scenario no fault.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pydantic import ValidationError

from orchestrator.errors import Fault, ScenarioError
from orchestrator.kinds.fields import Path, ValidationContext
from orchestrator.scenario.checks import check
from orchestrator.scenario.document import Mapping, Mark, Node, Scalar, find, plain
from orchestrator.scenario.model import Scenario
from orchestrator.scenario.variants.overrides import Names, PathPart, put, split_path
from orchestrator.suggestions import (
    HINT,
    KEYS,
    MOST_NAMED,
    NONE,
    Synonyms,
    at_most,
    closest,
    did_you_mean,
    means,
)  # fmt: skip

_ELSEWHERE = ("matrix", "reduced")
"""Keys of a scenario whose values are paths and no values of the scenario."""
_MOST_VALIDATED = 200_000
"""The most values that all trials together validate; each trial validates the scenario."""


@dataclass
class PathSuggestions:
    """Suggestions for paths into ``tree``, a scenario before any value is set at them.

    ``asked`` has the path and the value that are written at a position, by an axis or ``--set``.
    """

    tree: Node
    context: Callable[[], ValidationContext]
    asked: dict[Mark, tuple[str, Node]] = field(default_factory=dict)
    _known: dict[Mark | tuple[str, Node], str] = field(default_factory=dict)
    _validated: int = 0

    def ask(self, path: str, mark: Mark, value: Node, *, spread: bool = False) -> None:
        """Note that a path is written at a position; ``spread`` as for ``split_path``."""
        with contextlib.suppress(ScenarioError):
            parts = split_path(path, mark, spread=spread)
            self.asked.update((part.mark, (path, value)) for part in parts)

    def explained(self, error: ScenarioError, path: str, value: Node) -> list[Fault]:
        """Return the faults of a path that leads nowhere, with what may be meant."""
        hint = self._of_path(path, value)
        return [replace(fault, message=f"{fault.message}{hint}") for fault in error.faults]

    def instead(self, tree: Node, key_path: Path, mark: Mark, valid: Sequence[str]) -> str:
        """Return `` (did you mean `x`?)`` for the unknown key at a place; empty without a hint.

        ``tree`` has the key: it may be ``self.tree`` with values set. ``mark`` is the key's
        position, and ``valid`` has the keys of its mapping.
        """
        if mark not in self._known:
            key = str(key_path[-1])
            near = closest(key, valid, KEYS)
            candidates = [near] if near else []
            candidates += [f"parameters.{key}"] if "parameters" in valid else []
            if mark in self.asked:
                path, value = self.asked[mark]
                before, _, after = f".{path}.".partition(f".{key}.")
                inside = {
                    _names(f"{before}.{word}.{after}".strip(".")): word for word in candidates
                }
                close = self._of_path(path, value) or self._hint(self.tree, value, inside)
            else:
                close = self._of_key(tree, key_path, candidates)
            self._known[mark] = close
        return self._known[mark]

    def _of_path(self, path: str, value: Node) -> str:
        """Return the hint for a path that leads nowhere, or to a key that is not valid."""
        if (path, value) not in self._known:
            parts = _names(path)
            matches = (
                [known_path for known_path in self._paths if _fits(parts, known_path, NONE)]
                or [
                    known_path
                    for known_path in self._takers(parts[-1])
                    if _in_order(parts, known_path, KEYS)
                ]
                or [known_path for known_path in self._paths if _fits(parts, known_path, KEYS)]
            )
            paths = sorted((known_path for known_path in matches if known_path != parts), key=len)
            self._known[path, value] = self._hint(self.tree, value, _whole(paths))
        return self._known[path, value]

    def tried(self, tree: Node, path: Path, text: str) -> str:
        """Return a fault's text, with the word that it suggests only if that fits what is written.

        Keys may be missing with it: they are still to be written.
        """
        hint = HINT.search(text)
        if hint is None:
            return text
        names: list[str] = []
        node: Node | None = tree
        for part in path:
            node, above = node and find(node, (part,)), node
            if node is None and part in ("forward", "reverse"):
                node = above  # one value stands for both directions
            else:
                names.append(str(part))
        word = Scalar(tree.mark, hint[1])
        fits = self._hint(tree, word, {tuple(names): hint[1]}, allowed=("missing",))
        return text if fits else HINT.sub("", text)

    def _of_key(self, tree: Node, path: Path, candidates: Sequence[str]) -> str:
        """Return the hint of other keys in place of one, or else of the key in other mappings."""
        holder, value = find(tree, path[:-1]), find(tree, path)
        if value is None or not isinstance(holder, Mapping):
            return ""
        key, owner = str(path[-1]), tuple(map(str, path[:-1]))
        rest = {name: entry for name, entry in holder.entries.items() if name != key}
        base = _put(tree, owner, replace(holder, entries=rest))
        inside = {(*owner, *_names(word)): word for word in candidates}
        return self._hint(tree, value, inside, base) or (
            self._hint(tree, value, _whole(self._takers(key)), base)
        )

    def _hint(
        self,
        tree: Node,
        value: Node,
        candidates: dict[Names, str],
        base: Node | None = None,
        allowed: Sequence[str] = (),
    ) -> str:
        """Return the hint of words, given by path, at whose paths the value is valid.

        There ``base`` (``tree`` itself by default) has no fault that ``tree`` has not, but for
        those of the ``allowed`` types.
        """
        faults: set[tuple[object, str]] | None = None
        suggested: list[str] = []
        for path, word in candidates.items():
            self._validated += len(self._paths)
            if self._validated > _MOST_VALIDATED or len(suggested) > MOST_NAMED:
                break
            with contextlib.suppress(ScenarioError):  # a name has a dot, or it leads nowhere
                changed = _put(base or tree, path, value)
                faults = self._faults(tree) if faults is None else faults
                types = {kind for _place, kind in self._faults(changed) - faults}
                suggested += [word] if types <= set(allowed) else []
        return did_you_mean(suggested)

    def _takers(self, key: str) -> list[Names]:
        """Return the paths to a key that may be given, and that the scenario does not give."""
        paths = [(*owner, key) for owner, valid in self._owners if key in valid]
        return [path for path in paths if path not in self._paths]

    @cached_property
    def _paths(self) -> dict[Names, object]:
        """The value at each path, in the order of the text."""
        return dict(_walk(plain(self.tree)))

    @cached_property
    def _owners(self) -> list[tuple[Names, list[str]]]:
        """The path of each mapping whose keys are known, with these keys."""
        data, context = plain(self.tree), self.context()
        with contextlib.suppress(ValidationError):
            Scenario.model_validate(data, context=context)
        models = (
            (path, context.models.get(id(value))) for path, value in [((), data), *_walk(data)]
        )
        return [(path, model.keys()) for path, model in models if model is not None]

    def _faults(self, tree: Node) -> set[tuple[object, str]]:
        """Return place and type of each fault of a tree."""
        context = self.context()
        with at_most(0):
            faults: set[tuple[object, str]] = {
                (fault.message, "check") for fault in check(tree, context.modules)
            }
            try:
                Scenario.model_validate(plain(tree), context=context)
            except ValidationError as error:
                faults |= {
                    (fault["loc"], fault["type"]) for fault in error.errors(include_input=False)
                }
        return faults


def _fits(parts: Sequence[str], path: Sequence[str], synonyms: Synonyms) -> bool:
    """Return whether a path has the parts in their order, the last one at its end."""
    last = bool(path) and means(parts[-1], path[-1], synonyms)
    return last and _in_order(parts[:-1], path[:-1], synonyms)


def _in_order(parts: Sequence[str], path: Sequence[str], synonyms: Synonyms) -> bool:
    rest = iter(path)
    return all(any(means(part, name, synonyms) for name in rest) for part in parts)


def _walk(data: object, before: Names = ()) -> Iterator[tuple[Names, object]]:
    """Yield the path of each value in plain data, and the value, in the order of the text."""
    children: Iterable[tuple[str, object]] = ()
    if isinstance(data, dict):
        children = [(key, item) for key, item in data.items() if before or key not in _ELSEWHERE]
    elif isinstance(data, list):
        named = (item.get("name") if isinstance(item, dict) else None for item in data)
        names = (
            name if isinstance(name, str) and name else str(at) for at, name in enumerate(named)
        )
        children = zip(names, data, strict=True)
    for key, child in children:
        yield (*before, key), child
        yield from _walk(child, (*before, key))


def _names(path: str) -> Names:
    return tuple(path.split("."))


def _whole(paths: Iterable[Names]) -> dict[Names, str]:
    return {path: ".".join(path) for path in paths}


def _put(tree: Node, path: Sequence[str], value: Node) -> Node:
    """Return the tree with the value at a path; ScenarioError as ``put``."""
    return put(tree, [PathPart(name, tree.mark) for name in path], value)
