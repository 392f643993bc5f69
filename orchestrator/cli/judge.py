"""``orchestrator judge``: judge stored runs again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.application.stored.judge import JudgeRequest, judge
from orchestrator.cli.options import completion, shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.run_events import RunEvents
from results.wording.check_words import outcome_words

if TYPE_CHECKING:
    from orchestrator.execution.judging import Rejudgement
    from orchestrator.recording.model import Check


@click.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=completion.runs)
@click.option("--all", "every", is_flag=True, help="Judge every stored run.")
@shared.database
@shared.as_json
def command(runs: tuple[str, ...], every: bool, db: Path, as_json: bool) -> int:
    """Judge stored runs again by the checks of this program, and say what changed.

    RUN is an id, a unique start of one, or "last". A new verdict is added to the run; the earlier
    ones stay. With --all, runs that cannot be judged again are listed and are no error. The exit
    status is 3 when a run is unfaithful now. It is 1 when a named run cannot be judged again or a
    run is damaged. All other runs are judged in any case.
    """
    with RunEvents(quiet=False) as listener:
        result = judge(JudgeRequest(runs, every), db, listener)
    if as_json:
        terminal.print_json(result.document())
    else:
        for judged in result.judged:
            _print(judged)
        for run in result.refused:
            terminal.say(run.reason, err=not every)
        for run in result.damaged:
            terminal.say(run.reason, err=True)
    return result.status


def _print(one: Rejudgement) -> None:
    old, new = one.old, one.new
    if one.same:
        versions = "" if old.checks_version == new.checks_version else f" (by {_versions(one)})"
        terminal.line(f"{one.run_id}: {new.verdict}, as before{versions}")
        return
    terminal.line(f"{one.run_id}: {old.verdict} -> {new.verdict} ({_versions(one)})")
    for change in one.changes:
        text = f"  {change.name}: {_words(change.old)} -> {_words(change.new)}"
        terminal.say(text)


def _versions(one: Rejudgement) -> str:
    return f"checks {one.old.checks_version} -> {one.new.checks_version}"


def _words(check: Check | None) -> str:
    """Return a check as text; None means that there was no check."""
    if check is None:
        return "not made"
    state = outcome_words(check.ok, check.measured)
    values = f"expected {check.expected}, measured {check.measured}, tolerance {check.tolerance}"
    return f"{state} ({values}{f'; {check.detail}' if check.detail else ''})"
