"""``orchestrator run``: run a scenario, store and judge it."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator import backends
from orchestrator.cli import (
    _completion,
    _estimates,
    _executor,
    _expectations,
    _junit,
    _options,
    _output,
    _repeating,
    _report,
    _scenario_figures,
)
from orchestrator.cli._executor import Executor
from orchestrator.cli._status import StatusLine
from orchestrator.errors import RunError, StoreError, Unfaithful, UsageError
from results import DEFAULT_DB

if TYPE_CHECKING:
    from orchestrator.backends.contract import Backend
    from orchestrator.cli._progress import LiveProgress
    from orchestrator.planning.plan import Plan
    from orchestrator.scenario import LoadedScenario
    from results.expectations import Expectation
    from results.figures import FigureSpec

DETAILED_RUNS = 4
"""Up to this many runs are shown with their flows; more are shown as a list."""


@click.command()
@_options.scenario_file(metavar="[FILE]", required=False)
@click.option(
    "--backend",
    default=backends.DEFAULT,
    show_default=True,
    shell_complete=_completion.backends,
    help=f"Back end to run on: {', '.join(backends.MODULES)}.",
)
@_options.overrides
@_options.reduced
@_options.repetitions
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help="Number of runs at a time, with a CPU each.  [default: 1; all workers of a cluster]",
)
@_executor.options
@_options.database
@click.option("--resume", is_flag=True, help="Skip the runs that are stored already.")
@click.option(
    "--verify",
    metavar="RUN",
    shell_complete=_completion.runs,
    help="Run a stored run again and compare the digests.",
)
@_options.as_json
@click.option(
    "--junit", type=click.Path(dir_okay=False, path_type=Path), help="Also write JUnit XML there."
)
@click.option(
    "--figures",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the scenario's figures; by default plots/NAME@HASH beside the database.",
)
@click.option(
    "--timeout",
    metavar="TIME",
    help="Wall-time limit of each run, such as 90s or 30min; by default 30 minutes plus 20 times "
    "the estimate.",
)
@click.option("--unconfined", is_flag=True, help="Run the guest without its sandbox.")
@click.option("--quiet", is_flag=True, help="Show no progress and no hints.")
def command(
    file: Path | None,
    backend: str,
    overrides: tuple[str, ...],
    reduced: bool,
    repetitions: int | None,
    jobs: int | None,
    executor: str,
    tls_files: tuple[Path | None, Path | None, Path | None],
    db: Path,
    resume: bool,
    verify: str | None,
    as_json: bool,
    junit: Path | None,
    folder: Path | None,
    timeout: str | None,
    unconfined: bool,
    quiet: bool,
) -> int:
    """Run a scenario, store the results and check their fidelity.

    A scenario is one run, or a matrix of runs, with repetitions. The exit status is 1 when a run
    failed or does not meet what the scenario expects, and 3 when the emulation was not faithful.
    Then the figures that the scenario names are drawn.

    \b
    orchestrator run scenarios/quickstart.yaml
    orchestrator run mine.yaml --set topology.bottleneck.rate=20mbit --jobs 2
    orchestrator run mine.yaml --resume --json > result.json
    orchestrator run mine.yaml --executor dask=local --jobs 4
    orchestrator run --verify last
    """
    backends.require_known(backend)
    if junit is not None:
        _junit.require_writable(junit)
    request = Request(
        db,
        backend,
        _executor.choose(executor, backend, jobs, tls_files),
        unconfined,
        quiet,
        _options.wall_time(timeout),
    )
    figures: Sequence[FigureSpec] = ()
    expected: Sequence[Expectation] = ()
    if verify is not None:
        given = (file, folder, repetitions)
        if overrides or reduced or resume or any(each is not None for each in given):
            raise UsageError(
                "--verify RUN uses the stored scenario: leave out FILE, --set, --reduced, "
                "--repetitions, --resume and --figures"
            )
        ids, same = _verify(verify, request)
    elif file is not None:
        loaded = _loaded(file, _options.with_repetitions(overrides, repetitions), reduced)
        figures, expected = loaded.scenario.figures, loaded.scenario.expect
        _scenario_figures.prepare(figures, folder)
        with _naming_resume(request):
            ids = _repeating.run(loaded, lambda plan: make_runs(plan, resume, request), db, quiet)
        same = True
    else:
        raise UsageError("give a scenario file, or a stored run with --verify RUN")
    document = _document(ids, db)
    found = _expectations.evaluate(expected, ids, db)
    if expected:
        document["expectations"] = found
    if junit is not None:
        _junit.write(document, junit)
    if as_json:
        _output.print_json(document)
    else:
        _print(document["runs"])
        _expectations.show(found)
        if not quiet:
            _print_next_commands(ids, db)
    undrawn = _scenario_figures.draw(figures, ids, db, folder, quiet)
    met = all(each["met"] for each in found)
    return exit_status(document["runs"], same and met) or undrawn


@dataclass(frozen=True)
class Request:
    """The options that do not depend on the scenario."""

    db: Path
    backend: str
    executor: Executor
    unconfined: bool
    quiet: bool
    timeout_s: float | None = None


def exit_status(runs: Sequence[Mapping[str, Any]], same: bool = True) -> int:
    """Return 1 when a run failed or is not as it should be, 3 when one is unfaithful, else 0.

    ``same`` is False if a digest differs or an expectation is not met.
    """
    if not same or any(run["status"] != "ok" for run in runs):
        return RunError.exit_status
    if any(run["fidelity"]["verdict"] == "unfaithful" for run in runs):
        return Unfaithful.exit_status
    return 0


def _loaded(file: Path, overrides: Sequence[str], reduced: bool) -> LoadedScenario:
    from orchestrator.scenario import load

    return load(file, overrides, reduced)


def make_runs(planned: Plan, resume: bool, request: Request) -> list[str]:
    """Run the plan and return the ids of its runs, including those that were stored already."""
    if not (resume and request.db.exists()):
        if not request.quiet and request.db.exists():
            _say_what_is_stored_twice(planned, request)
        return _execute(planned, request)
    from orchestrator.cli import _stored_runs
    from orchestrator.files.temporary import RUN_FOLDER, remove_abandoned, temporary_root
    from results.store import Store

    # It is migrated now: runs are added to it anyway.
    with Store.open_existing(request.db, StatusLine(request.quiet).say) as store:
        rest = _stored_runs.remaining(planned, store, request.backend)
    if not request.quiet:
        total, left = len(planned.runs), len(rest.plan.runs)
        click.echo(f"{total - left} of {_output.plural(total, 'run')} are stored already", err=True)
    if rest.plan.runs:
        return rest.complete(_execute(rest.plan, request))
    remove_abandoned(temporary_root(), RUN_FOLDER)  # as a run would
    return rest.complete([])


def _say_what_is_stored_twice(planned: Plan, request: Request) -> None:
    """Say on standard error how many of the runs are stored already."""
    from orchestrator.cli import _stored_runs
    from results.store import Store

    with Store.open_read_only(request.db) as store:
        stored = sum(_stored_runs.stored(planned, store, request.backend))
    if stored:
        runs = _output.plural(len(planned.runs), "run")
        click.echo(
            f"{stored} of the {runs} {'is' if stored == 1 else 'are'} stored already with the same "
            "content; --resume uses what is stored",
            err=True,
        )


@contextlib.contextmanager
def _naming_resume(request: Request) -> Iterator[None]:
    """Name the command that continues a plan when the user interrupts it."""
    try:
        yield
    except KeyboardInterrupt:
        if not request.quiet:
            words = _options.same_command(click.get_current_context(), "--resume")
            click.echo(f"runs that ended are stored; to run the others:\n  {words}", err=True)
        raise


def _verify(run: str, request: Request) -> tuple[list[str], bool]:
    """Run a stored run again; return the new run's id, and whether the digests are equal."""
    from orchestrator.cli import _stored_runs
    from results.store import Store

    with Store.open_existing(request.db, StatusLine(request.quiet).say) as store:
        verification = _stored_runs.verification(run, store, request.backend)
    ids = _execute(verification.plan, request, again=True)
    with Store.open_read_only(request.db) as store:
        digests = [store.load(run_id).row.digest for run_id in ids]
    same = digests == [verification.digest]
    word = "the same digest as" if same else "a DIFFERENT digest from"
    click.echo(f"{', '.join(ids)}: {word} {verification.run_id} ({verification.digest})", err=True)
    return ids, same


