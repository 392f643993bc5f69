"""Turns pydantic's errors into faults with a line, a column and a message of this project."""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from orchestrator.errors import MOST_SHOWN, Fault
from orchestrator.kinds.fields import Path, Strict
from orchestrator.scenario.document import Mapping, Node, nearest
from orchestrator.scenario.paths import PathSuggestions
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
    meant: PathSuggestions,
) -> list[Fault]:
    """Return the faults of a validation of ``data``, the plain form of ``tree``.

    ``models`` has the model of each mapping in ``data``, by the mapping's id. ``meant`` knows what
    is meant by paths and by keys in the wrong place. Only the first faults say what is valid.
    """
    details_of_faults = error.errors(include_url=False)
    return [
        _fault(details, tree, data, models, meant if number < MOST_SHOWN else None)
        for number, details in enumerate(details_of_faults)
    ]


def messages(error: ValidationError, keys: list[str]) -> list[tuple[Path, str]]:
    """Return (path inside it, message) of the faults of a mapping whose valid keys are ``keys``."""
    return [
        (
            details["loc"],
            _unknown_key(
                str(details["loc"][-1]), keys, suggest(str(details["loc"][-1]), keys, KEYS)
            )
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
    meant: PathSuggestions | None,
) -> Fault:
    path, kind = details["loc"], details["type"]
    if kind == "missing":
        write = ": write `version: 1`" if path == ("version",) else ""
        return nearest(tree, path[:-1]).fault(f"`{path[-1]}` is missing{write}")
    if kind == "extra_forbidden":
        node, holder, owner_path = _holder(tree, data, path[:-1])
        key = str(path[-1])
        mark = node.entries[key].key if isinstance(node, Mapping) else node.mark
        if meant is None:
            return mark.fault(f"unknown key {shown(key)}")
        model = models.get(id(holder))
        valid = model.keys() if model else []
        close = meant.instead(tree, (*owner_path, key), mark, valid)
        return mark.fault(_unknown_key(key, valid, close))
    text = _message(details)
    return nearest(tree, path).fault(text if meant is None else meant.tried(tree, path, text))


def _unknown_key(key: str, valid: list[str], close: str) -> str:
    return f"unknown key {shown(key)}{close}; valid keys: {', '.join(valid)}"


def _holder(tree: Node, data: Any, path: Path) -> tuple[Node, object, Path]:
    """Return the mapping at a path: its node, its plain form and its place (see ``nearest``)."""
    node = tree
    holder_path: Path = ()
    for part in path:
        if isinstance(node, Mapping):
            if part not in node.entries:
                continue
            node = node.entries[str(part)].node
        else:
            node = node.items[int(part)]  # type: ignore[union-attr]
        data = data[part]
        holder_path = (*holder_path, part)
    return node, data, holder_path


def _message(details: ErrorDetails) -> str:
    kind, given = details["type"], shown(details["input"])
    context: dict[str, Any] = details.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind in _EXPECTED:
        items = ": begin each item with `- `" if kind == "list_type" else ""
        return f"must be {_EXPECTED[kind]}, not {given}{items}"
    if kind in _BOUNDS:
        bound, key = _BOUNDS[kind]
        return f"must be {bound} {context[key]}, not {given}"
    if kind == "literal_error":
        valid = str(context["expected"]).replace("'", "").replace(" or ", ", ").split(", ")
        close = suggest(str(details["input"]), valid)
        return f"{given} is not valid{close}; valid: {', '.join(valid)}"
    if kind == "too_short":
        return f"must have at least {_items(context['min_length'])}"
    if kind == "too_long":
        return f"must have {_items(context['max_length'])} at most, not {context['actual_length']}"
    return details["msg"]


def _items(number: int) -> str:
    return "1 item" if number == 1 else f"{number} items"
