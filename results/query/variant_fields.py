"""What a condition can say about the variants of an experiment: the values of its axes.

Conditions on runs can name more (:mod:`results.query.run_fields`). Values over repetitions are not
chosen by their results, so a condition on variants names no metric.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.errors import UsageError
from orchestrator.plaintext import one_line
from orchestrator.suggestions import suggest
from orchestrator.units import TEXT_PATHS, quoted_list
from orchestrator.units import shown as quoted
from results.matrix.axes import Axis, named, shown
from results.query.run_fields import (
    WRITTEN,
    FieldError,
    RunField,
    Value,
    axis_values,
    comparable,
    text_field,
)
from results.records.model import Variant


def find(name: str, axes: Sequence[Axis]) -> RunField[Variant]:
    """Return the field of the axis with that path, or of the only one that ends so.

    Raises:
        FieldError: there is none, or several axes end with the name.
    """
    try:
        axis = named(name, axes)
    except UsageError as error:
        raise FieldError(str(error)) from None
    texts = [shown(value) for value in axis.values]
    if axis.path in TEXT_PATHS:
        return text_field(axis.label, lambda variant: variant.get(axis.path), axis.values)
    known = {comparable(value) for value in axis.values}

    def values(variant: Variant) -> Sequence[Value]:
        return axis_values(variant[axis.path]) if axis.path in variant else []

    def parse(text: str) -> Value:
        wanted = comparable(text)
        if wanted[0] not in {unit for unit, _value in known}:
            raise FieldError(
                f"{axis.label} has values such as {one_line(texts[0])}; not {quoted(text)}"
            )
        return wanted

    def parse_equal(text: str) -> Value:
        if text in texts:
            return (WRITTEN, text)
        if comparable(text) in known:
            return comparable(text)
        raise FieldError(
            f"{axis.label} has no value {one_line(text)}{suggest(text, texts)}; its values are "
            f"{quoted_list(map(one_line, texts))}"
        )

    return RunField(axis.label, values, parse, parse_equal=parse_equal, written=texts)
