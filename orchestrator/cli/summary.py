"""``orchestrator summary``: means with intervals over repetitions, and differences."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from orchestrator.cli.options import completion, experiment_argument, shared
from orchestrator.cli.render import summary_text, terminal
from orchestrator.errors import UsageError
from orchestrator.units import parse_share
from results.experiment.observations import ValueSelection
from results.experiment.summary import summarise
from results.experiment.summary_document import document
from results.statistics.drift import PARTS
from results.store.store import Store
from results.tables import summary_csv

Form = Literal["json", "csv", "csv-differences", "markdown", "latex"]


@click.command()
@click.argument(
    "experiment",
    metavar=experiment_argument.ARGUMENT,
    shell_complete=completion.experiments_and_files,
)
@shared.database
@click.option(
    "--metric",
    "metrics",
    metavar="M",
    multiple=True,
    shell_complete=completion.metrics,
    help="A column. Repeatable.",
)
@click.option(
    "--by", metavar="AXIS", multiple=True, help="Compare the values of this axis alone. Repeatable."
)
@click.option(
    "--compare", metavar="A,B", multiple=True,
    help="Compare these flow entries alone, or these values of one axis. Repeatable.",
)  # fmt: skip
@click.option(
    "--where", metavar="CONDITION", multiple=True, help="Only the variants that fit. Repeatable."
)
@click.option("--flow", "entries", metavar="ENTRY", multiple=True, help="Only this flow entry.")
@click.option("--flows", is_flag=True, help="A row for each flow, not for each flow entry.")
@click.option(
    "--quantile", "quantiles", metavar="SHARE", multiple=True,
    help="Also this quantile over repetitions, such as 50% or 90%. Repeatable.",
)  # fmt: skip
@click.option("--window", metavar="NAME", default="", help="The metrics of this window.")
@shared.overrides
@shared.reduced
@shared.one_of(
    "form",
    {
        "--json": ("json", "Print JSON instead of text."),
        "--csv": ("csv", "Print CSV: one line a metric and row."),
        "--csv-differences": ("csv-differences", "Print CSV of the differences: one line each."),
        "--markdown": ("markdown", "Print tables in Markdown."),
        "--latex": ("latex", "Print tables for LaTeX (booktabs)."),
    },
)
def command(
    experiment: str,
    db: Path,
    metrics: tuple[str, ...],
    by: tuple[str, ...],
    compare: tuple[str, ...],
    where: tuple[str, ...],
    entries: tuple[str, ...],
    flows: bool,
    quantiles: tuple[str, ...],
    window: str,
    overrides: tuple[str, ...],
    reduced: bool,
    form: Form | None,
) -> None:
    """Summarise an experiment: a row for each variant and flow entry.

    Each value is a mean over repetitions with its 95% confidence interval. A mean of fewer runs
    than the row has says so. Unfaithful and failed runs are left out and counted.
    Differences are of flow entries, and of the values of each axis of names, unless --by or
    --compare say which. They are paired by seed, or Welch's where seeds are not common. The
    intervals of all differences of a metric that are of flow entries, or along one axis, hold
    together with 95% (Bonferroni). A result needs such an interval without zero.
    EXPERIMENT is NAME@HASH, or NAME: the one with the most runs that ended well. A scenario FILE
    means the runs that it makes. A CONDITION is that of `orchestrator runs` and names axes, such
    as limit=1bdp or 'limit<=1bdp or loss>0'.

    \b
    orchestrator summary bbr-vs-cubic --metric goodput_bps
    orchestrator summary bbr-vs-cubic --compare cubic,bbr
    orchestrator summary sweep.yaml --by congestion --where rate=10mbit --latex
    """
    if flows and entries:
        raise UsageError("--flows: give it without --flow, which names flow entries")
    wanted = ValueSelection(metrics, window, where, entries, flows, PARTS)
    shares = [_share(text) for text in quantiles]
    with Store.open_read_only(db) as store:
        chosen = experiment_argument.find(store, experiment, overrides, reduced)
        summary = summarise(store, chosen, wanted, by, shares, compare=compare)
    if form == "json":
        terminal.print_json(document(summary))
    elif form == "csv":
        terminal.say(summary_csv.text(summary), nl=False)
    elif form == "csv-differences":
        terminal.say(summary_csv.differences(summary), nl=False)
    else:
        summary_text.print_text(summary, form)


def _share(text: str) -> float:
    """Return the share that ``--quantile`` names."""
    try:
        return parse_share(text)
    except ValueError as error:
        raise UsageError(f"--quantile {text}: {error}") from None
