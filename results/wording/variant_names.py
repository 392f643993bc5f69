"""Names variants on one line, by the values of their axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from results.matrix.axes import conditions, labels
from results.records.model import Variant


def one_line(values: Variant, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the values of a matrix on one line; ``names`` has short ones of paths."""
    return " ".join(conditions({names.get(path, path): value for path, value in values.items()}))


def short_names(variants: Iterable[Variant]) -> dict[str, str]:
    """Return the shortest name of each path of the variants that no other one ends with."""
    return labels(list(dict.fromkeys(path for variant in variants for path in variant)))
