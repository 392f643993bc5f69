"""``orchestrator experiments``: list the experiments in the store."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import _options, _output


@click.command()
@_options.database
@_options.as_json
def command(db: Path, as_json: bool) -> None:
    """List the experiments: runs of one scenario, kernel and set of modules.

    Commands take an experiment as NAME, which means the one with the newest run, or as NAME@HASH.
    """
    from results.documents import SCHEMA
    from results.experiments import experiments
    from results.overview import document
    from results.store import Store

    with Store.open_read_only(db) as store:
        found = [document(each) for each in experiments(store)]
    if as_json:
        _output.print_json({"schema": SCHEMA, "experiments": found})
        return
    rows = [
        [
            f"{each['name']}@{each['identity'][:8]}",
            ", ".join(axis["label"] for axis in each["axes"]) or _output.NO_VALUE,
            str(each["variants"]),
            str(each["runs"]),
            str(each["failed"]),
            str(each["unfaithful"]),
            each["newest_utc"],
        ]
        for each in found
    ]
    headings = ["experiment", "axes", "variants", "runs", "failed", "unfaithful", "newest run"]
    _output.console().print(_output.table(headings, rows, right=(2, 3, 4, 5)))
