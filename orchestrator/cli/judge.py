"""``orchestrator judge``: judge stored runs again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator import plaintext
from orchestrator.cli import _completion, _options, _output
from orchestrator.cli._status import StatusLine
from orchestrator.errors import StoreError, Unfaithful, UsageError

if TYPE_CHECKING:
    from orchestrator.execution.judging import Change, Rejudged


@click.command()
@click.argument("runs", metavar="[RUN]...", nargs=-1, shell_complete=_completion.runs)
@click.option("--all", "every", is_flag=True, help="Judge every stored run.")
@_options.database
@_options.as_json
def command(runs: tuple[str, ...], every: bool, db: Path, as_json: bool) -> int:
    """Judge stored runs again by the checks of this program, and say what changed.

    RUN is an id, a unique start of one, or "last". A new verdict is added to the run; the earlier
    ones stay. With --all, runs that cannot be judged again are listed and are no error. The exit
    status is 3 when a run is unfaithful now. It is 1 when a named run cannot be judged again or a
    run is damaged. All other runs are judged in any case.
    """
    if every == bool(runs):
        raise UsageError("name stored runs, or give --all")
    from orchestrator.execution.judging import CannotJudge, judge_again
    from results.store import Store

    judged: list[Rejudged] = []
    refused: list[tuple[str, str]] = []
    damaged: list[tuple[str, str]] = []
    with Store.open_existing(db, StatusLine().say) as store:
        ids = (
            [row.id for row in store.list_runs()] if every else [store.resolve(run) for run in runs]
        )
        for run_id in ids:
            try:
                judged.append(judge_again(store, run_id))
            except CannotJudge as error:
                refused.append((run_id, str(error)))
            except StoreError as error:
                damaged.append((run_id, str(error)))
    if as_json:
        _output.print_json(_document(judged, [*refused, *damaged]))
    else:
        for one in judged:
            _print(one)
        for _run, problem in refused:
            click.echo(plaintext.visible(problem), err=not every)
        for _run, problem in damaged:
            click.echo(plaintext.visible(problem), err=True)
    if damaged:
        return StoreError.exit_status
    if refused and not every:
        return CannotJudge.exit_status
    unfaithful = any(one.new.verdict == "unfaithful" for one in judged)
    return Unfaithful.exit_status if unfaithful else 0


def _print(one: Rejudged) -> None:
    old, new = one.old, one.new
    if one.same:
        versions = "" if old.checks_version == new.checks_version else f" (by {_versions(one)})"
        click.echo(f"{one.run_id}: {new.verdict}, as before{versions}")
        return
    click.echo(f"{one.run_id}: {old.verdict} -> {new.verdict} ({_versions(one)})")
    for change in one.changes:
        text = f"  {change.name}: {_words(change.old)} -> {_words(change.new)}"
        click.echo(plaintext.visible(text))


def _versions(one: Rejudged) -> str:
    before = one.old.checks_version or "of an earlier version"
    return f"checks {before} -> {one.new.checks_version}"


def _words(check: Any) -> str:
    """Return a check as text; None means that there was no check."""
    if check is None:
        return "not made"
    state = {True: "ok", False: "FAILED", None: "not measured"}[check.ok]
    values = f"expected {check.expected}, measured {check.measured}, tolerance {check.tolerance}"
    return f"{state} ({values}{f'; {check.detail}' if check.detail else ''})"


def _document(judged: list[Rejudged], refused: list[tuple[str, str]]) -> dict[str, Any]:
    runs: list[dict[str, Any]] = [
        {
            "id": one.run_id,
            "same": one.same,
            "verdict": one.new.verdict,
            "checks_version": one.new.checks_version,
            "earlier": {"verdict": one.old.verdict, "checks_version": one.old.checks_version},
            "changes": [_change(change) for change in one.changes],
            "error": None,
        }
        for one in judged
    ]
    runs += [{"id": run_id, "error": problem} for run_id, problem in refused]
    return {"schema": 1, "runs": runs}


def _change(change: Change) -> dict[str, Any]:
    return {
        "check": change.name,
        "old": None if change.old is None else vars(change.old),
        "new": None if change.new is None else vars(change.new),
    }
