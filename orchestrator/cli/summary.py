"""``orchestrator summary``: means with intervals over repetitions, and differences."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from orchestrator.cli import _completion, _experiments, _options, _output, _summary
from orchestrator.errors import UsageError

Form = Literal["json", "csv", "csv-differences", "markdown", "latex"]


@click.command()
@click.argument(
    "experiment", metavar=_experiments.ARGUMENT, shell_complete=_completion.experiments_and_files
)
@_options.database
@click.option(
    "--metric",
    "metrics",
    metavar="M",
    multiple=True,
    shell_complete=_completion.metrics,
    help="A column. Repeatable.",
)
@click.option("--by", metavar="AXIS", multiple=True, help="Compare the values of this axis.")
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
@_options.overrides
@_options.reduced
@click.option("--json", "form", flag_value="json", help="Print JSON instead of text.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV: one line a metric and row.")
@click.option(
    "--csv-differences", "form", flag_value="csv-differences",
    help="Print CSV of the differences: one line each.",
)  # fmt: skip
@click.option("--markdown", "form", flag_value="markdown", help="Print tables in Markdown.")
@click.option("--latex", "form", flag_value="latex", help="Print tables for LaTeX (booktabs).")
def command(
    experiment: str,
    db: Path,
    metrics: tuple[str, ...],
    by: tuple[str, ...],
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

    Each value is a mean over repetitions with its 95% confidence interval. Unfaithful and failed
    runs are left out and counted. Differences are paired by seed, or Welch's where seeds are not
    common, with Holm's correction.
    EXPERIMENT is a name or NAME@HASH; a scenario FILE means the runs that it makes. A CONDITION
    is that of `orchestrator runs` and names axes, such as limit=1bdp or 'limit<=1bdp or loss>0'.

    \b
    orchestrator summary bbr-vs-cubic --metric goodput_bps
    orchestrator summary sweep.yaml --by congestion --where rate=10mbit --latex
    """
    from results import summary_csv
    from results.observations import ValueSelection
    from results.statistics.drift import PARTS
    from results.store import Store
    from results.summary import summarise

    if flows and entries:
        raise UsageError("--flows: give it without --flow, which names flow entries")
    wanted = ValueSelection(metrics, window, where, entries, flows, PARTS)
    shares = [_share(text) for text in quantiles]
    with Store.open_read_only(db) as store:
        found = _experiments.find(store, experiment, overrides, reduced)
        document = summarise(store, found, wanted, by, shares)
    if form == "json":
        _output.print_json(document)
    elif form == "csv":
        click.echo(summary_csv.text(document), nl=False)
    elif form == "csv-differences":
        click.echo(summary_csv.differences(document), nl=False)
    else:
        _summary.print_text(document, form)


def _share(text: str) -> float:
    """Return the share that ``--quantile`` names."""
    from orchestrator.units import parse_share

    try:
        return parse_share(text)
    except ValueError as error:
        raise UsageError(f"--quantile {text}: {error}") from None
