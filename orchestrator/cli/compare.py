"""``orchestrator compare``: compare stored runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import _completion, _metrics, _options, _output, _report, _variants

if TYPE_CHECKING:
    from rich.console import Console


MOST_SIDE_BY_SIDE = 12
"""Most runs whose values the text shows side by side. Of more, one of each variant is shown."""


@click.command()
@click.argument(
    "runs", metavar="RUN RUN...", nargs=-1, required=True, shell_complete=_completion.runs
)
@_options.database
@_options.as_json
def command(runs: tuple[str, ...], db: Path, as_json: bool) -> None:
    """Compare stored runs: their metrics, and the values in which they differ.

    Changes are relative to the first run. If the runs are repetitions of several variants, means
    over repetitions and their differences with 95% intervals come first, as in `orchestrator
    summary`. Of more than 12 such runs the first of each variant stands for all below that.
    RUN is an id, a unique prefix of one, or "last".

    \b
    orchestrator compare 20261120-1015 last
    orchestrator compare 20261120-1015 last --json
    """
    from results.compare import compare
    from results.compare_variants import compare_variants
    from results.store import Store

    with Store.open_read_only(db) as store:
        loaded = [store.load(run) for run in runs]
        variants = compare_variants(store, [run.row for run in loaded])
        if variants is not None and len(loaded) > MOST_SIDE_BY_SIDE and not as_json:
            by_id = {run.id: run for run in loaded}
            loaded = [by_id[one["runs"][0]] for one in variants["variants"] if one["runs"]]
        compared = {**compare(loaded), "variants": variants}
    if as_json:
        _output.print_json(compared)
    else:
        out = _output.console()
        if variants is not None:
            _variants.print_text(variants, out)
        _print(compared, out)


def _print(compared: Mapping[str, Any], out: Console) -> None:
    ids = [run["id"] for run in compared["runs"]]
    parts = [("metric", compared["metrics"])]
    parts += [(f"in {name}", lines) for name, lines in compared["windows"].items()]
    for kind in ("flows", "links"):
        parts += [(subject["name"], subject["metrics"]) for subject in compared[kind]]
    for title, lines in parts:
        if lines:
            rows = [_metric_row(line) for line in lines]
            headings = [title, "unit", *ids, *(f"change {run}" for run in ids[1:])]
            out.print(_output.table(headings, rows, right=range(2, len(headings))))
            out.print()
    for part, lines in compared["differs"].items():
        if lines:
            rows = [[line["path"], *(_shown(value) for value in line["values"])] for line in lines]
            out.print(_output.table([f"differs: {part}", *ids], rows))
            out.print()


def _metric_row(line: Mapping[str, Any]) -> Sequence[str]:
    changes = [
        _output.NO_VALUE if ratio is None else f"{ratio - 1:+.1%}" for ratio in line["ratios"][1:]
    ]
    values = [_metrics.quantity(value, line["unit"]) for value in line["values"]]
    return [line["name"], _metrics.unit(line["unit"]), *values, *changes]


def _shown(value: object) -> str:
    if isinstance(value, Mapping) and "measured" in value:  # a fidelity check
        return f"{value['measured']} {_report.CHECK_MARKS[value['ok']]}"
    return _output.NO_VALUE if value is None else str(value)
