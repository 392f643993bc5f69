"""Writes a stored run or an experiment to files: CSV, JSON, Parquet, pcapng, RO-Crate and so on.

Files that a run keeps of its programs are written as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.application import experiments
from orchestrator.application.events import Listener, notices
from orchestrator.application.stored import crate_export, kept_export
from orchestrator.errors import UsageError
from results.crate import crate_files as crate
from results.export import FORMATS, no_samples
from results.export import export as export_run
from results.runs import captures
from results.store.store import Store
from results.tables import experiment_table
from results.traces.choice import TraceChoice, trace_with
from results.traces.places import ALL

if TYPE_CHECKING:
    from results.experiment.experiments import Experiment
    from results.runs.captures import HostClock


_OF_FRAMES = ("pcapng", "tcpdump")
"""Formats of the frames of a trace."""


@dataclass(frozen=True)
class ExportRequest:
    """What is exported, and where to.

    ``what`` is a run, an experiment or a scenario file. ``form`` is the name of a format; by
    default it is the extension of the output. ``licence`` is that of a crate's data. ``force``
    overwrites files. ``trace`` is the number of a trace of the run, and ``place`` a host or a queue
    in it: both are for formats of traces.
    """

    what: str
    output: Path
    form: str | None = None
    licence: str | None = None
    force: bool = False
    trace: int | None = None
    place: str | None = None


@dataclass(frozen=True)
class ExportedFiles:
    """The files that were written, and the exit status: 2 if a figure could not be drawn.

    ``without_samples`` says why the file of a run has no samples; empty where it has them.
    ``missing`` has a text for each thing that is missing of an exported trace, and ``clocks`` the
    clocks of its times if there are several.
    """

    files: Sequence[Path]
    status: int = 0
    without_samples: str = ""
    missing: Sequence[str] = ()
    clocks: Sequence[HostClock] = ()


def export(request: ExportRequest, db: Path, listener: Listener) -> ExportedFiles:
    """Write a stored run with all samples, or an experiment's metrics.

    Raises:
        UsageError: there is no such format, run or experiment, or a file exists.
        StoreError: the store cannot be read.
    """
    form = _form(request)
    with Store.open_read_only(db) as store:
        source = experiments.run_or_experiment(store, request.what, notices(listener))
        if form == crate.NAME:
            status = crate_export.export(
                store, source, request.output, request.licence, request.force, listener
            )
            return ExportedFiles([request.output], status)
        if form == kept_export.NAME:
            if not isinstance(source, str):
                raise UsageError(f"--format {form}: an experiment keeps no files; name a run")
            stored = store.load(source)
            files = kept_export.export(stored, request.output)
            return ExportedFiles(files, missing=kept_export.left_out(stored))
        if not isinstance(source, str):
            _export_experiment(store, source, request, form)
            return ExportedFiles([request.output])
        stored = store.load(source)
        choice = TraceChoice(request.trace, request.place)
        files = export_run(stored, form, request.output, request.force, choice)
        if form not in _OF_FRAMES:
            return ExportedFiles(files, without_samples=no_samples(stored))
        head = trace_with(stored, request.trace, "frames")
        hosts = captures.captured_hosts(stored, head)
        clocks = captures.host_clocks(stored, hosts) if request.place == ALL else ()
        return ExportedFiles(files, missing=captures.incomplete(head, hosts), clocks=clocks)


def _form(request: ExportRequest) -> str:
    """Return the name of the format.

    Raises:
        UsageError: there is no such format, or it does not fit the output, the licence or a trace.
    """
    name, output = request.form, request.output
    chosen = output.name.removesuffix(".gz").rpartition(".")[2] if name is None else name
    if chosen == "ro-crate":  # as RO-Crate itself is spelt
        chosen = crate.NAME
    valid = sorted({*FORMATS, *experiment_table.WRITERS, crate.NAME, kept_export.NAME})
    if chosen not in valid:
        wrong = f"--format {name}" if name is not None else f"{output}: its suffix is no format"
        raise UsageError(f"{wrong}: choose one of {', '.join(valid)} with --format")
    if request.licence is not None and chosen != crate.NAME:
        raise UsageError(f"--license: it is for --format {crate.NAME}")
    of_traces = [name for name, form in FORMATS.items() if form.write_trace is not None]
    at_places = [name for name, form in FORMATS.items() if form.at_places]
    for option, value, able in (
        ("--trace", request.trace, of_traces),
        ("--at", request.place, at_places),
    ):
        if value is not None and chosen not in able:
            raise UsageError(f"{option}: it is for --format {', '.join(able)}")
    if chosen == kept_export.NAME and request.force:
        raise UsageError(f"--force: --format {chosen} writes a new folder only")
    if chosen not in (crate.NAME, kept_export.NAME) and output.is_dir():
        raise UsageError(f"-o {output}: it is a folder; give a file")
    return chosen


def _export_experiment(
    store: Store, experiment: Experiment, request: ExportRequest, form: str
) -> None:
    if form not in experiment_table.WRITERS:
        raise UsageError(
            f"--format {form}: of an experiment there is {' or '.join(experiment_table.WRITERS)}; "
            f"name a run for {form}"
        )
    if request.trace is not None:
        raise UsageError("--trace: an experiment has no trace; name a run")
    experiment_table.write(store, experiment, {form: request.output}, request.force)
