"""Kinds of figures, found like kinds of queues: each is one file in this folder.

A kind is a class with its keys and with ``draw()``. The keys are those of a scenario's
``figures`` and the options of ``orchestrator plot KIND``. matplotlib is imported when a figure is
drawn, not before. A file whose name begins with an underscore is no kind.
"""

from __future__ import annotations

from orchestrator.kinds.registry import Kinds
from results.figures._spec import MOST_FIGURES, FigureSpec

FIGURES = Kinds(
    "figure",
    "results.figures",
    FigureSpec,  # type: ignore[type-abstract]  # only ever compared with
)
"""Every kind of figure by its name."""

__all__ = ["FIGURES", "MOST_FIGURES", "FigureSpec"]
