"""``orchestrator plan``: what would be run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from orchestrator.cli import _options, _report, _text


@click.command()
@_options.scenario_file()
@_options.overrides
@_options.as_json
def command(file: Path, overrides: tuple[str, ...], as_json: bool) -> None:
    """List the runs of a scenario, with estimates; run nothing.

    \b
    orchestrator plan scenarios/quickstart.yaml
    orchestrator plan mine.yaml --set topology.bottleneck.rate=20mbit --json
    """
    from orchestrator.plan import plan
    from orchestrator.scenario import load

    described = plan(load(file, overrides)).describe()
    if as_json:
        _text.print_json(described)
    else:
        _print(described)


def _print(described: dict[str, Any]) -> None:
    rows = [
        [
            str(index),
            _report.variant(run["variant"]) or _text.NO_VALUE,
            str(run["repetition"]),
            str(run["seed"]),
            str(len(run["flows"])),
            f"{run['duration_s']:g}",
            f"{run['estimated_wall_s']:.1f}",
            f"{run['estimated_disk_bytes'] / 1e6:.1f}",
        ]
        for index, run in enumerate(described["runs"])
    ]
    headings = ["run", "variant", "repetition", "seed", "flows", "simulated s", "wall s", "disk MB"]
    out = _text.console()
    out.print(_text.table(headings, rows, right=(0, 2, 3, 4, 5, 6, 7)))
    runs = _text.plural(len(rows), "run")
    disk = f"{described['estimated_disk_bytes'] / 1e6:.1f} MB"
    out.print(
        f"{runs}, about {described['estimated_wall_s']:.0f} s of wall time and {disk}", markup=False
    )
