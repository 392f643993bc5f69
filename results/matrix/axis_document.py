"""Axes by the models of the contract, for all documents that have any."""

from __future__ import annotations

from results.contract import experiments as contract
from results.contract.base import Variant
from results.matrix.axes import Axis


def axis(made: Axis) -> contract.Axis:
    """Return an axis with its values as numbers."""
    return contract.Axis.model_construct(
        path=made.path,
        paths=list(made.paths),
        label=made.label,
        unit=made.unit,
        values=list(made.values),
        numbers=None if made.numbers is None else list(made.numbers),
        sets=_sets(made),
    )


def listed_axis(made: Axis) -> contract.ListedAxis:
    """Return an axis as the list of experiments has it."""
    return contract.ListedAxis.model_construct(
        path=made.path,
        paths=list(made.paths),
        label=made.label,
        values=list(made.values),
        sets=_sets(made),
    )


def _sets(made: Axis) -> dict[str, Variant] | None:
    """Return what each named value of an axis sets, None of an axis without names."""
    if made.sets is None:
        return None
    return {name: dict(there) for name, there in made.sets.items()}
