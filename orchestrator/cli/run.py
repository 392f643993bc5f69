"""``orchestrator run``: run scenarios, or the runs of a crate; store and judge them."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from orchestrator import backends
from orchestrator.application import repeating
from orchestrator.application import run as use_cases
from orchestrator.application.events import ScenarioMeasured
from orchestrator.application.executor import choose
from orchestrator.application.making_runs import RunSettings
from orchestrator.application.outcomes import SuiteResult
from orchestrator.cli.options import completion, execution, shared
from orchestrator.cli.render import crate_text, expectation_text, run_text, terminal
from orchestrator.cli.render import junit as junit_report
from orchestrator.cli.render.run_events import RunEvents
from orchestrator.errors import OutputError, UsageError
from results import DEFAULT_DB
from results.crate.recognition import is_crate
from results.runs.model import RunResult

DETAILED_RUNS = 4
"""Up to this many runs are shown with their flows; more are shown as a list."""


@click.command()
@shared.scenario_file("files", metavar="[FILE...|CRATE]", nargs=-1)
@click.option(
    "--backend",
    default=backends.DEFAULT,
    show_default=True,
    shell_complete=completion.backends,
    help=f"Back end to run on: {', '.join(backends.MODULES)}.",
)
@shared.overrides
@shared.kernels
@shared.reduced
@shared.repetitions
@execution.jobs
@execution.options
@shared.database
@click.option("--resume", is_flag=True, help="Skip the runs that are stored already.")
@click.option(
    "--verify",
    metavar="RUN|EXPERIMENT",
    shell_complete=completion.experiments_and_runs,
    help="Run a stored run, or all of an experiment, again and compare the digests.",
)
@shared.as_json
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
@click.option(
    "--allow-programs",
    is_flag=True,
    help="Let traffic of kind `program` run where nothing confines it: on real machines, and "
    "without a sandbox.",
)
@click.option("--quiet", is_flag=True, help="Show no progress and no hints.")
def command(
    files: tuple[Path, ...],
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
    allow_programs: bool,
    quiet: bool,
) -> int:
    """Run scenarios, store the results and check their fidelity.

    A scenario is one run, or a matrix of runs, with repetitions. The exit status is 1 when a run
    failed or does not meet what the scenario expects, and 3 when the emulation was not faithful.
    Then the figures that the scenario names are drawn. Several files are a suite: all are
    validated before anything runs, and there is one exit status.

    CRATE is what `export --format rocrate` writes: a folder, or a ZIP archive of it. Its runs are
    made again. The exit status is 0 when all are bit-identical to the crate's, and 1 when not all
    are. It is 2 when the crate is malformed, or has another kernel or link model.

    \b
    orchestrator run scenarios/quickstart.yaml
    orchestrator run mine.yaml --set topology.bottleneck.rate=20mbit --jobs 2
    orchestrator run mine.yaml --resume --json > result.json
    orchestrator run mine.yaml --executor dask=local --jobs 4
    orchestrator run --verify last
    orchestrator run one.yaml two.yaml --json > suite.json
    orchestrator run colleagues-crate.zip --db again.db
    """
    backends.require_known(backend)
    if junit is not None:
        junit_report.require_writable(junit)
    settings = RunSettings(
        db,
        backend,
        choose(executor, backend, jobs, tls_files),
        unconfined,
        shared.wall_time(timeout),
        allow_programs,
    )
    changed = repeating.with_repetitions(overrides, repetitions)

    def measured(event: ScenarioMeasured) -> None:
        if not as_json:
            with _naming_what_is_stored(event.ids, db):
                _print(event.runs)
                expectation_text.show(event.expectations)

    with RunEvents(quiet, measured) as listener:
        if verify is not None:
            if files or changed or reduced or resume or folder is not None:
                raise UsageError(
                    "--verify RUN uses the stored scenario: leave out FILE, --set, --reduced, "
                    "--repetitions, --resume and --figures"
                )
            ended = use_cases.verify(verify, settings, listener)
        elif _is_crate(files):
            if changed or reduced or folder is not None:
                raise UsageError(
                    f"{files[0]}: the runs of a crate are made as they are: leave out --set, "
                    "--reduced, --repetitions and --figures"
                )
            with _naming_resume(listener, quiet):
                ended = use_cases.run_crate(files[0], resume, settings, listener)
            _say_crate(ended, as_json)
        elif files:
            request = use_cases.ScenarioRequest(files, changed, reduced, resume, folder)
            with _naming_resume(listener, quiet):
                ended = use_cases.run_scenarios(request, settings, listener)
        else:
            raise UsageError(
                "give a scenario file, a crate, or a stored run or experiment with --verify"
            )
    if junit is not None:
        junit_report.write(ended.outcomes, junit)
    if as_json:
        with _naming_what_is_stored(ended.ids, db):
            terminal.print_json(ended.document)
    elif not quiet and ended.ids:
        _print_next_commands(ended.ids, db)
    return ended.status


def _is_crate(files: Sequence[Path]) -> bool:
    """Tell whether the arguments are a crate.

    Raises:
        UsageError: they are a crate and something else.
    """
    crates = [file for file in files if is_crate(file)]
    if crates and len(files) > 1:
        raise UsageError(f"{crates[0]}: a crate is run alone; give it without other files")
    return bool(crates)


@contextlib.contextmanager
def _naming_resume(listener: RunEvents, quiet: bool) -> Iterator[None]:
    """Name the command that continues a plan when the user interrupts its runs."""
    try:
        yield
    except KeyboardInterrupt:
        if listener.has_begun and not quiet:
            words = shared.same_command(click.get_current_context(), "--resume")
            terminal.say(f"runs that ended are stored; to run the others:\n  {words}", err=True)
        raise


def _say_crate(ended: SuiteResult, as_json: bool) -> None:
    """Say how many runs of the crate are bit-identical."""
    for outcome in ended.outcomes:
        if outcome.crate is not None:
            terminal.say(crate_text.show(outcome.crate), err=as_json)


def _print(runs: Sequence[RunResult]) -> None:
    out = terminal.console()
    if len(runs) > DETAILED_RUNS:
        run_text.print_list([run.listed() for run in runs], out)
        return
    for index, run in enumerate(runs):
        if index:
            out.print()
        run_text.print_run(run, out)


@contextlib.contextmanager
def _naming_what_is_stored(ids: Sequence[str], db: Path) -> Iterator[None]:
    """Say that the runs are stored if they cannot be printed, and how to show them."""
    try:
        yield
    except OutputError as error:
        if not ids:
            raise
        stored = f"what was run is stored; {_command('show', db, ids[-1])}"
        raise OutputError(error.reason, stored) from error


def _print_next_commands(ids: Sequence[str], db: Path) -> None:
    """Print on standard error the commands that show the runs, with the program as called."""
    terminal.line("", err=True)
    terminal.line(f"{_command('show', db, ids[-1])}    all metrics and checks", err=True)
    terminal.line(f"{_command('web', db)}    plots in a browser", err=True)


def _command(name: str, db: Path, *words: str) -> str:
    """Return a command line on the database, with the program as called."""
    option = [] if db == DEFAULT_DB else ["--db", str(db)]
    return f"{shared.program()} {shlex.join([name, *words, *option])}"