def _execute(plan: Plan, request: Request, again: bool = False) -> list[str]:
    """Run every run of the plan and return their ids; progress goes to standard error.

    ``again`` requires a back end on which equal runs give equal digests.
    """
    from orchestrator.backends.contract import BackendOptions
    from orchestrator.cli._guest_build import progress_on
    from orchestrator.cli._progress import LiveProgress
    from orchestrator.execution.runner import run_plan

    with StatusLine(request.quiet) as line:
        executor = request.executor
        options = BackendOptions(progress_on(line), request.unconfined, executor.local_jobs)
        backend = backends.make(request.backend, options)
        if again and not backend.traits.reproducible:
            raise UsageError(f"--verify: runs on the back end {backend.name} are not bit-identical")
        run_options = executor.run_options(request.db, backend, request.timeout_s, line.say)
        progress = LiveProgress(plan, line, jobs=executor.local_jobs or None)

        def meanwhile() -> None:
            if not request.quiet:
                _learn(progress, request.db, backend)
            _output.load_console()

        return run_plan(plan, replace(run_options, meanwhile=meanwhile), progress)


def _learn(progress: LiveProgress, db: Path, backend: Backend) -> None:
    """Let the status line estimate by earlier runs of the store, as ``plan`` does."""
    from orchestrator.backends.guest import Guest

    if isinstance(backend, Guest):  # runs of others take real time
        # A store that cannot be read must not end runs that go on: only an estimate needs it here.
        with contextlib.suppress(StoreError):
            progress.learn(_estimates.estimator(db, backend.kernel))


def _document(ids: Sequence[str], db: Path) -> dict[str, Any]:
    from results.store import Store

    with Store.open_read_only(db) as store:
        return store.document(ids)


def _print(runs: Sequence[Mapping[str, Any]]) -> None:
    out = _output.console()
    if len(runs) > DETAILED_RUNS:
        _report.print_list(runs, out)
        return
    for index, run in enumerate(runs):
        if index:
            out.print()
        _report.print_run(run, out)


def _print_next_commands(ids: Sequence[str], db: Path) -> None:
    """Print on standard error the commands that show the runs, with the program as called."""
    program = _options.program()
    option = "" if db == DEFAULT_DB else f" --db {shlex.quote(str(db))}"
    click.echo("", err=True)
    click.echo(f"{program} show {ids[-1]}{option}    all metrics and checks", err=True)
    click.echo(f"{program} web{option}    plots in a browser", err=True)
