"""Complementary distribution functions, for tails."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from results.figures.cdf import CdfFigure


class CcdfFigure(CdfFigure):
    """The share of values above each value, on a logarithmic axis: how long the tail is.

    It takes the values that the kind `cdf` takes.
    """

    complementary: ClassVar[bool] = True

    kind: Literal["ccdf"] = Field(  # type: ignore[assignment]
        description="complementary cumulative distribution function"
    )
    log_y: bool = Field(default=True, description="logarithmic vertical axis")
