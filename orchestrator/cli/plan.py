"""``orchestrator plan``: list the runs of a scenario."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from orchestrator.application import repeating
from orchestrator.application.scenarios.plan import PlanRequest, plan
from orchestrator.cli.options import shared
from orchestrator.cli.render import estimate_text, run_text, terminal
from orchestrator.errors import UsageError
from orchestrator.files.system_errors import unwritable
from orchestrator.files.user_files import FileError, require_regular
from orchestrator.protocol.links.frames import FRAME_BYTES
from orchestrator.windows import window_text
from results.runs.model import LinkRates
from results.wording import quantities, variant_names

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.planning.description import (
        BottleneckDescription,
        FlowDescription,
        PlanDescription,
        RunDescription,
    )

Shown = TypeVar("Shown")

_MOST_NAMED = 6
"""Variants that a table names."""


@click.command()
@shared.scenario_file()
@shared.overrides
@shared.kernels
@shared.reduced
@shared.repetitions
@shared.database
@shared.as_json
@click.option(
    "--svg",
    "drawing",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw the network into this file; with a matrix, that of the first variant.",
)
def command(
    file: Path,
    overrides: tuple[str, ...],
    reduced: bool,
    repetitions: int | None,
    db: Path,
    as_json: bool,
    drawing: Path | None,
) -> None:
    """List a scenario's runs, flows and bottlenecks, with estimates, without running it.

    The wall time is estimated from what earlier runs of the database took on this machine, or from
    constants where there are none.

    \b
    orchestrator plan scenarios/quickstart.yaml
    orchestrator plan mine.yaml --set topology.bottleneck.rate=20mbit --json
    orchestrator plan mine.yaml --svg network.svg
    """
    changed = repeating.with_repetitions(overrides, repetitions)
    planned = plan(PlanRequest(file, changed, reduced), db)
    for warning in planned.warnings:
        terminal.line(f"{warning.where}: warning: {warning.message}", err=True)
    if drawing is not None:
        _write(planned.drawing(), drawing)
    if as_json:
        terminal.print_json(planned.document)
    else:
        _print(planned.description)


def _write(drawing: str, file: Path) -> None:
    try:
        require_regular(file)
        file.write_text(drawing, encoding="utf-8")
    except FileError as error:
        raise UsageError(f"--svg: {error}") from None
    except OSError as error:
        raise unwritable(f"--svg {file}", error) from None


def _print(described: PlanDescription) -> None:
    labels = variant_names.short_names(run.variant for run in described.runs)
    variants = [
        list(group) for _, group in itertools.groupby(described.runs, lambda run: run.variant)
    ]
    rows = [
        [
            variant_names.one_line(repetitions[0].variant, labels) or quantities.NO_VALUE,
            str(len(repetitions)),
            str(len(repetitions[0].flows)),
            f"{sum(run.duration_s for run in repetitions):g}",
            f"{sum(run.estimated_wall_s for run in repetitions):.1f}",
            f"{sum(run.estimated_disk_bytes for run in repetitions) / 1e6:.1f}",
        ]
        for repetitions in variants
    ]
    headings = ["variant", "repetitions", "flows", "simulated s", "wall s", "disk MB"]
    out = terminal.console()
    out.print(terminal.table(headings, rows, right=range(1, len(headings))))
    # The other repetitions differ only in values drawn from the seed.
    _print_networks(out, [repetitions[0] for repetitions in variants], labels)
    disk = f"{described.estimated_disk_bytes / 1e6:.1f} MB"
    wall = f"about {described.estimated_wall_s:.0f} s of wall time in the guest"
    real = f"over {described.duration_s:g} s in real time"
    terminal.print_line(f"{_count(variants)}, {wall} ({real}) and {disk}", out)
    if (counts := described.matrix) and (counts.excluded or counts.included):
        terminal.print_line(f"the matrix has {counts}", out)
    source = estimate_text.source(run.estimated_from for run in described.runs)
    terminal.print_line(f"the wall time is estimated {source}", out)
    for capture in dict.fromkeys(map(_captured, described.runs)):
        if capture:
            terminal.print_line(capture, out)
    if rule := described.repetition_rule:
        terminal.print_line(
            f"more of each variant, up to {rule.most} repetitions, until the mean of "
            f"{rule.metric} is known within {rule.interval:.4g} of it",
            out,
        )


def _captured(run: RunDescription) -> str:
    """Return what is traced of a run; empty when nothing is."""
    capture = run.capture
    if capture is None:
        return ""
    window = window_text(capture.from_ns, capture.to_ns)
    of = ", ".join([*capture.flows, *capture.links])
    return (
        f"a trace of {window} ({', '.join(capture.trace)}{f' of {of}' if of else ''}) is kept with "
        f"each run, up to {quantities.size(capture.limit_bytes)} in memory"
    )


def _rates(bottleneck: BottleneckDescription) -> LinkRates:
    return LinkRates(
        bottleneck.rate_bps,
        bottleneck.rate_min_bps,
        bottleneck.rate_max_bps,
        bottleneck.rate_end_bps,
        bottleneck.rate_changes,
    )


def _count(variants: Sequence[Sequence[RunDescription]]) -> str:
    """Return the number of runs, as ``40 runs (8 variants x 5 repetitions)`` where it has parts."""
    runs = quantities.plural(sum(map(len, variants)), "run")
    number = len(variants[0])
    equal = all(len(repetitions) == number for repetitions in variants)
    if not equal or len(variants) * number == 1:
        return runs
    parts = [quantities.plural(len(variants), "variant"), quantities.plural(number, "repetition")]
    return f"{runs} ({' x '.join(parts)})"


def _print_networks(
    out: Console, variants: Sequence[RunDescription], labels: Mapping[str, str]
) -> None:
    """Print flows, bottlenecks and so on; variants that have equal ones share a table."""
    for describe in (_flows, _bottlenecks, _chosen_losses, _policers):
        for table, runs in _equal(variants, describe):
            out.print()
            _print_names(out, runs, variants, labels)
            out.print(terminal.table(table.headings, table.rows, table.right))
    for events, runs in _equal(variants, lambda run: run.events or None):
        out.print()
        _print_names(out, runs, variants, labels)
        run_text.events(events, out)
    out.print()


def _equal(
    variants: Sequence[RunDescription], describe: Callable[[RunDescription], Shown | None]
) -> Iterator[tuple[Shown, Sequence[RunDescription]]]:
    """Yield each different description that is not None, with the variants that have it."""
    groups: dict[str, tuple[Shown, list[RunDescription]]] = {}
    for run in variants:
        if (description := describe(run)) is not None:
            groups.setdefault(repr(description), (description, []))[1].append(run)
    yield from groups.values()


def _print_names(
    out: Console,
    some: Sequence[RunDescription],
    every: Sequence[RunDescription],
    labels: Mapping[str, str],
) -> None:
    """Print which variants a table is of: by the values that these alone have, or by names."""
    if len(every) < 2:
        return
    values = [run.variant for run in some]
    shared = {path: value for path, value in values[0].items()
              if all(other.get(path) == value for other in values)}  # fmt: skip
    like = [run for run in every if shared.items() <= run.variant.items()]
    if len(some) == len(every):
        text = f"all {len(every)} variants"
    elif len(some) > 1 and len(like) == len(some):
        text = f"{variant_names.one_line(shared, labels)} ({len(some)} variants)"
    else:
        names = [variant_names.one_line(variant, labels) for variant in values]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        text = "; ".join(names[:_MOST_NAMED]) + more
    terminal.print_line(text, out)


class _Table(NamedTuple):
    """A table: its headings, its rows, and the columns that are aligned to the right."""

    headings: list[str]
    rows: list[list[str]]
    right: tuple[int, ...]


def _flows(run: RunDescription) -> _Table:
    rows = [
        [f"{first} to {last}" if number > 1 else first, str(number), *rest]
        for first, last, number, rest in _alike(run.flows)
    ]
    headings = ["flow", "flows", "congestion control", "base RTT ms", "segment RTT ms", "path"]
    return _Table(headings, rows, (1, 3, 4))


def _bottlenecks(run: RunDescription) -> _Table:
    rows = [
        [
            bottleneck.name,
            run_text.rate(_rates(bottleneck)),
            run_text.quantity("delay_s", bottleneck.delay_s),
            quantities.number(bottleneck.bdp_bytes, 1, FRAME_BYTES),
            bottleneck.queue_kind or quantities.NO_VALUE,
            quantities.integer(bottleneck.queue_whole_packets),
            quantities.number(bottleneck.queue_ms, 3),
            f"{bottleneck.loss:.4g}",
        ]
        for bottleneck in run.bottlenecks
    ]
    headings = ["bottleneck", "rate Mbit/s", "delay ms", "BDP packets", "queue", "queue packets",
                "queue ms", "mean loss"]  # fmt: skip
    return _Table(headings, rows, (1, 2, 3, 5, 6, 7))


def _chosen_losses(run: RunDescription) -> _Table | None:
    rows = [
        [losses.name, losses.packets, losses.count, losses.flow or "all"]
        for losses in run.chosen_losses
    ]
    return (
        _Table(["loss by number", "packets lost", "count", "of flow"], rows, ()) if rows else None
    )


def _policers(run: RunDescription) -> _Table | None:
    rows = [
        [
            policer.name,
            run_text.quantity("rate_bps", policer.rate_bps),
            quantities.number(policer.burst_bytes, 3, 1e3),
        ]
        for policer in run.policers
    ]
    return _Table(["policer", "rate Mbit/s", "burst kB"], rows, (1, 2)) if rows else None


def _alike(flows: Sequence[FlowDescription]) -> Iterator[tuple[str, str, int, list[str]]]:
    """Yield (first name, last name, number, cells) of adjacent flows that differ only in hosts.

    The path leaves out the hosts' own links.
    """

    def cells(flow: FlowDescription) -> list[str]:
        inner = [
            name for name in flow.path if name.rpartition(":")[0] not in (flow.source, flow.sink)
        ]
        path = " ".join(name.removesuffix(":forward") for name in inner or flow.path)
        if flow.sprayed:
            path += f", sprayed over {len(flow.sprayed)} channels more: packets overtake each other"
        return [
            flow.congestion or quantities.NO_VALUE,
            quantities.number(flow.base_rtt_s, 3, 1e-3),
            quantities.number(flow.segment_rtt_s, 3, 1e-3),
            path,
        ]

    for shown, members in itertools.groupby(flows, cells):
        alike = list(members)
        yield alike[0].name, alike[-1].name, len(alike), shown
