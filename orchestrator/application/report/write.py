"""Writes a report of stored experiments as one HTML file and one PDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.application import experiments
from orchestrator.application.events import Listener, notices
from orchestrator.application.report.experiment_section import section
from orchestrator.application.report.section_figures import ReportSelection
from orchestrator.errors import UsageError
from orchestrator.files.atomic_writes import write_all
from results.report import typeset
from results.store.store import Store

NAMES = ("report.html", "report.pdf")


@dataclass(frozen=True)
class ReportRequest:
    """Which experiments a report is of, and its folder.

    An experiment is a name, ``NAME@HASH`` or a scenario file. ``force`` overwrites files.
    """

    experiments: Sequence[str]
    folder: Path
    selection: ReportSelection = field(default_factory=ReportSelection)
    force: bool = False


def report(request: ReportRequest, db: Path, listener: Listener) -> list[Path]:
    """Write the report and return its files.

    Raises:
        UsageError: there is no such experiment, axis, flow entry or metric, no variant fits, or the
            files exist or cannot be written.
        StoreError: the store cannot be read.
    """
    with Store.open_read_only(db) as store:
        chosen = [experiments.find(store, name, notices(listener)) for name in request.experiments]
        sections = [section(store, experiment, request.selection) for experiment in chosen]
    title = ", ".join(dict.fromkeys(experiment.name for experiment in chosen))
    page, document = typeset(title, sections)
    try:
        request.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{request.folder}: cannot be made: {error.strerror}") from None

    def write(drafts: Sequence[Path]) -> None:
        drafts[0].write_text(page, encoding="utf-8")
        drafts[1].write_bytes(document)

    files = [request.folder / name for name in NAMES]
    write_all(files, request.force, write)
    return files
