"""Storage and display of a run's fields, as ``results.records.model`` declares them.

A field is kept in the column of its name in the table ``runs``, which a migration adds. Its
annotation says how values are kept and whether runs are compared by it::

    variant: Annotated[Variant, OBJECT, COMPARED]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import astuple, fields
from functools import cache
from typing import Any, Literal, NamedTuple, cast, get_type_hints

import numpy as np

from orchestrator.repetitions import RepetitionRule
from orchestrator.windows import Window
from results.records import links, typed


class Codec(NamedTuple):
    """Conversion of a value to what SQLite stores, and back."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


Place = Literal["compared"]
COMPARED: Place = "compared"
"""``compare`` lists the field where runs differ."""


def _unchanged(value: Any) -> Any:
    return value


def _windows(text: str) -> tuple[Window, ...]:
    keys = [field.name for field in fields(Window)]
    return tuple(
        typed.make(Window, dict(zip(keys, window, strict=True))) for window in json.loads(text)
    )


def python_value(value: Any) -> Any:
    """Return what SQLite can keep: numbers of numpy as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def to_json(value: Any) -> str:
    """Return JSON text, of numbers of numpy, too."""
    return json.dumps(value, default=python_value)


PLAIN = Codec(_unchanged, _unchanged)
FLAG = Codec(_unchanged, bool)
OPTIONAL_FLAG = Codec(_unchanged, lambda value: None if value is None else bool(value))
OBJECT = Codec(lambda value: to_json(dict(value)), json.loads)
RULE = Codec(
    lambda value: None if value is None else to_json(vars(value)),
    lambda text: None if text is None else typed.make(RepetitionRule, json.loads(text)),
)
LINKS = Codec(lambda value: to_json([link.document() for link in value]), links.read)
WINDOWS = Codec(lambda value: to_json([astuple(each) for each in value]), _windows)


def names(record: Any, place: Place | None = None) -> list[str]:
    """Return the names of the fields of a record's class or instance, or of those in a place."""
    return list(_names(cast(Hashable, _class(record)), place))


def written(record: Any) -> dict[str, Any]:
    """Return a record's values by column, as SQLite keeps them."""
    codecs = codecs_of(cast(Hashable, type(record)))
    return {name: codec.write(getattr(record, name)) for name, codec in codecs.items()}


def read(
    record: type, values: Mapping[str, Any], known: dict[tuple[str, Any], Any] | None = None
) -> dict[str, Any]:
    """Return the values of a record's fields from what the columns of these names hold.

    Rows that give the same ``known`` share what is decoded of equal columns.

    Raises:
        Exception: one of ``typed.DECODING_ERRORS`` when a value cannot have been stored.
    """
    codecs = codecs_of(cast(Hashable, record))
    found = dict(values)
    for name, value in values.items():
        if codecs[name] is PLAIN:
            continue
        if known is None:
            found[name] = codecs[name].read(value)
        elif (name, value) in known:
            found[name] = known[name, value]
        else:
            found[name] = known[name, value] = codecs[name].read(value)
    return found


def read_all(
    record: type, names: Sequence[str], columns: Sequence[Sequence[Any]]
) -> list[Sequence[Any]]:
    """Return what columns of these names hold as values of a record's fields, of many rows at once.

    Equal values of a column are decoded once, and share the result.

    Raises:
        Exception: one of ``typed.DECODING_ERRORS`` when a value cannot have been stored.
    """
    codecs = codecs_of(cast(Hashable, record))
    found: list[Sequence[Any]] = []
    for name, column in zip(names, columns, strict=True):
        if codecs[name] is PLAIN:
            found.append(column)
        else:
            decoded = {value: codecs[name].read(value) for value in set(column)}
            found.append([decoded[value] for value in column])
    return found


def _class(record: Any) -> type:
    return record if isinstance(record, type) else type(record)


@cache
def _declared(record: type, name: str) -> tuple[Any, ...]:
    """Return the annotations of a field beside its type."""
    return getattr(_hints(record)[name], "__metadata__", ())


@cache
def _hints(record: type) -> dict[str, Any]:
    """Return the types of all fields. To evaluate them takes a millisecond."""
    return get_type_hints(record, include_extras=True)


@cache
def _names(record: Any, place: Place | None) -> tuple[str, ...]:
    return tuple(
        field.name
        for field in fields(record)
        if place is None or place in _declared(record, field.name)
    )


@cache
def codecs_of(record: Any) -> dict[str, Codec]:
    """Return how the columns of a record's fields are written and read."""
    return {
        name: next(
            (annotation for annotation in _declared(record, name) if isinstance(annotation, Codec)),
            PLAIN,
        )
        for name in _names(record, None)
    }
