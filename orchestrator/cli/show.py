"""``orchestrator show``: show a stored run."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from orchestrator.cli.options import completion, shared
from orchestrator.cli.render import run_text, terminal
from results.documents import run_document
from results.runs import programs, result
from results.store.store import Store
from results.wording import hosts, kernels


@click.command()
@click.argument("run", shell_complete=completion.runs)
@shared.database
@shared.one_of(
    "form",
    {
        "--json": ("json", "Print JSON instead of text."),
        "--console": ("console", "Print the guest's console."),
        "--log": ("log", "Print the test bed's log."),
        "--programs": (
            "programs",
            "Print what its programs printed, and the files kept.",
        ),
    },
)
def command(run: str, db: Path, form: Literal["json", "console", "log", "programs"] | None) -> None:
    """Show a stored run, with its kernel, hosts, all metrics and fidelity checks.

    RUN is an id, a unique prefix of one, or "last".

    \b
    orchestrator show last
    orchestrator show last --json
    orchestrator show last --programs
    """
    with Store.open_read_only(db) as store:
        if form in ("console", "log"):
            # Earlier versions stored the guest's output without escaping control characters.
            terminal.say(store.load(run).artefact(form), nl=False)
            return
        stored = store.load(run)
        if form == "programs":
            run_text.print_programs(programs.of_run(stored))
            run_text.print_files(programs.files_of(stored), terminal.console())
            return
        shown = result.of_run(stored)
        machines = [*kernels.of_run(stored), *hosts.of_run(stored)]
    if form == "json":
        terminal.print_json(run_document.document([shown]))
    else:
        run_text.print_run(shown, terminal.console(), everything=True, machines=machines)
