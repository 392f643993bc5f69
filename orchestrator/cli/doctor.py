"""``orchestrator doctor``: check this machine, or a results database."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator import backends
from orchestrator.cli.options import completion, shared
from orchestrator.cli.render import terminal
from orchestrator.errors import MachineError, StoreError, UsageError
from orchestrator.execution import doctor
from results.documents import integrity_document
from results.store.parts import integrity
from results.wording import quantities

if TYPE_CHECKING:
    from orchestrator.backends.contract import Finding


@click.command()
@click.option(
    "--backend",
    metavar="NAME",
    shell_complete=completion.backends,
    help=f"Check only this back end: {', '.join(backends.MODULES)}.",
)
@click.option("--store", is_flag=True, help="Check the results database for damage instead.")
@shared.database
@shared.as_json
def command(backend: str | None, store: bool, db: Path, as_json: bool) -> int:
    """Check what each back end needs on this machine, and name a fix for what is missing.

    The exit status is 4 when something is missing. A back end that is not set up here does not
    count, unless --backend names it or no other is ready.

    With --store, read the whole results database and compare every run with the checksum that was
    stored with it. The exit status is 1 when something is damaged.
    """
    if store:
        if backend is not None:
            raise UsageError(
                "--store checks the database and --backend checks this machine: give one of them"
            )
        return _examine_store(db, as_json)

    if backend is not None:
        backends.require_known(backend)
    diagnosis = doctor.diagnose(db, backend)
    if as_json:
        terminal.print_json(diagnosis.document())
    else:
        for name, examined in diagnosis.backends.items():
            reason = examined.absent and f": {examined.absent}"
            terminal.line(f"{name}: {examined.state}{reason}")
            if not examined.absent:
                _show(examined.findings)
        terminal.line("all:")
        _show(diagnosis.common)
    return 0 if diagnosis.ok else MachineError.exit_status


def _examine_store(db: Path, as_json: bool) -> int:
    """Print the damage in a store, and return the exit status."""
    examination = integrity.examine(db)
    if as_json:
        terminal.print_json(integrity_document.document(examination))
        return 0 if examination.ok else StoreError.exit_status
    terminal.line(
        f"{db}: schema {examination.schema}, {quantities.plural(len(examination.runs), 'run')}"
    )
    terminal.line(", ".join(f"{count} {state}" for state, count in examination.counts.items()))
    for problem in examination.problems:
        terminal.line(f"DAMAGED {problem}")
    for run in examination.runs:
        for damage in run.damage:
            terminal.line(f"DAMAGED run {run.id}, table {damage.table}: {damage.problem}")
    if not examination.ok:
        terminal.line("fix: restore a copy of the file, or run the damaged runs again", err=True)
    return 0 if examination.ok else StoreError.exit_status


def _show(findings: Iterable[Finding]) -> None:
    for finding in findings:
        mark = "ok     " if finding.ok else "MISSING"
        terminal.line(f"{mark} {finding.name}: {finding.detail}")
        if finding.fix:
            terminal.line(f"        fix: {finding.fix}")
