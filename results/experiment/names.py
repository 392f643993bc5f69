"""Names that a scenario may use of metrics, and of its own axes, flow entries and windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator

from orchestrator.errors import UsageError
from orchestrator.kinds.fields import Path
from orchestrator.suggestions import suggest
from orchestrator.units import listed, quoted_list, shown
from results.matrix.axes import named
from results.matrix.axes import shown as written
from results.metrics import METRICS, is_extracted
from results.query.conditions import ConditionError, of_variants

if TYPE_CHECKING:
    from results.matrix.axes import Axis, Where


def _metric(name: str) -> str:
    valid = list(dict.fromkeys(known for known, _scope in METRICS))
    if name not in valid and not is_extracted(name):
        raise ValueError(
            f"there is no metric {shown(name)}{suggest(name, valid)}; valid: {', '.join(valid)}"
        )
    return name


MetricName = Annotated[str, AfterValidator(_metric)]
"""The name of a metric of ``results.metrics``."""


@dataclass(frozen=True)
class ScenarioNames:
    """The names that a figure of a scenario may use: of its axes, flow entries and windows."""

    axes: Sequence[Axis]
    entries: Sequence[str]
    windows: Sequence[str]

    def flow_faults(self, path: Path, name: str) -> Iterator[tuple[Path, str]]:
        """Yield the fault of a flow or flow entry that is not there."""
        yield from _name_faults(path, "flow entry", name, self.entries)

    def window_faults(self, path: Path, name: str) -> Iterator[tuple[Path, str]]:
        """Yield the fault of a window that is not there."""
        yield from _name_faults(path, "window", name, self.windows)

    def axis_faults(self, path: Path, name: str) -> Iterator[tuple[Path, str]]:
        """Yield the fault of an axis that is not there."""
        try:
            named(name, self.axes)
        except UsageError as error:
            yield path, str(error)

    def where_faults(self, where: Where) -> Iterator[tuple[Path, str]]:
        """Yield the fault of a condition, or of the values by axis."""
        if not isinstance(where, str):
            for axis, value in where.items():
                yield from self.value_faults(("where", axis), axis, value)
            return
        try:
            of_variants(where, self.axes)
        except ConditionError as error:
            yield ("where",), f"column {error.column}: {error.problem}"

    def value_faults(self, path: Path, name: str, value: object) -> Iterator[tuple[Path, str]]:
        """Yield the fault of an axis, or of a value on it, that is not there."""
        try:
            axis = named(name, self.axes)
        except UsageError as error:
            yield path, str(error)
            return
        valid = [written(axis_value) for axis_value in axis.values]
        if written(value) not in valid:
            yield (
                path,
                f"{axis.label} has no value {written(value)}; its values are {quoted_list(valid)}",
            )


def _name_faults(
    path: Path, what: str, name: str, valid: Sequence[str]
) -> Iterator[tuple[Path, str]]:
    if name not in valid and name.partition("[")[0] not in valid:
        hint = suggest(name, valid)
        yield path, f"there is no {what} {shown(name)}{hint}; defined: {listed(valid) or 'none'}"
