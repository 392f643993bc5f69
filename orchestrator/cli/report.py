"""``orchestrator report``: a report of experiments as one HTML file and one PDF."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.application.report.section_figures import ReportSelection
from orchestrator.application.report.write import ReportRequest, report
from orchestrator.cli.options import completion, shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.run_events import RunEvents


@click.command()
@click.argument(
    "experiments", metavar="EXPERIMENT|FILE...", nargs=-1, required=True,
    shell_complete=completion.experiments_and_files,
)  # fmt: skip
@shared.database
@click.option(
    "-o", "--output", metavar="DIR", required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for report.html and report.pdf; it is made if it does not exist.",
)  # fmt: skip
@click.option(
    "--metric", "metrics", metavar="M", multiple=True, shell_complete=completion.metrics,
    help="A column of the tables and a figure. Repeatable. Default: goodput_bps; with one variant "
    "also RTT, retransmissions, queue, utilisation and Jain's index.",
)  # fmt: skip
@click.option(
    "--where", metavar="CONDITION", multiple=True, help="Only the variants that fit. Repeatable."
)
@click.option(
    "--flow", "flows", metavar="ENTRY", multiple=True, help="Only this flow entry. Repeatable."
)
@click.option(
    "--by", metavar="AXIS", help="Draw figures against this axis, and compare its values."
)
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
def command(
    experiments: tuple[str, ...],
    db: Path,
    output: Path,
    metrics: tuple[str, ...],
    where: tuple[str, ...],
    flows: tuple[str, ...],
    by: str | None,
    force: bool,
) -> None:
    """Write a report: question, network, figures, means, differences, trust, and how to repeat it.

    Figures are those that the scenario names, or else each metric against each axis of numbers,
    in as many panels as their lines need. A CONDITION names axes, such as limit=1bdp.

    \b
    orchestrator report bbr-vs-cubic -o report
    orchestrator report sweep.yaml --where rate=10mbit --flow bbr --by limit -o report
    orchestrator report first second --metric goodput_bps --metric rtt_p95_s -o report
    """
    selection = ReportSelection(tuple(dict.fromkeys(metrics)), where, flows, by)
    with RunEvents(quiet=False) as listener:
        files = report(ReportRequest(experiments, output, selection, force), db, listener)
    for file in files:
        terminal.say(file)
