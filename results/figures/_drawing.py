"""Draws a figure and writes its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import MachineError
from orchestrator.files.atomic_writes import require_folder
from orchestrator.files.system_errors import unwritable
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
        return drawn(figure, study).content(figure.file.rpartition(".")[2])


def drawn(figure: FigureSpec, study: Study) -> Canvas:
    """Return the canvas with the figure; call it inside ``_style.applied()``.

    Raises:
        UsageError: the runs do not have what the figure shows.
    """
    canvas = Canvas(figure.width, figure.frame())
    figure.draw(canvas, study)
    canvas.finish()
    return canvas


def write(figure: FigureSpec, study: Study, path: Path) -> None:
    """Draw the figure into a file, complete or not at all; an earlier file is replaced.

    Raises:
        UsageError: the runs do not have what the figure shows, or the file cannot be written.
    """
    put(content(figure, study), path)


def put(data: bytes, path: Path) -> None:
    """Write the file of a figure, complete or not at all; an earlier one is replaced.

    Raises:
        UsageError: it cannot be written.
    """
    require_folder(path)
    try:
        with temporary_folder("figure", path.absolute().parent) as folder:
            draft = folder / path.name
            draft.write_bytes(data)
            draft.replace(path)
    except (OSError, MachineError) as error:
        raise unwritable(path, error) from error
