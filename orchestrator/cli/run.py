"""``orchestrator run``: run a scenario, store and judge it."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator import backends
from orchestrator.cli import _junit, _options, _report, _text
from orchestrator.cli._status import StatusLine
from orchestrator.errors import RunError, Unfaithful, UsageError

if TYPE_CHECKING:
    from orchestrator.planning.plan import Plan

DETAILED_RUNS = 4
"""Up to so many runs are each shown with their flows; more are shown as a list."""


@click.command()
@_options.scenario_file(metavar="[FILE]", required=False)
@click.option(
    "--backend",
    default="guest",
    show_default=True,
    help=f"Where to run: {', '.join(backends.MODULES)}.",
)
@_options.overrides
@_options.reduced
@click.option(
    "--jobs",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Runs at a time, a CPU each.",
)
@_options.database
@click.option("--resume", is_flag=True, help="Leave out the runs that are stored already.")
@click.option("--verify", metavar="RUN", help="Run that stored run again; must give its digest.")
@_options.as_json
@click.option(
    "--junit", type=click.Path(dir_okay=False, path_type=Path), help="Also write JUnit XML there."
)
@click.option(
    "--timeout",
    metavar="TIME",
    help="The most wall time of each run, such as 90s or 30min; by default 30 minutes and 20 times "
    "the estimate.",
)
@click.option("--unconfined", is_flag=True, help="Run the guest without a boundary around it.")
@click.option("--quiet", is_flag=True, help="No progress and no hints.")
def command(
    file: Path | None,
    backend: str,
    overrides: tuple[str, ...],
    reduced: bool,
    jobs: int,
    db: Path,
    resume: bool,
    verify: str | None,
    as_json: bool,
    junit: Path | None,
    timeout: str | None,
    unconfined: bool,
    quiet: bool,
) -> int:
    """Run a scenario, store the results and judge them.

    A scenario is one run, or a matrix of them, with repetitions. Ends with 1 when a run failed and
    with 3 when the emulation was not faithful.

    \b
    orchestrator run scenarios/quickstart.yaml
    orchestrator run mine.yaml --set topology.bottleneck.rate=20mbit --jobs 2
    orchestrator run mine.yaml --resume --json > result.json
    orchestrator run --verify last
    """
    backends.require_known(backend)
    if junit is not None:
        _junit.require_writable(junit)
    request = _Request(db, backend, jobs, unconfined, quiet, _options.wall_time(timeout))
    if verify is not None:
        if file is not None or overrides or reduced or resume:
            raise UsageError(
                "--verify RUN takes the stored scenario: no FILE, --set, --reduced or --resume"
            )
        ids, same = _verify(verify, request)
    elif file is not None:
        planned = _planned(file, overrides, reduced)
        ids, same = _run(planned, resume, request), True
    else:
        raise UsageError("name a scenario file, or a stored run with --verify RUN")
    document = _document(ids, db)
    if junit is not None:
        _junit.write(document, junit)
    if as_json:
        _text.print_json(document)
    else:
        _print(document["runs"])
        if not quiet:
            _tell_where(ids, db)
    return exit_status(document["runs"], same)


@dataclass(frozen=True)
class _Request:
    """What does not depend on the scenario."""

    db: Path
    backend: str
    jobs: int
    unconfined: bool
    quiet: bool
    timeout_s: float | None = None


def exit_status(runs: Sequence[Mapping[str, Any]], same: bool = True) -> int:
    """Return 1 when a run failed or differs from what it must equal, 3 when one is unfaithful."""
    if not same or any(run["status"] != "ok" for run in runs):
        return RunError.exit_status
    if any(run["fidelity"]["verdict"] == "unfaithful" for run in runs):
        return Unfaithful.exit_status
    return 0


def _planned(file: Path, overrides: Sequence[str], reduced: bool) -> Plan:
    from orchestrator.planning.plan import plan
    from orchestrator.scenario import load

    return plan(load(file, overrides, reduced))


def _run(planned: Plan, resume: bool, request: _Request) -> list[str]:
    """Run the plan and return the ids of its runs, with those that were stored already."""
    if not (resume and request.db.exists()):
        return _execute(planned, request)
    from orchestrator.cli import _again
    from orchestrator.files.temporary import RUN_FOLDER, remove_abandoned, temporary_root
    from results.store import Store

    with Store.open_existing(request.db) as store:  # migrated now: runs are added to it anyway
        rest = _again.remaining(planned, store, request.backend)
    if not request.quiet:
        total, left = len(planned.runs), len(rest.plan.runs)
        click.echo(f"{total - left} of {_text.plural(total, 'run')} stored already", err=True)
    if rest.plan.runs:
        return rest.complete(_execute(rest.plan, request))
    remove_abandoned(temporary_root(), RUN_FOLDER)  # as a run would
    return rest.complete([])


def _verify(run: str, request: _Request) -> tuple[list[str], bool]:
    """Run a stored run again; return the new run's id and whether the digests are equal."""
    from orchestrator.cli import _again
    from results.store import Store

    with Store.open_existing(request.db) as store:
        asked = _again.verification(run, store, request.backend)
    ids = _execute(asked.plan, request, again=True)
    with Store.open_read_only(request.db) as store:
        digests = [store.load(run_id).row.digest for run_id in ids]
    same = digests == [asked.digest]
    word = "the same digest as" if same else "ANOTHER digest than"
    click.echo(f"{', '.join(ids)}: {word} {asked.run_id} ({asked.digest})", err=True)
    return ids, same


def _execute(plan: Plan, request: _Request, again: bool = False) -> list[str]:
    """Run every run of the plan and return their ids; progress goes to standard error.

    ``again`` tells that each must be equal to one that was stored.
    """
    from orchestrator.backends.contract import BackendOptions
    from orchestrator.cli._guest_build import shown_on
    from orchestrator.cli._live import Live
    from orchestrator.execution.runner import RunOptions, run_plan

    with StatusLine(request.quiet) as line:
        backend = backends.make(
            request.backend, BackendOptions(shown_on(line), request.unconfined, request.jobs)
        )
        if again and not backend.reproducible:
            raise UsageError(
                f"--verify: with the back end {backend.name} no run is equal to another to the bit"
            )
        return run_plan(
            plan, RunOptions(request.db, backend, request.jobs, request.timeout_s), Live(plan, line)
        )


def _document(ids: Sequence[str], db: Path) -> dict[str, Any]:
    from results.store import Store

    with Store.open_read_only(db) as store:
        return store.document(ids)


def _print(runs: Sequence[Mapping[str, Any]]) -> None:
    out = _text.console()
    if len(runs) > DETAILED_RUNS:
        _report.print_list(runs, out)
        return
    for index, run in enumerate(runs):
        if index:
            out.print()
        _report.print_run(run, out)


def _tell_where(ids: Sequence[str], db: Path) -> None:
    """Say on standard error how to look at the runs, with the program as it was called."""
    program = sys.argv[0] if Path(sys.argv[0]).name == "orchestrator" else "orchestrator"
    if shutil.which("orchestrator"):
        program = "orchestrator"
    option = "" if db == _options.DEFAULT_DB else f" --db {shlex.quote(str(db))}"
    click.echo("", err=True)
    click.echo(f"{program} show {ids[-1]}{option}    all metrics and checks", err=True)
    click.echo(f"{program} web{option}    plots in a browser", err=True)
