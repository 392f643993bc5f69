"""Writes runs as an RO-Crate, with the figures that their scenario names."""

from __future__ import annotations

import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.application.events import FigureNote, FigureRefused, Listener
from orchestrator.errors import OrchestratorError, UsageError
from orchestrator.files.atomic_writes import write_all, write_folder
from orchestrator.files.temporary import temporary_folder
from orchestrator.scenario.figures import figures_of
from results.crate import crate_files
from results.experiment.experiments import of_rows
from results.figures._drawing import content
from results.figures._study import Study

if TYPE_CHECKING:
    from results.experiment.experiments import Experiment
    from results.store.store import Store


def export(
    store: Store,
    source: Experiment | str,
    folder: Path,
    licence: str | None,
    force: bool,
    listener: Listener,
) -> int:
    """Write the crate of an experiment, or of the run with that id; return the exit status.

    A figure that cannot be drawn is told to the listener, and the status is that of ``UsageError``.
    The crate is written without it.

    Raises:
        UsageError: the folder exists (unless ``force``), or there is nothing to write.
    """
    figures: dict[str, bytes] = {}
    failed = 0
    single = isinstance(source, str)
    if isinstance(source, str):
        row = store.load(source).row
        experiment = of_rows(row.experiment, [row])
    else:
        experiment = source
        figures, failed = _drawn(store, experiment, listener)

    def write(draft: Path) -> None:
        crate_files.write(draft, store, experiment, figures, licence, single)

    if folder.suffix == ".zip":
        write_all([folder], force, lambda drafts: _archive(drafts[0], write))
    else:
        write_folder(folder, crate_files.METADATA, force, write)
    return UsageError.exit_status if failed else 0


def _archive(draft: Path, write: Callable[[Path], None]) -> None:
    """Write a ZIP archive of the crate; equal crates give equal archives."""
    with temporary_folder("crate", draft.parent) as content:
        write(content)
        with zipfile.ZipFile(draft, "w") as archive:
            for path in sorted(path for path in content.rglob("*") if path.is_file()):
                info = zipfile.ZipInfo(path.relative_to(content).as_posix())
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = (stat.S_IFREG | 0o644) << 16
                with path.open("rb") as source, archive.open(info, "w") as entry:
                    shutil.copyfileobj(source, entry)


def _drawn(
    store: Store, experiment: Experiment, listener: Listener
) -> tuple[dict[str, bytes], int]:
    """Return the figures by file name, and how many could not be drawn."""
    text = store.load(experiment.newest.id).head.scenario_text
    by_file: dict[str, bytes] = {}
    failed = 0
    for figure in figures_of(text):
        study = Study(store, experiment)
        try:
            by_file[figure.file] = content(figure, study)
        except OrchestratorError as error:
            listener(FigureRefused(figure.file, str(error)))
            failed += 1
        for note in study.notes:
            listener(FigureNote(figure.file, note))
    return by_file, failed
