"""``orchestrator evaluate``: make the report card of a congestion control."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from orchestrator import backends
from orchestrator.application.executor import choose
from orchestrator.application.making_runs import RunSettings
from orchestrator.cli.options import completion, execution, shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.evaluations import card_text, library_text, matrix_text
from orchestrator.cli.render.run_events import RunEvents, naming_the_command
from orchestrator.errors import UsageError
from orchestrator.evaluation import costs
from orchestrator.evaluation.evaluate import evaluate
from orchestrator.evaluation.matrix import costs as matrix_costs
from orchestrator.evaluation.matrix import files
from orchestrator.evaluation.matrix.harm import make
from orchestrator.evaluation.matrix.prepared import MatrixRequest, PreparedMatrix
from orchestrator.evaluation.matrix.prepared import prepare as prepare_matrix
from orchestrator.evaluation.prepared import AGAINST, EvaluationRequest, prepare, require_length


@click.command()
@click.argument(
    "candidate", metavar="NAME|FOLDER", required=False, shell_complete=completion.controls
)
@click.option(
    "--matrix",
    metavar="NAMES",
    help="Instead of a card: what each of these does to each other one, by the criterion harm. "
    "Names or folders with commas between them.",
)
@click.option(
    "--library",
    is_flag=True,
    help="Instead of a card: the grades of the reference cards that this program brings.",
)
@click.option(
    "--against",
    metavar="NAMES",
    help=f"The references, with commas between them.  [default: {','.join(AGAINST)}]",
)
@shared.one_of(
    "length",
    {
        "--quick": ("quick", "Minutes: few cells and three seeds of each (default)."),
        "--full": ("full", "Hours: all cells."),
    },
)
@click.option(
    "--only",
    metavar="CRITERIA",
    help="Only these, with commas between them: names, or the groups rfc9743 and tcpeval.",
)
@click.option(
    "--require",
    "required",
    metavar="CRITERION",
    multiple=True,
    help="Exit with 1 unless it is met, with limits or without. Repeatable.",
)
@click.option(
    "--kernel",
    metavar="KERNEL",
    help="The guest's kernel of all runs: a series such as 6.12, or the path of a tree or tarball.",
)
@click.option(
    "--baseline",
    metavar="NAME|FOLDER|CARD",
    help="Also say what changed from another control, another version of a module, a card.json "
    "that was written earlier, such as on another kernel, or a reference card, such as "
    "library:cubic-6.12.",
)
@click.option(
    "--no-explain",
    is_flag=True,
    help="Do not make a run of each criterion that is not met again, to say what happened there.",
)
@click.option("--pdf", is_flag=True, help="Write card.pdf, too.")
@click.option(
    "--plan",
    "only_plan",
    is_flag=True,
    help="Run nothing: list runs, how many are missing, and what they would cost.",
)
@execution.jobs
@execution.options
@shared.database
@shared.as_json
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="The card's folder: card.html, card.json, card.xml (JUnit), badges and scenarios.",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
    candidate: str | None,
    matrix: str | None,
    library: bool,
    against: str | None,
    length: str | None,
    only: str | None,
    required: tuple[str, ...],
    kernel: str | None,
    baseline: str | None,
    no_explain: bool,
    pdf: bool,
    only_plan: bool,
    jobs: int | None,
    executor: str,
    tls_files: tuple[Path | None, Path | None, Path | None],
    db: Path,
    as_json: bool,
    folder: Path | None,
    quiet: bool,
) -> int:
    """Make the report card of a congestion control, by what RFC 9743 asks to show.

    NAME is any congestion control, and FOLDER has the C sources of a module. What is stored already
    is not run again. Each criterion has a grade of its own: meets, meets with limits, does not
    meet, not decided, or not applicable on this kernel. The exit status is 0 whatever the grades,
    and 1 when a run failed or a required criterion is not met.

    \b
    orchestrator evaluate cubic --plan
    orchestrator evaluate ./mycc --jobs 2 -o card
    orchestrator evaluate bbr --only harm,shallow-buffers -o card
    orchestrator evaluate ./mycc --only tcpeval -o suite
    orchestrator evaluate ./mycc --require harm --require collapse -o card
    orchestrator evaluate ./mycc --baseline ./mycc-before -o card
    orchestrator evaluate ./mycc --kernel 6.1 --baseline card/card.json -o card-6.1
    orchestrator evaluate --matrix cubic,reno,bbr --plan
    orchestrator evaluate --library
    """
    given = {
        "NAME|FOLDER": candidate, "--against": against, "--only": only, "--require": required,
        "--baseline": baseline, "--no-explain": no_explain, "--pdf": pdf,
    }  # fmt: skip
    if library:
        others = {"--matrix": matrix, "--plan": only_plan, "--kernel": kernel, "-o": folder}
        _require_alone("--library", {**given, **others, "--quick or --full": length})
        return _show_library(as_json)
    if folder is None and not only_plan:
        raise UsageError("-o DIR: is missing; it names the folder that the card is written to")

    def settings() -> RunSettings:
        return RunSettings(
            db, backends.DEFAULT, choose(executor, backends.DEFAULT, jobs, tls_files)
        )

    if matrix is not None:
        _require_alone("--matrix", given)
        wanted = MatrixRequest(
            _names(matrix),
            folder or Path("matrix"),
            require_length(length or "quick"),
            shared.kernel_text(kernel),
        )
        prepared_matrix = prepare_matrix(wanted)
        if only_plan:
            return _plan_matrix(prepared_matrix, db, jobs or 1, as_json)
        return _make_matrix(prepared_matrix, settings(), as_json, quiet)
    if candidate is None:
        raise UsageError("NAME|FOLDER: is missing; or give --matrix NAMES")
    request = EvaluationRequest(
        candidate,
        folder or Path("card"),
        AGAINST if against is None else _names(against),
        require_length(length or "quick"),
        () if only is None else _names(only),
        required,
        shared.kernel_text(kernel),
        baseline,
        pdf,
        not no_explain,
    )
    prepared = prepare(request)
    if only_plan:
        planned = costs.of_criteria(prepared.all_experiments, db)
        if as_json:
            terminal.print_json(costs.document(prepared, planned))
        else:
            card_text.show_plan(prepared, planned, jobs or 1)
        return 0
    with RunEvents(quiet) as listener, naming_the_command(quiet):
        result = evaluate(prepared, settings(), listener)
    written = result.write()
    if as_json:
        terminal.print_json(result.document)
    else:
        card_text.show(result)
    for file in written:
        terminal.line(str(file), err=True)
    return result.status


def _require_alone(option: str, given: Mapping[str, object]) -> None:
    """Raise UsageError if an option is given with others that do not go with it."""
    for name, value in given.items():
        if value:
            raise UsageError(f"{option} and {name}: give one of them")


def _show_library(as_json: bool) -> int:
    """Print the grades of the reference cards."""
    if as_json:
        terminal.print_json(library_text.document())
    else:
        library_text.show()
    return 0


def _plan_matrix(prepared: PreparedMatrix, db: Path, jobs: int, as_json: bool) -> int:
    """Print what a matrix of harm would cost."""
    planned = matrix_costs.of_matrix(prepared, db)
    if as_json:
        terminal.print_json(matrix_costs.document(prepared, planned))
    else:
        matrix_text.show_plan(prepared, planned, jobs)
    return 0


def _make_matrix(
    prepared: PreparedMatrix, settings: RunSettings, as_json: bool, quiet: bool
) -> int:
    """Make a matrix of harm, write it and print it."""
    files.require_folder(prepared.request.folder)
    with RunEvents(quiet) as listener, naming_the_command(quiet):
        found = make(prepared, settings, listener)
    written = files.write(found, settings.db)
    if as_json:
        terminal.print_json(files.document(found, settings.db))
    else:
        matrix_text.show(found)
    for file in written:
        terminal.line(str(file), err=True)
    return found.status


def _names(text: str) -> tuple[str, ...]:
    """Return the names between commas."""
    return tuple(name.strip() for name in text.split(","))
