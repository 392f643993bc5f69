"""A figure as a value of Python: a notebook shows it, and it can be written to a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.application.stored.plot import Drawing
from orchestrator.errors import UsageError


@dataclass(frozen=True)
class Picture:
    """A figure that was drawn, and its notes, such as the number of runs that are left out."""

    drawing: Drawing

    @property
    def notes(self) -> Sequence[str]:
        """What a reader must know of the values that the figure shows."""
        return self.drawing.notes

    def write(self, output: str | Path) -> None:
        """Write the figure's file; an earlier one is replaced.

        Raises:
            UsageError: it cannot be written, or its name ends with another format.
        """
        path = Path(output)
        if path.suffix != f".{self.drawing.form}":
            raise UsageError(
                f"{path}: this figure is {self.drawing.form}; plot(..., form=...) makes others"
            )
        self.drawing.write(path)

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str | bytes]:
        """Return the figure for a notebook; a PDF has no picture there."""
        content = self.drawing.content
        match self.drawing.form:
            case "svg":
                return {"image/svg+xml": content.decode()}
            case "png":
                return {"image/png": content}
        return {"text/plain": f"a figure, {len(content)} bytes of {self.drawing.form}"}
