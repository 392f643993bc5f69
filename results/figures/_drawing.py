"""Draws a figure and writes its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import MachineError, UsageError
from orchestrator.files.temporary import temporary_folder
from results.figures import _style
from results.figures._canvas import Canvas

if TYPE_CHECKING:
    from results.figures._spec import FigureSpec
    from results.figures._study import Study


def content(figure: FigureSpec, study: Study) -> bytes:
    """Return the figure's file; equal runs give equal bytes.

    Raises:
        UsageError: the runs do not have what the figure shows.
    """
    with _style.applied():
        canvas = Canvas(figure.width)
        figure.draw(canvas, study)
        return canvas.content(figure.file.rpartition(".")[2])


def write(figure: FigureSpec, study: Study, path: Path) -> None:
    """Write the figure to a file, complete or not at all; an earlier file is replaced.

    Raises:
        UsageError: the runs do not have what the figure shows, or the file cannot be written.
    """
    data = content(figure, study)
    try:
        with temporary_folder("figure", path.absolute().parent) as folder:
            draft = folder / path.name
            draft.write_bytes(data)
            draft.replace(path)
    except (OSError, MachineError) as error:
        raise UsageError(f"{path}: cannot be written: {error}") from error
