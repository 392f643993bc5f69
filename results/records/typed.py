"""Checks whether values that were read from a file have the types of a record's fields."""

from __future__ import annotations

import types
import zlib
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

Record = TypeVar("Record")

DECODING_ERRORS = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, zlib.error,
)  # fmt: skip
"""Errors that decoding raises where stored values are damaged."""


def make(record: type[Record], values: Mapping[str, Any]) -> Record:
    """Return the record with these values; TypeError when one is not of its field's type.

    Of a container only its own type is checked, not the types of its items.
    """
    known = cast(Hashable, record)
    hints, usual, words = _hints(known), _usual(known), _words(known)
    for name, value in values.items():
        if name not in hints:
            raise TypeError(f"{record.__name__} has no {name}")
        if type(value) in usual[name] or (type(value) is str and value in words[name]):
            continue
        if not _fits(value, hints[name]):
            raise TypeError(f"{name} is {value!r:.80}")
    return record(**values)


def make_all(
    record: type[Record], names: Sequence[str], columns: Sequence[Sequence[Any]]
) -> list[Record]:
    """Return the records whose fields of these names have the values of these columns.

    Of thousands this takes a quarter of the time of :func:`make` for each. ``names`` are all fields
    of the record, which is a dataclass without ``__post_init__`` and ``__slots__``.

    Raises:
        TypeError: a value is not of its field's type.
    """
    known = cast(Hashable, record)
    hints, usual = _hints(known), _usual(known)
    for name, column in zip(names, columns, strict=True):
        if not usual[name].issuperset(map(type, column)):
            for value in set(column):
                if not _fits(value, hints[name]):
                    raise TypeError(f"{name} is {value!r:.80}")
    made = []
    for values in zip(*columns, strict=True):
        instance = object.__new__(record)
        # __init__ would set each field by a call.
        instance.__dict__.update(zip(names, values, strict=True))
        made.append(instance)
    return made


@cache
def _hints(record: Hashable) -> dict[str, Any]:
    return get_type_hints(record)


@cache
def _usual(record: Hashable) -> dict[str, frozenset[type]]:
    """Return the types by field of which every value fits; others may fit, too.

    A list of runs has thousands of values, and :func:`_fits` is slow.
    """
    examples: tuple[object, ...] = (None, False, 0, 0.0, "", b"", (), [], {})
    return {
        name: frozenset(
            type(example)
            for example in examples
            if "Literal" not in repr(hint) and _fits(example, hint)
        )
        for name, hint in _hints(record).items()
    }


@cache
def _words(record: Hashable) -> dict[str, frozenset[object]]:
    """Return the words by field that fit, of a Literal or an Optional of one."""
    return {
        name: frozenset(
            word
            for part in (hint, *get_args(hint))
            if get_origin(part) is Literal
            for word in get_args(part)
        )
        for name, hint in _hints(record).items()
    }


def _fits(value: object, hint: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    kind = origin or hint
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)
