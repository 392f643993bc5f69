"""``orchestrator doctor``: check this machine, or a results database."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator import backends
from orchestrator.cli import _completion, _options, _output
from orchestrator.errors import MachineError, StoreError, UsageError

if TYPE_CHECKING:
    from orchestrator.backends.contract import Examined, Finding


@click.command()
@click.option(
    "--backend",
    metavar="NAME",
    shell_complete=_completion.backends,
    help=f"Check only this back end: {', '.join(backends.MODULES)}.",
)
@click.option("--store", is_flag=True, help="Check the results database for damage instead.")
@_options.database
@_options.as_json
def command(backend: str | None, store: bool, db: Path, as_json: bool) -> int:
    """Check what each back end needs on this machine, and name a fix for what is missing.

    The exit status is 4 when something is missing. A back end that is not set up here does not
    count, unless --backend names it or no other is ready.

    With --store, read the whole results database and compare every run with the checksum that was
    stored with it. The exit status is 1 when something is damaged. Runs of versions that stored no
    checksum are listed as not checked.
    """
    if store:
        if backend is not None:
            raise UsageError(
                "--store checks the database and --backend checks this machine: give one of them"
            )
        return _examine_store(db, as_json)
    from dataclasses import asdict

    from orchestrator.execution import doctor

    if backend is not None:
        backends.require_known(backend)
    found = doctor.diagnose(db, backend)
    if as_json:
        by_backend = [*((name, each.findings) for name, each in found.backends.items())]
        findings = [
            {"backend": name, **asdict(finding)}
            for name, group in [*by_backend, ("", found.common)]
            for finding in group
        ]
        states = {name: _state(each) for name, each in found.backends.items()}
        _output.print_json({"ok": found.ok, "backends": states, "findings": findings})
    else:
        for name, each in found.backends.items():
            click.echo(f"{name}: {_state(each)}{each.absent and f': {each.absent}'}")
            if not each.absent:
                _show(each.findings)
        click.echo("all:")
        _show(found.common)
    return 0 if found.ok else MachineError.exit_status


def _examine_store(db: Path, as_json: bool) -> int:
    """Print the damage in a store, and return the exit status."""
    from dataclasses import asdict

    from results import integrity

    found = integrity.examine(db)
    if as_json:
        runs = [asdict(run) for run in found.runs]
        _output.print_json(
            {
                "ok": found.ok,
                "schema": found.schema,
                "problems": found.problems,
                "counts": found.counts,
                "runs": runs,
            }
        )
        return 0 if found.ok else StoreError.exit_status
    click.echo(f"{db}: schema {found.schema}, {_output.plural(len(found.runs), 'run')}")
    click.echo(", ".join(f"{count} {state}" for state, count in found.counts.items()))
    if found.counts["not checked"]:
        click.echo(f"not checked: {integrity.UNCHECKED}")
    for problem in found.problems:
        click.echo(f"DAMAGED {problem}")
    for run in found.runs:
        for damage in run.damage:
            click.echo(f"DAMAGED run {run.id}, table {damage.table}: {damage.problem}")
    if not found.ok:
        click.echo("fix: restore a copy of the file, or run the damaged runs again", err=True)
    return 0 if found.ok else StoreError.exit_status


def _state(examined: Examined) -> str:
    if examined.absent:
        return "not set up here"
    return "ready" if examined.ready else "not ready"


def _show(findings: Iterable[Finding]) -> None:
    for finding in findings:
        mark = "ok     " if finding.ok else "MISSING"
        click.echo(f"{mark} {finding.name}: {finding.detail}")
        if finding.fix:
            click.echo(f"        fix: {finding.fix}")
