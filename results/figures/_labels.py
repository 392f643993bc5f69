"""Words and units on figures: metrics, axes and values as readers expect them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from results.axes import number, shown

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


def with_unit(words: str, unit: str) -> str:
    """Return a label of an axis, such as ``Goodput (Mbit/s)``."""
    return f"{words} ({unit})" if unit else words


def metric_unit(name: str) -> str:
    """Return the unit in which a metric is shown: its own, or % for a share."""
    from results.metrics import METRICS

    one = next(metric for (metric_name, _scope), metric in METRICS.items() if metric_name == name)
    return "%" if one.format == "percent" else one.unit


def metric_title(name: str) -> str:
    """Return the words for a metric, such as ``RTT mean``."""
    from results.metrics import METRICS

    title = next(one.title for (metric_name, _), one in METRICS.items() if metric_name == name)
    return title.replace("95 %", "95th percentile").replace("99 %", "99th percentile")


def axis_title(axis: Mapping[str, Any]) -> str:
    """Return the words for an axis, with a capital letter."""
    text = axis_words(axis)
    return text[:1].upper() + text[1:]


def axis_words(axis: Mapping[str, Any]) -> str:
    """Return the words for an axis of an experiment: those of the last parts of its path."""
    path, label = axis["path"].split("."), axis["label"].split(".")
    if label[-1] in _NEEDS_OWNER and len(label) == 1 and len(path) > 1:
        label = path[-2:]
    return " ".join(_WORDS.get(part, part.replace("_", " ")) for part in label)


def axis_unit(axis: Mapping[str, Any]) -> str:
    """Return the unit in which an axis of numbers is shown."""
    percent = all(str(value).endswith("%") for value in axis["values"])
    return "%" if percent else str(axis["unit"])


def value(written: Any) -> str:
    """Return a value of a scenario for readers: ``10 Mbit/s`` of ``10mbit``."""
    found = number(written)
    if found is None or found[1] == "1":
        return shown(written)
    divisor, unit = scale(found[1], [found[0]])
    return f"{found[0] / divisor:g} {unit}"


def tick_labels(axis: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return (labels of an axis's values, its title); the title has the unit of numbers."""
    title = axis_title(axis)
    if axis["numbers"] is None:
        return [value(one) for one in axis["values"]], title
    divisor, unit = scale(axis_unit(axis), axis["numbers"])
    return [f"{one / divisor:g}" for one in axis["numbers"]], with_unit(title, unit)
