"""``orchestrator doctor``: what this machine lacks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator import backends
from orchestrator.cli import _options, _text
from orchestrator.errors import MachineError

if TYPE_CHECKING:
    from orchestrator.backends.backend import Examined, Finding


@click.command()
@click.option("--backend", metavar="NAME", help=f"Only that one of {', '.join(backends.MODULES)}.")
@_options.database
@_options.as_json
def command(backend: str | None, db: Path, as_json: bool) -> int:
    """Look for what this machine lacks, and name a fix for each.

    Everything that running on each back end needs is tried. Ends with 4 when something is missing;
    a back end that is not set up here is none, unless it is asked for by --backend or no other is
    ready.
    """
    from dataclasses import asdict

    from orchestrator import doctor

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
        _text.print_json({"ok": found.ok, "backends": states, "findings": findings})
    else:
        for name, each in found.backends.items():
            click.echo(f"{name}: {_state(each)}{each.absent and f': {each.absent}'}")
            if not each.absent:
                _show(each.findings)
        click.echo("all:")
        _show(found.common)
    return 0 if found.ok else MachineError.exit_status


def _state(examined: Examined) -> str:
    if examined.absent:
        return "not set up here"
    return "ready" if examined.ready else "not ready"


def _show(findings: Iterable[Finding]) -> None:
    for finding in findings:
        mark = "ok     " if finding.ok else "MISSING"
        click.echo(f"{mark} {finding.name}: {finding.detail}")
        if finding.mend:
            click.echo(f"        fix: {finding.mend}")
