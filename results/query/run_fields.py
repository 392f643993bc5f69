"""What a condition can say about a run: its fields, metrics, matrix values and flows.

A name is one of a fixed field, of a metric of the run (``WINDOW.METRIC`` for that of a window), or
of an axis of a matrix. An axis may be named by the end of its path, such as ``queue.limit`` for
``topology.bottleneck.queue.limit``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar, get_args

from orchestrator.recording.model import Verdict
from orchestrator.suggestions import suggest
from orchestrator.units import RATE_UNITS, SIZE_UNITS, TEXT_PATHS, TIME_UNITS_NS, listed, shown
from results.matrix.axes import number
from results.matrix.axes import shown as as_written
from results.metrics import of_scope
from results.records.model import WHOLE, Number, Status, Variant

T = TypeVar("T")
Item = TypeVar("Item", contravariant=True)
Value = tuple[str, Any]
"""The unit of a value, or "text", and the value itself. Values of one unit can be compared."""

WRITTEN = "as written"
"""The unit of a value of an axis as it stands in the scenario."""

_WHOLE = re.compile(r"-?[0-9]{1,30}")
_TEXTS = ("id", "experiment", "scenario", "backend", "kernel", "digest", "error")
_WORDS: dict[str, tuple[str, ...]] = {"status": get_args(Status), "verdict": get_args(Verdict)}
_NUMBERS = {"repetition": "1", "seed": "1", "link_model": "1", "digest_version": "1",
            "kernel_warnings": "1", "wall_s": "s", "simulated_s": "s"}  # fmt: skip
_UNITS_WRITTEN = {"bit/s": tuple(RATE_UNITS), "s": tuple(TIME_UNITS_NS), "bytes": tuple(SIZE_UNITS),
                  "1": ("%",), "packets": ("p",)}  # fmt: skip
"""The units in which users may write values of a unit."""


class FieldError(ValueError):
    """A name or a value means nothing here; the message says what is valid."""


class HasNames(Protocol):
    """What a run, or a kind of runs, has that conditions can name: axes and windows."""

    @property
    def variant(self) -> Variant:
        """The values of the matrix by the paths of the axes."""

    @property
    def windows(self) -> Container[str]:
        """The names of the windows."""


class QueriedRun(HasNames, Protocol):
    """A run whose values conditions and orders read."""

    def field(self, name: str) -> Any:
        """Return a field of ``results.records.model.RunRow``."""

    def metric(self, name: str, window: str = WHOLE) -> Number | None:
        """Return a metric of the run, or of one of its windows."""

    @property
    def congestion_controls(self) -> Sequence[str | None]:
        """The congestion control of each flow."""

    @property
    def flow_names(self) -> Sequence[str]:
        """The names of the flows and of their entries."""

    @property
    def tags(self) -> Sequence[str]:
        """The tags."""


_LISTS: dict[str, Callable[[QueriedRun], Sequence[str | None]]] = {
    "congestion": lambda run: run.congestion_controls,
    "flow": lambda run: run.flow_names,
    "tag": lambda run: run.tags,
}


@dataclass(frozen=True)
class RunField(Generic[Item]):
    """Something that conditions compare: how to read it from an item, and its possible values.

    ``values`` returns no value, one, or several (the flows of a run have several congestion
    controls). ``parse`` reads a value as users write it, and ``parse_equal`` one behind ``=`` or
    ``!=`` if that differs. ``ordered`` allows ``<`` and the like. ``written`` has values that need
    no quotes, whatever is in them: those of an axis as they stand in the scenario.
    """

    name: str
    values: Callable[[Item], Sequence[Value]]
    parse: Callable[[str], Value]
    ordered: bool = True
    parse_equal: Callable[[str], Value] | None = None
    written: Sequence[str] = ()


def find(name: str, runs: Sequence[HasNames]) -> RunField[QueriedRun]:
    """Return the field of that name; ``runs`` say which axes and windows there are.

    Raises:
        FieldError: there is none, or several axes end with the name.
    """
    if name in _TEXTS:
        return RunField(name, lambda run: _named(run, name), _text, ordered=False)
    if name == "started_utc":
        return RunField(name, lambda run: _texts([run.field(name)]), _text)
    if name in _WORDS:
        return _word_field(name, _WORDS[name])
    if name in _LISTS:
        return RunField(name, lambda run: _texts(_LISTS[name](run)), _text, ordered=False)
    if name in _NUMBERS:
        return _number_field(name, _NUMBERS[name], lambda run: run.field(name))
    units = {one.name: one.unit for one in of_scope("run")}
    if name in units:
        return _number_field(name, units[name], lambda run: run.metric(name))
    window, _, metric = name.rpartition(".")
    if metric in units and any(window in run.windows for run in runs):
        return _number_field(name, units[metric], lambda run: _of_window(run, window, metric))
    return _axis_field(name, runs)


def in_order(
    items: Sequence[T], name: str, run_of: Callable[[T], QueriedRun], runs: Sequence[HasNames]
) -> list[T]:
    """Return items sorted by the field of their runs, those without a value last.

    Args:
        items: what is sorted.
        name: of the field. A minus before it sorts from the largest to the smallest.
        run_of: returns the run of an item.
        runs: as for :func:`find`.

    Raises:
        FieldError: there is no such field.
    """
    field = find(name.removeprefix("-"), runs)
    values = [(sorted(field.values(run_of(item))), item) for item in items]
    known = sorted(
        (pair for pair in values if pair[0]), key=lambda pair: pair[0], reverse=name.startswith("-")
    )
    return [item for _value, item in [*known, *(pair for pair in values if not pair[0])]]


def valid_names(runs: Sequence[HasNames]) -> str:
    """Return all names that :func:`find` knows, in groups, for an error message."""
    axes = sorted({path for run in runs for path in run.variant})
    groups = {
        "fields": sorted((*_TEXTS, "started_utc", *_WORDS, *_LISTS, *_NUMBERS)),
        "metrics": [metric.name for metric in of_scope("run")],
        "of the matrix": axes,
    }
    return "\n".join(f"  {group}: {listed(names)}" for group, names in groups.items() if names)


def comparable(value: object) -> Value:
    """Return a value of a matrix, or a text that a user wrote, so that it can be compared.

    Quantities are in SI units. A mapping with a name or a kind counts as that.
    """
    if isinstance(value, Mapping):
        named = value.get("name", value.get("kind"))
        return ("text", named if isinstance(named, str) else json.dumps(value, sort_keys=True))
    if isinstance(value, bool | list) or value is None:
        return ("text", json.dumps(value))
    if _WHOLE.fullmatch(str(value)):
        return ("1", int(str(value)))  # seeds have more digits than a float
    parsed_number = number(value)
    return (
        ("text", value) if parsed_number is None else (parsed_number[1], _rounded(parsed_number[0]))
    )


def _rounded(value: float) -> float:
    """Return a number of 12 digits, so that equal quantities of two units are equal."""
    return value if isinstance(value, int) else float(f"{value:.12g}")


def _word_field(name: str, words: Sequence[str]) -> RunField[QueriedRun]:
    def get(run: QueriedRun) -> Sequence[Value]:
        return _texts([run.field(name)])

    def parse(text: str) -> Value:
        if text not in words:
            raise FieldError(f"a {name} is one of {', '.join(words)}{suggest(text, words)}")
        return ("text", text)

    return RunField(name, get, parse, ordered=False)


def _number_field(name: str, unit: str, get: Callable[[QueriedRun], Any]) -> RunField[QueriedRun]:
    def values(run: QueriedRun) -> Sequence[Value]:
        value = get(run)
        return [] if value is None else [(unit, _rounded(value))]

    def parse(text: str) -> Value:
        written_unit, value = comparable(text)
        if written_unit == unit or (written_unit == "1" and "%" not in text):
            return (unit, value)
        words = ", ".join(_UNITS_WRITTEN.get(unit, ()))
        units = f", alone or with a unit ({words})" if words else f" of {unit}"
        raise FieldError(f"{name} is compared with a number{units}; not {shown(text)}")

    return RunField(name, values, parse)


def _axis_field(name: str, runs: Sequence[HasNames]) -> RunField[QueriedRun]:
    paths = {path for run in runs for path in run.variant}
    matching_paths = [name] if name in paths else sorted(p for p in paths if p.endswith(f".{name}"))
    if len(matching_paths) > 1:
        raise FieldError(
            f"{shown(name)} may be {' or '.join(matching_paths)}: write the whole path"
        )
    if not matching_paths:
        every = [*_TEXTS, "started_utc", *_WORDS, *_LISTS, *_NUMBERS, *paths,
                 *(metric.name for metric in of_scope("run"))]  # fmt: skip
        raise FieldError(
            f"there is no {shown(name)}{suggest(name, every)}; valid names:\n{valid_names(runs)}"
        )
    (path,) = matching_paths
    stored = [run.variant[path] for run in runs if path in run.variant]
    whole = {as_written(value) for value in stored if isinstance(value, Mapping)}

    if path in TEXT_PATHS:
        return text_field(path, lambda run: run.variant.get(path), stored)

    def values(run: QueriedRun) -> Sequence[Value]:
        variant = run.variant
        return axis_values(variant[path]) if path in variant else []

    def parse(text: str) -> Value:
        wanted = comparable(text)
        if wanted[0] not in {comparable(value)[0] for value in stored}:
            raise FieldError(f"{path} has values such as {shown(stored[0])}; not {shown(text)}")
        return wanted

    def parse_equal(text: str) -> Value:
        return (WRITTEN, text) if text in whole else parse(text)

    written = sorted({as_written(value) for value in stored})
    return RunField(path, values, parse, parse_equal=parse_equal, written=written)


def text_field(name: str, get: Callable[[Item], object], known: Sequence[object]) -> RunField[Item]:
    """Return the field of an axis whose values are texts, such as names of kernels."""
    written = sorted({as_written(value) for value in known})

    def values(item: Item) -> Sequence[Value]:
        value = get(item)
        return [] if value is None else [("text", as_written(value)), (WRITTEN, as_written(value))]

    def parse(text: str) -> Value:
        if text not in written:
            raise FieldError(
                f"{name} has no value {shown(text)}{suggest(text, written)}; its values are "
                f"{listed(written)}"
            )
        return ("text", text)

    return RunField(name, values, parse, ordered=False, written=written)


def axis_values(value: object) -> Sequence[Value]:
    """Return a value of an axis as what it may be compared with: itself, and as it is written."""
    return _text_values(value) if isinstance(value, str) else _values(value)


def _values(value: object) -> Sequence[Value]:
    return (comparable(value), (WRITTEN, as_written(value)))


_text_values = lru_cache(4096)(_values)
"""Thousands of runs have few different values of an axis, and most are texts such as ``1bdp``."""


def _of_window(run: QueriedRun, window: str, metric: str) -> Number | None:
    return run.metric(metric, window) if window in run.windows else None


def _named(run: QueriedRun, name: str) -> Sequence[Value]:
    """Return a text of a run: of its kernel the release, and what an axis calls it."""
    own = run.variant.get(name) if name in TEXT_PATHS else None
    return _texts([run.field(name), None if own is None else as_written(own)])


def _texts(values: Sequence[str | None]) -> Sequence[Value]:
    return [("text", value) for value in values if value is not None]


def _text(text: str) -> Value:
    return ("text", text)
