"""``orchestrator doctor``: what this machine lacks."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import _options, _text
from orchestrator.errors import MachineError


@click.command()
@_options.database
@_options.as_json
def command(db: Path, as_json: bool) -> int:
    """Look for what this machine lacks, and name a fix for each.

    Everything that running in the guest needs is tried. Ends with 4 when something is missing.
    """
    from dataclasses import asdict

    from orchestrator import doctor

    findings = doctor.examine(db)
    missing = [finding for finding in findings if not finding.ok]
    if as_json:
        _text.print_json({"ok": not missing, "findings": [asdict(each) for each in findings]})
    else:
        for finding in findings:
            mark = "ok     " if finding.ok else "MISSING"
            click.echo(f"{mark} {finding.name}: {finding.detail}")
            if finding.mend:
                click.echo(f"        fix: {finding.mend}")
    return MachineError.exit_status if missing else 0
