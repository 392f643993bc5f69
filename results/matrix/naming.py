"""Names of runs and variants that stand beside each other: what tells each from the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from results.matrix.axes import axes, conditions, key, with_labels
from results.records.model import RunRow, Variant


def of_runs(rows: Sequence[RunRow]) -> list[str]:
    """Return a short name for each run: experiment, axes, repetition, seed, as far as these differ.

    Runs that differ in none of them have their ids.
    """
    parts = [
        [row.experiment for row in rows],
        distinctions([row.variant for row in rows]),
        [f"repetition {row.repetition}" for row in rows],
        [f"seed {row.seed}" for row in rows],
    ]
    used = [part for part in parts if len(set(part)) > 1]
    names = (_joined(used[:number]) for number in range(1, len(used) + 1))
    return _first_distinct(names) or [row.id for row in rows]


def of_variants(labels: Sequence[str], variants: Sequence[Variant]) -> list[str]:
    """Return a short name for each variant: values on axes, before them its experiment if needed.

    ``labels`` are those of the variants' experiments, ``NAME@HASH``. The name alone is used if it
    is enough.
    """
    values = distinctions(variants)
    short = [label.partition("@")[0] for label in labels]
    every = _joined([labels, values])
    return _first_distinct([values, _joined([short, values]), every]) or every


def distinctions(variants: Sequence[Variant]) -> list[str]:
    """Return for each variant its values on the axes on which they differ: ``AXIS=VALUE, ...``.

    Variants also differ in an axis on which only some of them have a value. A text is empty if a
    variant has no value on any of these axes.
    """
    differing = [
        axis
        for axis in axes(variants)
        if len({key(variant.get(axis.path)) for variant in variants}) > 1
    ]
    return [", ".join(conditions(with_labels(variant, differing))) for variant in variants]


def _joined(parts: Sequence[Sequence[str]]) -> list[str]:
    """Return the texts of each place joined, without empty ones."""
    return [", ".join(filter(None, names)) for names in zip(*parts, strict=True)]


def _first_distinct(names: Iterable[list[str]]) -> list[str] | None:
    """Return the first names that are all different and not empty, None if there are no such."""
    return next((each for each in names if len(set(each)) == len(each) and all(each)), None)
