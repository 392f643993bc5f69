"""``orchestrator validate``: check scenario files."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.application.events import Event, PlanWarned, ScenarioForm, ScenarioValid
from orchestrator.application.scenarios.validate import ValidationRequest, validate
from orchestrator.cli.options import shared
from orchestrator.cli.render import terminal
from results.wording import quantities


@click.command()
@shared.scenario_file("files", metavar="FILE...", nargs=-1, required=True)
@shared.overrides
@shared.kernels
@shared.reduced
def command(files: tuple[Path, ...], overrides: tuple[str, ...], reduced: bool) -> None:
    """Check scenario files and their reduced forms; print each fault with file, line and column.

    Warnings of a plan are on standard error, as `plan` prints them, and change no exit status.

    \b
    orchestrator validate scenarios/*.yaml
    orchestrator validate mine.yaml --set flows.reno.congestion=vegas
    """

    def show(event: Event) -> None:
        if isinstance(event, PlanWarned):
            terminal.line(f"{event.where}: warning: {event.message}", err=True)
        elif isinstance(event, ScenarioValid):
            forms = ", ".join(_runs(form, reduced) for form in event.forms)
            terminal.line(f"{event.path}: valid, {forms}")

    validate(ValidationRequest(files, overrides, reduced), show)


def _runs(form: ScenarioForm, only_reduced: bool) -> str:
    """Return the number of runs of a form of a scenario."""
    runs = quantities.plural(form.runs, "run")
    if form.counts and (form.counts.excluded or form.counts.included):
        runs = f"{runs} ({form.counts})"
    return f"{runs} reduced" if form.reduced and not only_reduced else runs
