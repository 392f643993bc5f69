"""``orchestrator reproduce``: test what papers state, and say what holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator import backends
from orchestrator.application.executor import choose
from orchestrator.application.making_runs import RunSettings
from orchestrator.cli.options import completion, execution, shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.claims import ablation_text, claim_text, digest_text
from orchestrator.cli.render.run_events import RunEvents, naming_the_command
from orchestrator.errors import UsageError
from orchestrator.reproduction import ablations, claim_files, claim_plan
from orchestrator.reproduction.reproduce import ReproductionRequest, prepare, reproduce
from results.claims import claim_folders

if TYPE_CHECKING:
    from results.claims.stated.model import Length


@click.command()
@click.argument("targets", metavar="[PAPER[:ID]]...", nargs=-1, shell_complete=completion.claims)
@click.option("--reduced", is_flag=True, help="Seconds: tries it, decides nothing.")
@click.option("--quick", is_flag=True, help="The least that decides (default).")
@click.option("--full", is_flag=True, help="The papers' durations and points.")
@click.option(
    "--most",
    type=click.IntRange(2),
    metavar="N",
    help="Repeat until the statements are decided, N times at most if the length allows fewer.",
)
@execution.jobs
@execution.options
@shared.database
@shared.as_json
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
    help="Also write a JSON summary of each claim or statement there, for docs/claims.",
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
    default=claim_folders.folder,
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

    What is stored already is not run again. The 95% confidence interval of our mean decides a row.
    It holds if all of the interval agrees with the paper, nearly if all of it agrees or is near,
    and does not hold if none of it agrees; else it is open. A statement and a claim have the word
    for how much of them agrees. The exit status is 0 whatever the verdicts, and 1 when a run
    failed. Without PAPER, all papers are tested. ID is a claim (W3) or one of its statements
    (W3.1).

    \b
    orchestrator reproduce westwoodplus:W3
    orchestrator reproduce tibet --quick --jobs 2
    orchestrator reproduce --full --plan
    orchestrator reproduce westwoodplus:W7.2 --most 20
    orchestrator reproduce westwoodplus:W3 --causes
    """
    if only_plan and (folder or figures):
        given = "--write" if folder else "--figures"
        raise UsageError(f"--plan and {given}: a plan makes no runs, so nothing can be written")
    length = _length(reduced, quick, full)
    prepared = prepare(ReproductionRequest(targets, length, most, causes, claims))
    if folder is not None and causes:
        ablations.require_all(prepared.papers, prepared.chosen)
    if only_plan:
        planned = prepared.plan(db)
        if as_json:
            terminal.print_json(claim_plan.document(planned))
        else:
            claim_text.show_plan(planned)
            ablation_text.show_absence(prepared)
        return 0
    where = choose(executor, backends.DEFAULT, jobs, tls_files)
    settings = RunSettings(db, backends.DEFAULT, where)
    with RunEvents(quiet) as listener, naming_the_command(quiet):
        result = reproduce(prepared, settings, listener)
    if folder is not None:
        _say_all(result.write(folder))
    if figures is not None:
        _say_all(claim_files.draw(result.outcomes, result.length, figures))
    if as_json:
        terminal.print_json(result.document)
    else:
        claim_text.show(result)
        ablation_text.show(result)
        digest_text.show(result.compared)
    return result.status


def _say_all(files: Iterator[Path]) -> None:
    """Say which files are written, each when it is there."""
    for file in files:
        terminal.line(f"{file}", err=True)


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
