"""``orchestrator experiments``: list the experiments in the store."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.options import shared
from orchestrator.cli.render import terminal
from results.documents.experiment_document import list_document
from results.experiment.experiments import experiments
from results.store.store import Store
from results.wording import quantities


@click.command()
@shared.database
@shared.as_json
def command(db: Path, as_json: bool) -> None:
    """List the experiments: runs of one scenario, kernel and set of modules.

    Commands take an experiment as NAME@HASH, or as NAME. NAME means the one of that name with the
    most runs that ended well. Of several with as many it means the newest.
    """
    with Store.open_read_only(db) as store:
        document = list_document(experiments(store))
    if as_json:
        terminal.print_json(document)
        return
    rows = [
        [
            f"{row['name']}@{row['identity'][:8]}",
            ", ".join(axis["label"] for axis in row["axes"]) or quantities.NO_VALUE,
            str(row["variants"]),
            str(row["runs"]),
            str(row["failed"]),
            str(row["unfaithful"]),
            row["newest_utc"],
        ]
        for row in document["experiments"]
    ]
    headings = ["experiment", "axes", "variants", "runs", "failed", "unfaithful", "newest run"]
    terminal.console().print(terminal.table(headings, rows, right=(2, 3, 4, 5)))
