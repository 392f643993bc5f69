"""``orchestrator reproduce``: test what papers state, and say what holds."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator import backends
from orchestrator.cli import (
    _ablations,
    _claim_digests,
    _claim_document,
    _claim_report,
    _claim_runs,
    _estimates,
    _executor,
    _options,
    _output,
    run,
)
from orchestrator.errors import RunError, UsageError

if TYPE_CHECKING:
    from orchestrator.planning.plan import Plan
    from results.claims.model import Length, Statement


@click.command()
@click.argument("targets", metavar="[PAPER[:ID]]...", nargs=-1)
@click.option("--reduced", is_flag=True, help="Seconds: tries it, decides nothing.")
@click.option("--quick", is_flag=True, help="The least that decides (default).")
@click.option("--full", is_flag=True, help="The papers' durations and points.")
@click.option(
    "--most",
    type=click.IntRange(2),
    metavar="N",
    help="Repeat until the statements are decided, N times at most if the length allows fewer.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help="Number of runs at a time, with a CPU each.  [default: 1; all workers of a cluster]",
)
@_executor.options
@_options.database
@_options.as_json
@click.option(
    "--plan",
    "only_plan",
    is_flag=True,
    help="Run nothing: list runs, how many are missing, and the time by earlier runs.",
)
@click.option(
    "--write",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write a JSON summary of each claim or statement there, for docs/reproduction.md.",
)
@click.option(
    "--causes",
    is_flag=True,
    help="Also run the ablations of the chosen statements, which look for causes.",
)
@click.option(
    "--figures",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also draw each statement there, as SVG: the paper's numbers beside ours.",
)
@click.option(
    "--claims",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=_claim_runs.CLAIMS,
    help="Folder of the papers' claims; scenarios are found beside it.",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
    targets: tuple[str, ...],
    reduced: bool,
    quick: bool,
    full: bool,
    most: int | None,
    jobs: int | None,
    executor: str,
    tls_files: tuple[Path | None, Path | None, Path | None],
    db: Path,
    as_json: bool,
    only_plan: bool,
    folder: Path | None,
    causes: bool,
    figures: Path | None,
    claims: Path,
    quiet: bool,
) -> int:
    """Test the statements of papers by runs, and judge each.

    What is stored already is not run again. A statement holds if the 95% confidence interval of
    our mean lies within what agrees with the paper, and does not hold if it lies outside. The exit
    status is 0 when each statement has a verdict, whatever it is, and 1 when a run failed. Without
    PAPER, all papers are tested. ID is a claim (W3) or one of its statements (W3.1).

    \b
    orchestrator reproduce westwoodplus:W3
    orchestrator reproduce tibet --quick --jobs 2
    orchestrator reproduce --full --plan
    orchestrator reproduce westwoodplus:W7.2 --most 20
    orchestrator reproduce westwoodplus:W3 --causes
    """
    from results.claims.loading import load_all, select

    length = _length(reduced, quick, full)
    if most is not None and folder is not None:
        raise UsageError(
            "--most and --write: a summary has the repetitions that its length asks for"
        )
    papers = load_all(claims)
    if not papers:
        raise UsageError(f"--claims {claims}: there are no claims (files NAME.yaml)")
    chosen: list[tuple[str, Statement]] = []
    for target in targets or list(papers):
        chosen += [each for each in select(papers, target) if each not in chosen]
    if folder is not None and causes:
        _ablations.require_all(papers, chosen)
    experiments = _claim_runs.prepare(papers, chosen, length, claims.parent, most or 0)
    ablated = _ablations.prepare(papers, chosen, length, claims.parent) if causes else []
    if only_plan:
        named = [(f"{each.claim}, {each.ablation.name}", each.experiments) for each in ablated]
        _claim_report.show_plan(experiments, named, db, as_json)
        return 0
    summaries = _claim_digests.read(claims)
    where = _executor.choose(executor, backends.DEFAULT, jobs, tls_files)
    request = run.Request(db, backends.DEFAULT, where, False, quiet)

    def execute(plan: Plan) -> list[str]:
        return run.make_runs(plan, True, request)

    with _naming_the_command(quiet):
        looks = 1 if most is None else math.inf
        outcomes = _claim_runs.decide(chosen, experiments, execute, db, quiet, looks)
        for each in ablated:
            each.decide(execute, db, quiet)
    estimator = _estimates.estimator(db)
    other = _claim_runs.full_length_costs(papers, outcomes, length, estimator, claims.parent)
    document = _claim_document.document(outcomes, papers, experiments, other, length, estimator)
    document |= _ablations.document(ablated)
    document |= _claim_digests.document(outcomes, ablated, papers, summaries, length)
    if folder is not None:
        _claim_report.write(document, outcomes, papers, folder)
        _ablations.write(ablated, length, folder)
    if figures is not None:
        _claim_report.draw(document, figures)
    if as_json:
        _output.print_json(document)
    else:
        _claim_report.show(document)
        _ablations.show(document)
        _claim_digests.show(document)
    every = [experiments, *(each.experiments for each in ablated)]
    return RunError.exit_status if _failed(every, db) else 0


def _length(reduced: bool, quick: bool, full: bool) -> Length:
    """Return the length that was asked for.

    Raises:
        UsageError: there is more than one.
    """
    named: dict[Length, bool] = {"reduced": reduced, "quick": quick, "full": full}
    chosen = [name for name, given in named.items() if given]
    if len(chosen) > 1:
        given = " and ".join(f"--{name}" for name in chosen)
        raise UsageError(f"{given} cannot be given together: a call has one length")
    return chosen[0] if chosen else "quick"


def _failed(every: Sequence[_claim_runs.ClaimExperiments], db: Path) -> bool:
    """Tell whether the newest run of a repetition failed."""
    from results.store import Store

    ids = {
        run_id
        for experiments in every
        for experiment in experiments.values()
        for made in experiment.made.values()
        for run_id in made
    }
    if not ids:
        return False
    with Store.open_read_only(db) as store:
        # Asked for one by one, because a store may have many thousands of other runs.
        return any(store.load(run_id).status != "ok" for run_id in ids)


@contextlib.contextmanager
def _naming_the_command(quiet: bool) -> Iterator[None]:
    """Say that the same command continues when the user interrupts it."""
    try:
        yield
    except KeyboardInterrupt:
        if not quiet:
            click.echo("runs that ended are stored; the same command runs the others", err=True)
        raise
