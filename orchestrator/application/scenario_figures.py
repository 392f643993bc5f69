"""Draws the figures that a scenario names, after its runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.application.events import FigureDrawn, FigureNote, FigureRefused, Listener
from orchestrator.errors import UsageError
from results.experiment.experiments import of_runs
from results.figures._drawing import write
from results.figures._study import Study
from results.store.store import Store

if TYPE_CHECKING:
    from results.figures import FigureSpec

FOLDER = "plots"
"""Name of the folder beside the store that has a folder of figures for each experiment."""


def prepare(figures: Sequence[FigureSpec], folder: Path | None) -> None:
    """Make the folder that the user named for the figures.

    Raises:
        UsageError: there are no figures to put there, or it cannot be made.
    """
    if folder is None:
        return
    if not figures:
        raise UsageError("--figures: the scenario names no figures (a key `figures`)")
    _make(folder)


def draw(
    figures: Sequence[FigureSpec],
    ids: Sequence[str],
    db: Path,
    folder: Path | None,
    listener: Listener,
    several: bool = False,
) -> int:
    """Draw the figures of the experiment that the runs belong to; return the exit status.

    With ``several`` experiments each has a folder of its own. Events tell where figures are, what
    they leave out, and which could not be drawn.
    """
    if not figures or not ids:
        return 0

    status = 0
    with Store.open_read_only(db) as store:
        experiment = of_runs(store, ids)
        target = db.parent / FOLDER / experiment.label
        if folder is not None:
            target = folder / experiment.label if several else folder
        _make(target)
        for figure in figures:
            study = Study(store, experiment)
            try:
                write(figure, study, target / figure.file)
            except UsageError as error:
                listener(FigureRefused(figure.file, str(error)))
                status = UsageError.exit_status
                continue
            for note in study.notes:
                listener(FigureNote(figure.file, note))
            listener(FigureDrawn(target / figure.file))
    return status


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made: {error}") from error
