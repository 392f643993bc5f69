"""``orchestrator compare``: compare stored runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli.options import completion, shared
from orchestrator.cli.render import terminal, variant_table
from results.comparison.comparison_document import document
from results.comparison.runs import (
    Differences,
    DifferingValue,
    MetricComparison,
    RunComparison,
    compare,
)
from results.comparison.variants import VariantComparison, compare_variants
from results.store.store import Store
from results.store.stored import StoredRun
from results.wording import endings, quantities
from results.wording.check_words import outcome_words

if TYPE_CHECKING:
    from rich.console import Console


MOST_SIDE_BY_SIDE = 12
"""Most runs whose values the text shows side by side. Of more, one of each variant is shown."""


@click.command()
@click.argument(
    "runs", metavar="RUN RUN...", nargs=-1, required=True, shell_complete=completion.runs
)
@shared.database
@shared.as_json
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
    with Store.open_read_only(db) as store:
        loaded = [store.load(run) for run in runs]
        variants = compare_variants(store, [run.row for run in loaded])
        failed = [] if as_json else list(_failed(loaded, variants))
        if variants is not None and len(loaded) > MOST_SIDE_BY_SIDE and not as_json:
            by_id = {run.id: run for run in loaded}
            loaded = [by_id[variant.runs[0]] for variant in variants.variants if variant.runs]
        compared = compare(loaded)
    if as_json:
        terminal.print_json(document(compared, variants))
    else:
        out = terminal.console()
        if variants is not None:
            variant_table.print_text(variants, out)
        for line in failed:
            terminal.line(line)
        _print(compared, out)


def _failed(runs: Sequence[StoredRun], variants: VariantComparison | None) -> Iterator[str]:
    """Yield a line for each variant with flows that failed; for each run, where none repeats."""
    by_id = {run.id: run for run in runs}
    named = [(run_id, [run_id]) for run_id in by_id]
    if variants is not None:
        named = [(variant.name, list(variant.runs)) for variant in variants.variants]
    for name, ids in named:
        said = endings.failures([by_id[run_id].flows for run_id in ids])
        if said is not None:
            yield f"{name}: {said}"


def _print(compared: RunComparison, out: Console) -> None:
    ids = [row.id for row in compared.rows]
    parts = [("metric", compared.metrics)]
    parts += [(f"in {name}", metrics) for name, metrics in compared.windows.items()]
    parts += [(subject.name, subject.metrics) for subject in (*compared.flows, *compared.links)]
    for title, lines in parts:
        if lines:
            rows = [_metric_row(line) for line in lines]
            headings = [title, "unit", *ids, *(f"change {run}" for run in ids[1:])]
            out.print(terminal.table(headings, rows, right=range(2, len(headings))))
            out.print()
    for part, differing in _differing(compared.differs):
        if differing:
            out.print(terminal.table([f"differs: {part}", *ids], differing))
            out.print()


def _differing(differs: Differences) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each part in which runs may differ, with a row for each difference."""
    for part in ("run", "scenario", "provenance"):
        values: Sequence[DifferingValue] = getattr(differs, part)
        yield part, [[each.path, *map(_shown, each.values)] for each in values]
    yield (
        "checks",
        [
            [
                each.name,
                *(
                    quantities.NO_VALUE if one is None else _check(one.measured, one.ok)
                    for one in each.checks
                ),
            ]
            for each in differs.checks
        ],
    )


def _check(measured: float | str | None, ok: bool | None) -> str:
    known = not isinstance(measured, float) or math.isfinite(measured)
    return f"{measured if known else None} {outcome_words(ok, measured)}"


def _metric_row(line: MetricComparison) -> Sequence[str]:
    changes = [
        quantities.NO_VALUE if ratio is None else f"{ratio - 1:+.1%}" for ratio in line.ratios[1:]
    ]
    values = [quantities.quantity(value, line.unit) for value in line.values]
    return [line.name, quantities.unit(line.unit), *values, *changes]


def _shown(value: object) -> str:
    return quantities.NO_VALUE if value is None else str(value)
