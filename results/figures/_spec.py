"""The keys that figures share, and what they require of a scenario."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from orchestrator.errors import UsageError
from orchestrator.kinds.fields import Path, Strict
from orchestrator.suggestions import suggest
from orchestrator.units import listed, shortened, shown
from results.arrangement import Of
from results.axes import Where
from results.figures._style import FONT

if TYPE_CHECKING:
    from results.axes import Axis
    from results.figures._canvas import Canvas
    from results.figures._study import Study

FORMATS = ("pdf", "svg", "png")
"""Formats of figures, by the suffix of their files."""

MOST_CHARACTERS = 200

MOST_BRACES = 15
"""matplotlib's parser of mathematics recurses into braces; its errors are no clear ones."""

MOST_FIGURES = 100

Width = Literal["ieee", "ieee-wide", "acm", "acm-wide"]


def _file(name: str) -> str:
    if PurePath(name).name != name or name in ("", ".", "..") or not name.isprintable():
        raise ValueError(f"{shown(name)} is not a file name: write one without folders")
    suffix = PurePath(name).suffix.removeprefix(".")
    if suffix not in FORMATS:
        raise ValueError(
            f"{shown(name)} has no valid suffix; valid: {', '.join(f'.{one}' for one in FORMATS)}"
        )
    return name


def _metric(name: str) -> str:
    from results.metrics import METRICS

    valid = list(dict.fromkeys(one for one, _scope in METRICS))
    if name not in valid:
        raise ValueError(
            f"there is no metric {shown(name)}{suggest(name, valid)}; valid: {', '.join(valid)}"
        )
    return name


def one_or_several(value: object) -> object:
    """Return a list of a single text, and anything else as it is."""
    return [value] if isinstance(value, str) else value


def _words(text: str) -> str:
    """Refuse what would be drawn as an empty box or not at all; $...$ is TeX's mathematics."""
    if not text.isascii():
        from matplotlib.font_manager import findfont, get_font

        known = get_font(findfont(FONT)).get_charmap()
        missing = [char for char in text if ord(char) not in known]
        if missing:
            raise ValueError(f"{shown(text)}: the font {FONT} has no {shown(missing[0])}")
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"{shown(text)}: a label may have {MOST_CHARACTERS} characters")
    if "$" in text:
        if text.count("{") > MOST_BRACES or text.count("\\left") > MOST_BRACES:
            raise ValueError(f"{shown(text)}: a label may have {MOST_BRACES} pairs of braces")
        from matplotlib.mathtext import MathTextParser

        try:
            MathTextParser("path").parse(text)
        except ValueError as error:
            why = shortened(str(error).strip().splitlines()[-1], 80)
            raise ValueError(
                f"{shown(text)} is not valid between dollar signs: {why}; write `\\$` for a dollar"
            ) from None
    return text


Words = Annotated[str, AfterValidator(_words)]
"""Text on a figure, in characters of its font."""

FileName = Annotated[
    str,
    AfterValidator(_file),
    WithJsonSchema({"type": "string", "pattern": r"\.(pdf|svg|png)$", "examples": ["fig.pdf"]}),
]
"""A name of a figure's file, without folders."""

MetricName = Annotated[str, AfterValidator(_metric)]
"""The name of a metric of ``results.metrics``."""

Names = Annotated[
    list[str],
    BeforeValidator(one_or_several),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""A list of names; a single one may stand for itself."""


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
        from results.axes import named

        try:
            named(name, self.axes)
        except UsageError as error:
            yield path, str(error)

    def where_faults(self, where: Where) -> Iterator[tuple[Path, str]]:
        """Yield the fault of a condition, or of the values by axis."""
        from results.conditions import of_variants

        if not isinstance(where, str):
            for axis, value in where.items():
                yield from self.value_faults(("where", axis), axis, value)
            return
        try:
            of_variants(where, self.axes)
        except ValueError as error:
            yield ("where",), str(error)

    def value_faults(self, path: Path, name: str, value: object) -> Iterator[tuple[Path, str]]:
        """Yield the fault of an axis, or of a value on it, that is not there."""
        from results.axes import named
        from results.axes import shown as written

        try:
            axis = named(name, self.axes)
        except UsageError as error:
            yield path, str(error)
            return
        valid = [written(one) for one in axis.values]
        if written(value) not in valid:
            yield (
                path,
                f"{axis.label} has no value {written(value)}; its values are {', '.join(valid)}",
            )


def _name_faults(
    path: Path, what: str, name: str, valid: Sequence[str]
) -> Iterator[tuple[Path, str]]:
    if name not in valid and name.partition("[")[0] not in valid:
        hint = suggest(name, valid)
        yield path, f"there is no {what} {shown(name)}{hint}; defined: {listed(valid) or 'none'}"


class FigureSpec(Strict, ABC):
    """A figure."""

    source: ClassVar[str] = "EXPERIMENT"
    """What the command line gives: EXPERIMENT, or RUN for a figure of a single run."""

    file: FileName = Field(description="name of the file to write; its suffix is the format")
    width: Width = Field(
        default="ieee",
        description="width of the column or, with `-wide`, of the page that it goes into",
    )
    where: Where = Field(
        default_factory=dict,
        description="only variants with these values by axis, or that fit a condition",
    )
    names: dict[str, Words] = Field(
        default_factory=dict, description="other words for names in the legend and on axes"
    )
    x_label: Words | None = Field(default=None, description="the horizontal axis's label")
    y_label: Words | None = Field(default=None, description="the vertical axis's label")

    @abstractmethod
    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw the figure from what the study has.

        Raises:
            UsageError: the runs do not have what the figure shows.
        """

    def named_axes(self) -> Iterator[tuple[Path, str]]:
        """Yield (path of the key, axis) for each axis that it names beside ``where``."""
        yield from ()

    def named_flows(self) -> Iterator[tuple[Path, str]]:
        """Yield (path of the key, flow or flow entry) for each one that the figure names."""
        yield from ()

    def named_windows(self) -> Iterator[tuple[Path, str]]:
        """Yield (path of the key, window) for each window that the figure names."""
        yield from ()

    def faults(self, names: ScenarioNames) -> Iterator[tuple[Path, str]]:
        """Yield (path inside the figure, message) for what the scenario does not have."""
        yield from names.where_faults(self.where)
        for path, name in self.named_axes():
            yield from names.axis_faults(path, name)
        for path, name in self.named_flows():
            yield from names.flow_faults(path, name)
        for path, name in self.named_windows():
            yield from names.window_faults(path, name)


class OfExperiment(FigureSpec):
    """A figure of values over repetitions."""

    flow: Names = Field(default_factory=list, description="only these flow entries")
    of: Of | None = Field(
        default=None,
        description="values of flow entries, whole runs or links; of the first that the metric has",
    )
    window: str | None = Field(default=None, description="the metrics of this window")

    def summary(self, study: Study, *metrics: str, parts: int = 0) -> dict[str, Any]:
        """Return the study's summary of what the figure keeps; with ``parts``, with drifts."""
        return study.summary(metrics, self.where, self.flow, self.window, parts)

    def named_flows(self) -> Iterator[tuple[Path, str]]:
        """Yield the flow entries that the figure keeps."""
        yield from ((("flow", index), name) for index, name in enumerate(self.flow))

    def named_windows(self) -> Iterator[tuple[Path, str]]:
        """Yield the window of the metrics."""
        if self.window is not None:
            yield ("window",), self.window
