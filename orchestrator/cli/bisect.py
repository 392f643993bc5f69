"""``orchestrator bisect``: find the commit of Linux that changed what a scenario measures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator import backends, plaintext
from orchestrator.application.executor import LOCAL, choose
from orchestrator.application.kernels.bisect import BisectRequest, BisectStep, bisect
from orchestrator.application.making_runs import RunSettings
from orchestrator.cli.options import shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.run_events import RunEvents
from results.wording import quantities
from results.wording.intervals import with_interval

if TYPE_CHECKING:
    from orchestrator.application.kernels.bisect import BisectResult
    from results.experiment.expectations import ExpectationResult

_SHORT = 12
"""Digits of a commit that are shown."""
NOT_DECIDED = 1


@click.command()
@shared.scenario_file()
@click.option(
    "--tree",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="A git repository of Linux; it stays as it is.",
)
@click.option("--good", required=True, metavar="REVISION", help="Where the expectation is met.")
@click.option("--bad", required=True, metavar="REVISION", help="Where it is not.")
@click.option(
    "--expect",
    "expected",
    metavar="EXPECTATION",
    multiple=True,
    help="What is expected, as in a scenario's `expect`; by default the scenario's own.",
)
@click.option(
    "--path",
    "paths",
    metavar="PATH",
    multiple=True,
    help="Only commits that change this. Repeatable.",
)
@shared.overrides
@click.option("--least", type=click.IntRange(1), default=3, show_default=True,
              help="Seeds of a commit at first.")  # fmt: skip
@click.option("--most", type=click.IntRange(1), default=24, show_default=True,
              help="Seeds of a commit at most.")  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Runs at a time."
)
@shared.database
@shared.as_json
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
    file: Path,
    tree: Path,
    good: str,
    bad: str,
    expected: tuple[str, ...],
    paths: tuple[str, ...],
    overrides: tuple[str, ...],
    least: int,
    most: int,
    jobs: int,
    db: Path,
    as_json: bool,
    quiet: bool,
) -> int:
    """Find the first commit of Linux on which a scenario does not do what is expected.

    Each step builds the kernel of a commit in the middle, and runs the scenario with so many seeds
    that the confidence interval lies on one side. A commit that does not build, on which a flow
    without TCP does not run faithfully, or that stays undecided is skipped. Kernels and runs are
    kept, so the same command goes on after an interruption.

    The exit status is 0 if the commit is found, 1 if commits that were skipped hide it, and 2 if
    the good commit is not good or the bad one not bad.

    \b
    orchestrator bisect mine.yaml --tree ~/linux --good v6.11 --bad v6.15 --path net
    orchestrator bisect mine.yaml --tree ~/linux --good v6.11 --bad HEAD \\
      --expect '{metric: goodput_bps, flow: one, above: 800mbit}'
    """
    request = BisectRequest(
        file, tree.absolute(), good, bad, expected, overrides, paths,
        least, most,
    )  # fmt: skip
    where = choose(LOCAL, backends.DEFAULT, jobs, (None, None, None))
    settings = RunSettings(db, backends.DEFAULT, where)
    with RunEvents(quiet) as listener:
        found = bisect(request, settings, listener, lambda step: None if as_json else _show(step))
    if as_json:
        terminal.print_json(found.document())
    else:
        _print(found)
    return 0 if found.first_bad else NOT_DECIDED


def _show(step: BisectStep) -> None:
    subject = plaintext.shortened(plaintext.one_line(step.subject), 60)
    measured = "; ".join(map(_measured, step.results)) or plaintext.one_line(step.reason)
    terminal.line(
        f"{step.commit[:_SHORT]} {step.verdict:4}  {measured}  ({step.suspects} suspects, "
        f"{step.wall_s:.0f} s)  {subject}"
    )


def _measured(one: ExpectationResult) -> str:
    if one.mean is None:
        return f"{one.metric}: no value"
    mean = with_interval(one, "{:.6g}".format)
    return f"{one.metric} {mean} of {quantities.plural(one.n, 'run')}"


def _print(found: BisectResult) -> None:
    runs = sum(len(step.runs) for step in found.steps)
    wall_s = sum(step.wall_s for step in found.steps)
    steps = quantities.plural(len(found.steps), "commit")
    terminal.line("")
    terminal.line(f"{steps} tested, {quantities.plural(runs, 'run')}, {wall_s:.0f} s")
    if found.first_bad is None:
        terminal.line("not decided: one of these, as the others of them were skipped:")
        for commit in found.suspects:
            terminal.line(f"  {commit}")
        return
    terminal.line(f"first bad commit: {found.first_bad}")
    terminal.line(f"  {plaintext.one_line(found.subject)} ({plaintext.one_line(found.author)})")
    if found.sides:
        good, bad = found.sides
        terminal.line("")
        terminal.line(f"{shared.program()} diff {good} {bad}    where its two sides part")
        terminal.line(f"{shared.program()} evidence {good} {bad} -o evidence")
