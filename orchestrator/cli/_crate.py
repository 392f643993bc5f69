"""Writes runs as an RO-Crate, with the figures that their scenario names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.errors import OrchestratorError, UsageError

if TYPE_CHECKING:
    from results.experiments import Experiment
    from results.store import Store


def export(
    store: Store, source: Experiment | str, folder: Path, licence: str | None, force: bool
) -> int:
    """Write the crate of an experiment, or of the run with that id; return the exit status.

    A figure that cannot be drawn is named on standard error, and the status is that of
    ``UsageError``. The crate is written without it.

    Raises:
        UsageError: the folder exists (unless ``force``), or there is nothing to write.
    """
    from results import crate
    from results.experiments import of_rows
    from results.export.base import write_folder

    figures: dict[str, bytes] = {}
    failed = 0
    single = isinstance(source, str)
    if isinstance(source, str):
        row = store.load(source).row
        experiment = of_rows(row.experiment, [row])
    else:
        experiment = source
        figures, failed = _drawn(store, experiment)

    def write(draft: Path) -> None:
        crate.write(draft, store, experiment, figures, licence, single)

    write_folder(folder, crate.METADATA, force, write)
    return UsageError.exit_status if failed else 0


def _drawn(store: Store, experiment: Experiment) -> tuple[dict[str, bytes], int]:
    """Return the figures by file name, and how many could not be drawn."""
    from orchestrator.scenario.figures import figures_of
    from results.figures._drawing import content
    from results.figures._study import Study

    text = store.load(experiment.newest.id).head.scenario_text
    found: dict[str, bytes] = {}
    failed = 0
    for figure in figures_of(text):
        study = Study(store, experiment)
        try:
            found[figure.file] = content(figure, study)
        except OrchestratorError as error:
            click.echo(f"error: {figure.file} is not drawn: {error}", err=True)
            failed += 1
        for note in study.notes:
            click.echo(f"{figure.file}: {note}", err=True)
    return found, failed
