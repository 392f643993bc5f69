"""Turns pydantic's errors into faults with a line, a column and a message of this project."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as MappingABC
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from orchestrator.errors import Fault
from orchestrator.kinds.fields import Path, Strict
from orchestrator.scenario.document import Mapping, Mark, Node, nearest
from orchestrator.suggestions import KEYS, suggest
from orchestrator.units import shown

_EXPECTED = {
    "string_type": "text (put it in quotes)",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_parsing_size": "a smaller number",
    "bool_type": "`true` or `false`",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("above", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("below", "lt"),
}


def faults_of(
    error: ValidationError,
    tree: Node,
    data: object,
    models: MappingABC[int, type[Strict]],
    hint: Callable[[Mark], str] = lambda _mark: "",
) -> list[Fault]:
    """Return the faults of a validation of ``data``, the plain form of ``tree``.

    ``models`` has the model of each mapping in ``data``, by the mapping's id. ``hint`` returns what
    is meant by an unknown key at a position; where it is empty, the closest valid key is named.
    """
    found = error.errors(include_url=False)
    return [_fault(details, tree, data, models, hint) for details in found]


def messages(error: ValidationError, keys: list[str]) -> list[tuple[Path, str]]:
    """Return (path inside it, message) of the faults of a mapping whose valid keys are ``keys``."""
    return [
        (
            details["loc"],
            _unknown_key(str(details["loc"][-1]), keys)
            if details["type"] == "extra_forbidden"
            else _message(details),
        )
        for details in error.errors(include_url=False)
    ]


def _fault(
    details: ErrorDetails,
    tree: Node,
    data: object,
    models: MappingABC[int, type[Strict]],
    hint: Callable[[Mark], str],
) -> Fault:
    path, kind = details["loc"], details["type"]
    if kind == "missing":
        return nearest(tree, path[:-1]).fault(f"`{path[-1]}` is missing")
    if kind == "extra_forbidden":
        node, holder = _holder(tree, data, path[:-1])
        key = str(path[-1])
        mark = node.entries[key].key if isinstance(node, Mapping) else node.mark
        model = models.get(id(holder))
        return mark.fault(_unknown_key(key, model.keys() if model else [], hint(mark)))
    return nearest(tree, path).fault(_message(details))


def _unknown_key(key: str, valid: list[str], hint: str = "") -> str:
    close = hint or suggest(key, valid, KEYS)
    return f"unknown key {shown(key)}{close}; valid keys: {', '.join(valid)}"


def _holder(tree: Node, data: Any, path: Path) -> tuple[Node, object]:
    """Return the mapping at that path, as a node and in plain form (see ``nearest``)."""
    node = tree
    for part in path:
        if isinstance(node, Mapping):
            if part not in node.entries:
                continue
            node = node.entries[str(part)].node
        else:
            node = node.items[int(part)]  # type: ignore[union-attr]
        data = data[part]
    return node, data


def _message(details: ErrorDetails) -> str:
    kind, found = details["type"], shown(details["input"])
    context: dict[str, Any] = details.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind in _EXPECTED:
        return f"must be {_EXPECTED[kind]}, not {found}"
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"must be {words} {context[key]}, not {found}"
    if kind == "literal_error":
        valid = str(context["expected"]).replace("'", "").replace(" or ", ", ").split(", ")
        close = suggest(str(details["input"]), valid)
        return f"{found} is not valid{close}; valid: {', '.join(valid)}"
    if kind == "too_short":
        return f"must have at least {_items(context['min_length'])}"
    if kind == "too_long":
        return f"must have {_items(context['max_length'])} at most, not {context['actual_length']}"
    return details["msg"]


def _items(number: int) -> str:
    return "1 item" if number == 1 else f"{number} items"
