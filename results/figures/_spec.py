"""The keys that figures share, and what they require of a scenario."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from orchestrator.kinds.fields import Path, Strict
from orchestrator.units import shortened, shown
from results.experiment.model import Summary
from results.experiment.names import ScenarioNames
from results.figures._frame import FigureFrame, HeightIn, OtherWords, Place, quantity, reference
from results.figures._style import FONT
from results.layout.series import Of
from results.matrix.axes import Where

if TYPE_CHECKING:
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
            f"{shown(name)} has no valid suffix; valid: {', '.join(f'.{form}' for form in FORMATS)}"
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

Names = Annotated[
    list[str],
    BeforeValidator(one_or_several),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""A list of names; a single one may stand for itself."""


def _reference(written: str) -> str:
    _words(reference(written).label)
    return written


def _references(value: object) -> object:
    """Return numbers as texts, and a single one as a list."""
    given = value if isinstance(value, list) else [value]
    return [
        str(item) if isinstance(item, int | float) and not isinstance(item, bool) else item
        for item in given
    ]


References = Annotated[
    list[Annotated[str, AfterValidator(_reference)]],
    BeforeValidator(_references),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": ["string", "number"]},
                {"type": "array", "items": {"type": ["string", "number"]}},
            ],
            "examples": ["50%=fair share"],
        }
    ),
]
"""Values, each with a label after ``=``; a single one may stand for itself."""

END_NAMES = ("from", "to")

INTERVALS = "Bars are 95% confidence intervals (Student's t over runs)"
SINGLE = "Each value is of a single run and has no interval"


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
    names: Annotated[dict[str, Words], AfterValidator(OtherWords)] = Field(
        default_factory=OtherWords, description="other words for names in the legend and on axes"
    )
    legend: dict[str, Words] = Field(
        default_factory=dict,
        description="other words for whole entries of the legend, by what stands there without",
    )
    x_label: Words | None = Field(default=None, description="the horizontal axis's label")
    y_label: Words | None = Field(default=None, description="the vertical axis's label")
    height: HeightIn | None = Field(
        default=None, description="height of the figure, such as `60mm` or `2.4in`"
    )
    x_from: Place | None = Field(
        default=None,
        description="least value on the horizontal axis, with a unit (`10mbit`) or in that shown",
    )
    x_to: Place | None = Field(default=None, description="largest value on the horizontal axis")
    y_from: Place | None = Field(default=None, description="least value on the vertical axis")
    y_to: Place | None = Field(default=None, description="largest value on the vertical axis")
    reference: References = Field(
        default_factory=list,
        description="horizontal lines at these values, each `VALUE` or `VALUE=LABEL` with a label "
        "for the legend",
    )
    reference_x: References = Field(
        default_factory=list, description="vertical lines, in the same way"
    )

    def frame(self) -> FigureFrame:
        """Return what the user sets around the content."""
        ends: dict[tuple[Any, Any], Any] = {
            (which, end): getattr(self, f"{which}_{end}") for which in "xy" for end in END_NAMES
        }
        return FigureFrame(
            self.height,
            {axis_end: quantity(value) for axis_end, value in ends.items() if value is not None},
            {"y": [*map(reference, self.reference)], "x": [*map(reference, self.reference_x)]},
            self.legend,
        )

    @abstractmethod
    def draw(self, canvas: Canvas, study: Study) -> None:
        """Draw the figure from what the study has.

        Raises:
            UsageError: the runs do not have what the figure shows.
        """

    def require_names(self) -> None:
        """Require that the figure, which was drawn, has a line or value of each of ``names``.

        A report that draws a part of a scenario's figure does not: a name may be of another part.

        Raises:
            UsageError: it has not.
        """
        if isinstance(self.names, OtherWords):
            self.names.require_used()

    def caption(self, study: Study) -> str:
        """Return what a report says below the figure; ``study`` is what it was drawn from."""
        text = " ".join((type(self).__doc__ or "").split("\n\n")[0].split())
        return f"{text} Each value is of {study.repetitions()}."

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


class ExperimentFigure(FigureSpec):
    """A figure of values over repetitions."""

    flow: Names = Field(default_factory=list, description="only these flow entries")
    of: Of | None = Field(
        default=None,
        description="values of flow entries, whole runs or links; of the first that the metric has",
    )
    window: str | None = Field(default=None, description="the metrics of this window")

    def summary(self, study: Study, *metrics: str, parts: int = 0) -> Summary:
        """Return the study's summary of what the figure keeps; with ``parts``, with drifts."""
        return study.summary(metrics, self.where, self.flow, self.window, parts)

    def named_flows(self) -> Iterator[tuple[Path, str]]:
        """Yield the flow entries that the figure keeps."""
        yield from ((("flow", index), name) for index, name in enumerate(self.flow))

    def named_windows(self) -> Iterator[tuple[Path, str]]:
        """Yield the window of the metrics."""
        if self.window is not None:
            yield ("window",), self.window
