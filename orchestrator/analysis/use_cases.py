"""The use cases of the command line for Python and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator import backends
from orchestrator.analysis.explained import Explained
from orchestrator.analysis.picture import Picture
from orchestrator.analysis.progress_bar import ProgressBar
from orchestrator.application import events, repeating
from orchestrator.application import run as running
from orchestrator.application import zoom as zooming
from orchestrator.application.executor import LOCAL, choose
from orchestrator.application.making_runs import RunSettings
from orchestrator.application.outcomes import SuiteResult
from orchestrator.application.report import write as reporting
from orchestrator.application.report.section_figures import ReportSelection
from orchestrator.application.scenarios import plan as planning
from orchestrator.application.stored import diff as parting
from orchestrator.application.stored import explain as explaining
from orchestrator.application.stored import export as exporting
from orchestrator.application.stored import judge as judging
from orchestrator.application.stored import merge as merging
from orchestrator.application.stored import plot as plotting
from orchestrator.errors import UsageError
from orchestrator.protocol.reports.trace_records import CLOSEST
from orchestrator.recording.trace import Capture
from orchestrator.reproduction import reproduce as reproducing
from orchestrator.reproduction.reproduce import ReproductionRequest, ReproductionResult
from orchestrator.units import UnitError, parse_time_ns
from results import DEFAULT_DB
from results.claims import claim_folders

if TYPE_CHECKING:
    from orchestrator.application.scenarios.plan import PlannedScenario
    from orchestrator.application.stored.export import ExportedFiles
    from orchestrator.application.stored.judge import JudgedAgain
    from orchestrator.application.stored.merge import MergedStores
    from orchestrator.application.zoom import ZoomResult
    from results.claims.stated.model import Length
    from results.traces.difference.model import RunDifference

Listener = events.Listener


@dataclass(frozen=True)
class VerifiedRuns:
    """Runs that were made again, and how their digests compare with those of the stored ones."""

    ids: Sequence[str]
    compared: Sequence[events.DigestCompared]

    @property
    def same(self) -> bool:
        """Whether all digests are equal."""
        return bool(self.compared) and all(run.equal for run in self.compared)


def run(
    *files: str | Path,
    db: str | Path = DEFAULT_DB,
    jobs: int = 1,
    overrides: Sequence[str] = (),
    repetitions: int | None = None,
    reduced: bool = False,
    resume: bool = True,
    backend: str = backends.DEFAULT,
    executor: str = LOCAL,
    listener: Listener | None = None,
) -> SuiteResult:
    """Run scenario files, store the runs, and return what became of them.

    Unlike the command, ``resume`` uses what is stored with equal content by default, so that a
    notebook can be executed again. The other arguments are the options of ``orchestrator run``.
    ``listener`` is called with the events of ``orchestrator.application.events``; by default they
    move a progress bar.

    Raises:
        ScenarioError: a file is not valid.
        UsageError: an argument is not valid.
    """
    changed = repeating.with_repetitions(overrides, repetitions)
    request = running.ScenarioRequest(tuple(map(Path, files)), changed, reduced, resume)
    settings = run_settings(db, backend, executor, jobs)
    return running.run_scenarios(request, settings, listener or ProgressBar())


def verify(
    what: str,
    *,
    db: str | Path = DEFAULT_DB,
    jobs: int = 1,
    backend: str = backends.DEFAULT,
    executor: str = LOCAL,
    listener: Listener | None = None,
) -> VerifiedRuns:
    """Make a stored run again, or all of an experiment, and compare the digests.

    Raises:
        UsageError: there is no such run that could be equal to the bit.
    """
    show = listener or ProgressBar()
    compared: list[events.DigestCompared] = []

    def listen(event: events.Event) -> None:
        if isinstance(event, events.DigestCompared):
            compared.append(event)
        show(event)

    ended = running.verify(what, run_settings(db, backend, executor, jobs), listen)
    return VerifiedRuns(tuple(ended.ids), tuple(compared))


def zoom(
    run: str,
    start: str,
    end: str,
    *,
    kinds: Sequence[str] = CLOSEST,
    flows: Sequence[str] = (),
    links: Sequence[str] = (),
    db: str | Path = DEFAULT_DB,
    listener: Listener | None = None,
) -> ZoomResult:
    """Make a stored run again with a trace from ``start`` to ``end``, such as ``"12s"``.

    The trace is kept with the run if the digests are equal; ``Results.trace`` reads it. ``kinds``,
    ``flows`` and ``links`` are the options of ``orchestrator zoom``.

    Raises:
        UsageError: there is no such run, or it cannot be made again to the bit.
    """
    zooming.require_kinds(kinds)
    window = _window(start, end)
    capture = Capture(*window, frozenset(kinds), flows=tuple(flows), links=tuple(links))
    settings = run_settings(db, backends.DEFAULT, LOCAL, 1)
    request = zooming.ZoomRequest(run, capture)
    return zooming.zoom(request, settings, listener or ProgressBar())


def explain(
    run: str,
    start: str | None = None,
    end: str | None = None,
    *,
    at: str | None = None,
    flows: Sequence[str] = (),
    against: str | None = None,
    traces: Sequence[int] = (),
    db: str | Path = DEFAULT_DB,
    listener: Listener | None = None,
) -> Explained:
    """Say what happened to the flows of a stored run, and why, by traced events.

    ``start`` and ``end``, such as ``"12s"``, select a part of the run, and ``at`` means half a
    second before and after a time. Without them it is the whole run. Where no trace is stored that
    shows it, the run is made again, as by :func:`zoom`, and the trace is kept. Two flows that are
    named are compared, and so are the flows of another run, ``against``. ``traces`` are the numbers
    of the stored traces to read: that of the run, and that of the other one.

    Raises:
        UsageError: there is no such run, flow or trace, or it cannot be made again to the bit.
        RunError: the run was made again, and its digest differs.
    """
    if at is not None and (start is not None or end is not None):
        raise UsageError("at, start and end: give a time, or a begin and an end")
    if (start is None) != (end is None):
        raise UsageError("start and end: give both of them, or none")
    window = None if start is None or end is None else _window(start, end)
    at_ns = None if at is None else _time_ns(at)
    request = explaining.ExplainRequest(run, tuple(flows), window, at_ns, against, tuple(traces))
    settings = run_settings(db, backends.DEFAULT, LOCAL, 1)
    return Explained(explaining.explain(request, settings, listener or ProgressBar()))


def diff(
    one: str, other: str, *, db: str | Path = DEFAULT_DB, listener: Listener | None = None
) -> RunDifference:
    """Return where two stored runs part: the first traced event that is not the same in both.

    ::

        parting = oa.diff("20261120-1015", "last")
        parting.time_ns, [side.there.text for side in parting.sides]

    Both are made again with traces where none are stored, as by ``zoom``.

    Raises:
        UsageError: there is no such run, one cannot be made again to the bit, or their flows or
            links do not correspond.
    """
    settings = run_settings(db, backends.DEFAULT, LOCAL, 1)
    return parting.diff((one, other), settings, listener or ProgressBar())


def reproduce(
    *targets: str,
    length: Length = "quick",
    most: int | None = None,
    causes: bool = False,
    claims: str | Path | None = None,
    db: str | Path = DEFAULT_DB,
    jobs: int = 1,
    executor: str = LOCAL,
    listener: Listener | None = None,
) -> ReproductionResult:
    """Test what papers state, such as ``"westwoodplus:W3"``; make the runs that are missing.

    ``claims`` is the folder of the papers' claims; by default that of this program.

    Raises:
        UsageError: there is no such paper, claim or statement.
    """
    folder = claim_folders.folder() if claims is None else Path(claims)
    request = ReproductionRequest(targets, length, most, causes, folder)
    prepared = reproducing.prepare(request)
    settings = run_settings(db, backends.DEFAULT, executor, jobs)
    return reproducing.reproduce(prepared, settings, listener or ProgressBar())


def plan(
    file: str | Path,
    *,
    db: str | Path = DEFAULT_DB,
    overrides: Sequence[str] = (),
    repetitions: int | None = None,
    reduced: bool = False,
) -> PlannedScenario:
    """Return the runs of a scenario, with estimates of wall time by the earlier runs of ``db``.

    Raises:
        ScenarioError: the file is not valid.
        UsageError: it has no reduced form.
    """
    changed = repeating.with_repetitions(overrides, repetitions)
    return planning.plan(planning.PlanRequest(Path(file), changed, reduced), Path(db))


def judge(
    *runs: str, every: bool = False, db: str | Path = DEFAULT_DB, listener: Listener | None = None
) -> JudgedAgain:
    """Judge stored runs again, or ``every`` one, by the checks of this program.

    Raises:
        UsageError: there is no such run.
    """
    request = judging.JudgeRequest(runs, every)
    return judging.judge(request, Path(db), listener or ProgressBar())


def export(
    what: str,
    output: str | Path,
    *,
    form: str | None = None,
    licence: str | None = None,
    force: bool = False,
    trace: int | None = None,
    place: str | None = None,
    db: str | Path = DEFAULT_DB,
    listener: Listener | None = None,
) -> ExportedFiles:
    """Write a stored run with all samples, or an experiment's metrics, to files.

    ``form`` is the name of a format; by default it is the extension of the output. The formats are
    those of ``orchestrator export``. ``trace`` and ``place`` are its ``--trace`` and ``--at``.

    Raises:
        UsageError: there is no such format, run or experiment, or a file exists.
    """
    request = exporting.ExportRequest(what, Path(output), form, licence, force, trace, place)
    return exporting.export(request, Path(db), listener or ProgressBar())


def plot(
    kind: str,
    what: str,
    *,
    form: str = "svg",
    db: str | Path = DEFAULT_DB,
    listener: Listener | None = None,
    **keys: Any,
) -> Picture:
    """Draw a figure of an experiment or a run; a notebook shows it.

    ``keys`` are those of the kind in a scenario's ``figures``, such as ``metric="goodput_bps"``.

    Raises:
        UsageError: there is no such kind, key, run or experiment, or a value is missing.
    """
    request = plotting.PlotRequest(plotting.figure_of(kind, form, keys), what)
    return Picture(plotting.plot(request, Path(db), listener or ProgressBar()))


def report(
    *experiments: str,
    folder: str | Path,
    metrics: Sequence[str] = (),
    where: Sequence[str] = (),
    flows: Sequence[str] = (),
    by: str | None = None,
    force: bool = False,
    db: str | Path = DEFAULT_DB,
    listener: Listener | None = None,
) -> Sequence[Path]:
    """Write a report of experiments as HTML and PDF into a folder, and return its files.

    The other arguments are the options of ``orchestrator report``.

    Raises:
        UsageError: there is no such experiment, axis, flow entry or metric, or a file exists.
    """
    selection = ReportSelection(tuple(metrics), tuple(where), tuple(flows), by)
    request = reporting.ReportRequest(experiments, Path(folder), selection, force)
    return reporting.report(request, Path(db), listener or ProgressBar())


def merge(
    *stores: str | Path, db: str | Path = DEFAULT_DB, listener: Listener | None = None
) -> MergedStores:
    """Take all runs of other results databases into ``db``.

    Raises:
        UsageError: none is named, or one has another run with the id of one.
        StoreError: one is no store, or is damaged.
    """
    return merging.merge(tuple(map(Path, stores)), Path(db), listener or ProgressBar())


def run_settings(db: str | Path, backend: str, executor: str, jobs: int) -> RunSettings:
    """Return where runs are made and stored; UsageError for an unknown back end or executor."""
    backends.require_known(backend)
    return RunSettings(Path(db), backend, choose(executor, backend, jobs, (None, None, None)))


def _time_ns(text: str) -> int:
    """Return a time such as ``12s`` in nanoseconds; UsageError when it is none."""
    try:
        return parse_time_ns(text)
    except UnitError as error:
        raise UsageError(str(error)) from None


def _window(start: str, end: str) -> tuple[int, int]:
    """Return a window in nanoseconds; UsageError when it is none."""
    window = (_time_ns(start), _time_ns(end))
    if not 0 <= window[0] < window[1]:
        raise UsageError(f"a window begins at 0s or later and ends after that, not {start}..{end}")
    return window
