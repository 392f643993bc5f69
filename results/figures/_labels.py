"""Words and units on figures: metrics, axes and values as readers expect them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from orchestrator import plaintext
from results.matrix.axes import Axis, key, labels, number, shown
from results.metrics import any_scope
from results.records.model import Variant

_PREFIXES: Mapping[str, Sequence[tuple[float, str]]] = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")),
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")),
    "1/s": ((1, "1/s"),),
    "BDP (min)": ((1, "smallest BDP"),),
    "%": ((0.01, "%"),),
    "1": ((1, ""),),
}

_NEEDS_OWNER = ("kind", "limit", "probability", "name")
"""Keys that say little without the key that they belong to, such as ``queue.limit``."""

_WORDS = {
    "congestion": "congestion control",
    "count": "flows",
    "rtt": "RTT",
    "mtu": "MTU",
}


def scale(unit: str, values: Iterable[float]) -> tuple[float, str]:
    """Return (divisor, unit to show) for values in an SI unit: the largest becomes at least 1."""
    largest = max((abs(value) for value in values), default=0.0)
    prefixes = _PREFIXES.get(unit, ((1, unit),))
    for divisor, text in prefixes:
        if largest >= divisor:
            return divisor, text
    return prefixes[-1] if largest else prefixes[0]


def with_unit(label: str, unit: str) -> str:
    """Return a label of an axis, such as ``Goodput (Mbit/s)``."""
    return f"{label} ({unit})" if unit else label


def metric_unit(name: str) -> str:
    """Return the unit in which a metric is shown: its own, or % for a share."""
    entry = any_scope(name)
    return "%" if entry.format == "percent" else entry.unit


def metric_title(name: str) -> str:
    """Return the words for a metric, such as ``RTT mean``."""
    return (
        any_scope(name).title.replace("95 %", "95th percentile").replace("99 %", "99th percentile")
    )


def in_sentence(name: str) -> str:
    """Return the words for a metric as they stand within a sentence: ``RTT mean``, ``goodput``."""
    return lower(metric_title(name))


def lower(title: str) -> str:
    """Return a title as it stands within a sentence."""
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def axis_title(axis: Axis) -> str:
    """Return the words for an axis, with a capital letter."""
    text = axis_words(axis)
    return text[:1].upper() + text[1:]


def axis_words(axis: Axis) -> str:
    """Return the words for an axis of an experiment: those of the last parts of its path."""
    return _path_words(axis.path, axis.label)


def _path_words(whole: str, shown_as: str) -> str:
    path, label = whole.split("."), shown_as.split(".")
    if label[-1] in _NEEDS_OWNER and len(label) == 1 and len(path) > 1:
        label = path[-2:]
    return " ".join(_WORDS.get(part, part.replace("_", " ")) for part in label)


def variant_words(variant: Variant) -> str:
    """Return the words for a variant: ``rate 10 Mbit/s, queue limit 1 BDP``."""
    short = labels(list(variant))
    return ", ".join(
        f"{_path_words(path, short[path])} {value(setting)}" for path, setting in variant.items()
    )


def axis_unit(axis: Axis) -> str:
    """Return the unit in which an axis of numbers is shown."""
    percent = all(str(value).endswith("%") for value in axis.values)
    return "%" if percent else str(axis.unit)


def value(written: Any) -> str:
    """Return a value of a scenario for readers: ``10 Mbit/s`` of ``10mbit``."""
    if isinstance(written, Mapping):
        return _of_mapping(written, written)
    if isinstance(written, list):
        return "(" + ", ".join(map(value, written)) + ")"
    parsed = number(written)
    if parsed is None or parsed[1] == "1":
        return plain(shown(written))
    divisor, unit = scale(parsed[1], [parsed[0]])
    return f"{parsed[0] / divisor:g} {unit}"


def plain(text: str) -> str:
    """Return a text of a scenario for a figure: on one line, and without formulas."""
    return plaintext.one_line(text).replace("$", r"\$")


def short_texts(values: Sequence[Any]) -> list[str]:
    """Return the words for the values of an axis, where there is little room.

    Of mappings with different kinds or names these are enough.
    """
    mappings = [item for item in values if isinstance(item, Mapping)]
    firsts = [key(item.get(_first(item) or "")) for item in mappings]
    if len(mappings) < 2 or None in map(_first, mappings) or len(set(firsts)) < len(firsts):
        return value_texts(values)
    return [value(item[_first(item)] if isinstance(item, Mapping) else item) for item in values]


def _first(written: Mapping[str, Any]) -> str | None:
    """Return the key of a mapping that names it."""
    return next((name for name in ("kind", "name") if name in written), None)


def value_texts(values: Sequence[Any]) -> list[str]:
    """Return the words for the values of an axis; of mappings only what differs between them.

    ``{kind: codel, limit: 1bdp}`` beside ``{kind: pie, limit: 1bdp}`` is ``codel``.
    """
    mappings = [item for item in values if isinstance(item, Mapping)]
    kept = list(dict.fromkeys(name for item in mappings for name in item))
    differing = [
        name for name in kept if len({key(item.get(name)) for item in mappings}) > 1
    ]  # fmt: skip
    return [
        _of_mapping(item, differing or kept) if isinstance(item, Mapping) else value(item)
        for item in values
    ]


def _of_mapping(written: Mapping[str, Any], kept: Collection[str]) -> str:
    """Return the words for a mapping: its kind or name, and what is kept of the rest."""
    first = _first(written)
    rest = [
        f"{plain(_WORDS.get(name, name.replace('_', ' ')))} {value(item)}"
        for name, item in written.items()
        if name != first and name in kept
    ]
    if first is None or (first not in kept and rest):
        return ", ".join(rest) if rest else plain(shown(written))
    return f"{value(written[first])} ({', '.join(rest)})" if rest else value(written[first])


def tick_labels(axis: Axis) -> tuple[list[str], str]:
    """Return (labels of an axis's values, its title); the title has the unit of numbers."""
    title = axis_title(axis)
    if axis.numbers is None:
        return short_texts(axis.values), title
    divisor, unit = scale(axis_unit(axis), axis.numbers)
    return [f"{tick / divisor:g}" for tick in axis.numbers], with_unit(title, unit)
