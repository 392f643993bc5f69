"""Converts a network to JSON and back, so that a stored run can be judged again.

A run's resolved scenario is not enough for that: user modules, traces and lab inventories are
files, which may be gone or changed. The form of each dataclass and NamedTuple is an object with all
its fields. A model of loss, jitter or reordering has the form that it has in a scenario. A field
that was added later (:data:`_ADDED`) is left out while it has its default, as in runs before it.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from orchestrator.kinds.impairments import Jitter, Reordering
from orchestrator.kinds.losses import LOSSES, LossSpec
from orchestrator.kinds.losses.independent import Independent
from orchestrator.network import (
    Channel,
    JitterModel,
    LossModel,
    Network,
    RateModel,
    ReorderingModel,
)
from orchestrator.protocol.links.qdisc import Statistic
from topologies import TOPOLOGIES

T = TypeVar("T")

_ADDED: Mapping[Any, Mapping[str, Any]] = {
    Statistic: {"signed": False},
    Network: {
        "ecmp_seed": None,
        "spray": False,
        "tso_hosts": [],
        "small_queue_hosts": [],
        "gro_hosts": [],
        "qdisc_hosts": [],
        "machines": [],
    },
    Channel: {"delay_trace": None, "ring": None},
}
"""Fields that networks of earlier runs lack, with their defaults."""


class UnknownRates:
    """Replaces a rate model, which is not stored; QueueRecord.rate_steps has its rates."""

    def rates(self, seed: int, duration_s: float) -> NoReturn:
        """Raise LookupError, because the model was not stored."""
        del seed, duration_s
        raise LookupError("a stored network has no rate model; see QueueRecord.rate_steps")


def encode(network: Network) -> dict[str, Any]:
    """Return a network as JSON-ready data."""
    form = _encoded(network)
    assert isinstance(form, dict), "a dataclass has that form"
    return form


def decode(form: object) -> Network:
    """Return the network from its form, the inverse of :func:`encode`.

    Raises:
        ValueError: the form is malformed, or names an unknown loss model.
    """
    network: Network = _decoded(Network, form)
    return network


def _encoded(value: object) -> Any:
    if isinstance(value, LossSpec | Jitter | Reordering):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    record: Any = type(value)
    if _is_record(record):
        form = {
            name: _encoded(_stand_in(hint, getattr(value, name)))
            for name, hint in _fields(record).items()
        }
        added = _ADDED.get(record, {}).items()
        return {name: part for name, part in form.items() if (name, part) not in added}
    if isinstance(value, tuple):
        return [_encoded(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, UnknownRates):
        return {}
    raise TypeError(f"{type(value)} has no form in JSON")


def _stand_in(hint: Any, value: object) -> object:
    """Return the value of a field, with UnknownRates instead of a rate model."""
    is_model = value is not None and RateModel in get_args(hint)
    return UnknownRates() if is_model else value


def _decoded(hint: Any, form: object) -> Any:
    """Return the value of a type from its form; ValueError when the form does not fit."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if form is None and type(None) in args:
            return None
        hint = next((option for option in args if _suits(option, form)), None)
        return _decoded(hint, form)
    if origin is tuple:
        return _decoded_tuple(args, form)
    if origin is Literal and form in args:
        return form
    if hint in _MODELS and isinstance(form, dict | str | float | int):
        return _MODELS[hint](form)
    if _is_record(hint) and isinstance(form, Mapping):
        record: Any = hint
        hints = _fields(record)
        form = {**_ADDED.get(hint, {}), **form}
        if other := form.keys() ^ hints.keys():
            raise ValueError(f"{hint} has other fields: {sorted(other)[:3]}")
        values = {name: _decoded(hints[name], form[name]) for name in form}
        return record(**values)
    if hint in (str, int, float, bool) and _suits(hint, form):
        return form
    raise ValueError(f"{form!r:.80} is no {hint}")


def _decoded_tuple(args: tuple[Any, ...], form: object) -> tuple[Any, ...]:
    if not isinstance(form, list):
        raise ValueError(f"{form!r:.80} is no list")
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(_decoded(args[0], item) for item in form)
    if len(args) != len(form):
        raise ValueError(f"{form!r:.80} has not {len(args)} values")
    return tuple(_decoded(hint, item) for hint, item in zip(args, form, strict=True))


def _suits(hint: Any, form: object) -> bool:
    """Return whether a form may be that of a type; of a field's types, exactly one fits."""
    if hint in (str, bool, int):
        return type(form) is hint
    if hint is float:
        return type(form) in (int, float)
    return hint is not type(None)


def _is_record(hint: object) -> bool:
    """Return whether a type is a dataclass or a NamedTuple."""
    named = isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")
    return named or (isinstance(hint, type) and dataclasses.is_dataclass(hint))


@cache
def _fields(record: type[Any]) -> dict[str, Any]:
    """Return the types of a record's fields by name, without those that it computes itself."""
    hints = get_type_hints(record)
    if issubclass(record, tuple):
        return {name: hints[name] for name in record._fields}  # type: ignore[attr-defined]
    return {field.name: hints[field.name] for field in dataclasses.fields(record) if field.init}


def _loss(form: object) -> LossSpec:
    """Return a loss model, also one of a topology, which a scenario cannot name."""
    if form == {"kind": "independent", "probability": 1.0}:
        return Independent.model_construct(probability=1.0)
    kind = form.get("kind") if isinstance(form, Mapping) else None
    for model in _subclasses(LossSpec):  # type: ignore[type-abstract]  # only its subclasses
        if kind in get_args(model.model_fields["kind"].annotation):
            return model.model_validate(form)
    raise ValueError(f"there is no loss model {kind!r:.80}")


def _subclasses(base: type[T]) -> Iterator[type[T]]:
    _ = LOSSES.found, TOPOLOGIES.found  # imports the modules of all of them
    for subclass in base.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _no_rates(_form: object) -> UnknownRates:
    return UnknownRates()


_MODELS: Mapping[Any, Any] = {
    LossModel: _loss,
    JitterModel: Jitter.model_validate,
    ReorderingModel: Reordering.model_validate,
    RateModel: _no_rates,
}
"""Decoder of each field whose type is a protocol of a model."""
