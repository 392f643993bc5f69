"""``orchestrator plan``: list the runs of a scenario."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli import _estimates, _options, _output, _report
from orchestrator.errors import UsageError
from orchestrator.files.user_files import FileError, require_regular
from orchestrator.protocol.frames import FRAME_BYTES

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.planning.description import Plan


@click.command()
@_options.scenario_file()
@_options.overrides
@_options.reduced
@_options.repetitions
@_options.database
@_options.as_json
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
    from orchestrator.planning.plan import plan
    from orchestrator.scenario import load

    planned = plan(load(file, _options.with_repetitions(overrides, repetitions), reduced))
    described = planned.describe(_estimates.estimator(db))
    for warning in described["warnings"]:
        click.echo(f"{warning['where']}: warning: {warning['message']}", err=True)
    if drawing is not None:
        _draw(planned, drawing)
    if as_json:
        _output.print_json(described)
    else:
        _print(described)


def _draw(planned: Plan, file: Path) -> None:
    from results.drawing import draw

    run = planned.runs[0]
    values = _report.variant(run.variant)
    drawing = draw(run.network, f"{run.scenario_name}: {values}" if values else run.scenario_name)
    try:
        require_regular(file)
        file.write_text(drawing, encoding="utf-8")
    except FileError as error:
        raise UsageError(f"--svg: {error}") from None
    except OSError as error:
        raise UsageError(f"--svg {file}: cannot be written: {error.strerror}") from None


def _print(described: dict[str, Any]) -> None:
    runs = described["runs"]
    labels = _report.short_names(runs)
    variants = [list(group) for _, group in itertools.groupby(runs, lambda run: run["variant"])]
    rows = [
        [
            _report.variant(repetitions[0]["variant"], labels) or _output.NO_VALUE,
            str(len(repetitions)),
            str(len(repetitions[0]["flows"])),
            f"{sum(run['duration_s'] for run in repetitions):g}",
            f"{sum(run['estimated_wall_s'] for run in repetitions):.1f}",
            f"{sum(run['estimated_disk_bytes'] for run in repetitions) / 1e6:.1f}",
        ]
        for repetitions in variants
    ]
    headings = ["variant", "repetitions", "flows", "simulated s", "wall s", "disk MB"]
    out = _output.console()
    out.print(_output.table(headings, rows, right=range(1, len(headings))))
    for repetitions in variants:
        # The other repetitions differ only in values drawn from the seed.
        _print_network(out, repetitions[0])
    disk = f"{described['estimated_disk_bytes'] / 1e6:.1f} MB"
    wall = f"about {described['estimated_wall_s']:.0f} s of wall time in the guest"
    real = f"over {described['duration_s']:g} s in real time"
    out.print(f"{_count(variants)}, {wall} ({real}) and {disk}", markup=False)
    source = _estimates.source(run["estimated_from"] for run in runs)
    out.print(f"the wall time is estimated {source}", markup=False)
    if rule := described["repetition_rule"]:
        out.print(
            f"more of each variant, up to {rule['most']} repetitions, until the mean of "
            f"{rule['metric']} is known within {rule['interval']:.4g} of it",
            markup=False,
        )


def _count(variants: list[list[Any]]) -> str:
    """Return the number of runs, as ``40 runs (8 variants x 5 repetitions)`` where it has parts."""
    runs = _output.plural(sum(map(len, variants)), "run")
    number = len(variants[0])
    equal = all(len(repetitions) == number for repetitions in variants)
    if not equal or len(variants) * number == 1:
        return runs
    parts = [_output.plural(len(variants), "variant"), _output.plural(number, "repetition")]
    return f"{runs} ({' x '.join(parts)})"


def _print_network(out: Console, run: dict[str, Any]) -> None:
    """Print the flows and bottlenecks of a variant."""
    out.print()
    if run["variant"]:
        out.print(_report.variant(run["variant"]), markup=False)
    flows = [
        [f"{first} to {last}" if number > 1 else first, str(number), *rest]
        for first, last, number, rest in _alike(run["flows"])
    ]
    headings = ["flow", "flows", "congestion control", "base RTT ms", "segment RTT ms", "path"]
    out.print(_output.table(headings, flows, right=(1, 3, 4)))
    out.print()
    bottlenecks = [
        [
            each["name"],
            _report.rate(each),
            _report.quantity("delay_s", each["delay_s"]),
            _output.number(each["bdp_bytes"], 1, FRAME_BYTES),
            each["queue_kind"] or _output.NO_VALUE,
            _output.number(each["queue_packets"], 1),
            _output.number(each["queue_ms"], 3),
            f"{each['loss']:.4g}",
        ]
        for each in run["bottlenecks"]
    ]
    headings = ["bottleneck", "rate Mbit/s", "delay ms", "BDP packets", "queue", "queue packets",
                "queue ms", "mean loss"]  # fmt: skip
    out.print(_output.table(headings, bottlenecks, right=(1, 2, 3, 5, 6, 7)))
    if run["chosen_losses"]:
        rows = [
            [each["name"], each["packets"], each["count"], each["flow"] or "all"]
            for each in run["chosen_losses"]
        ]
        out.print()
        out.print(_output.table(["loss by number", "packets lost", "count", "of flow"], rows))
    if run["policers"]:
        rows = [
            [
                each["name"],
                _report.quantity("rate_bps", each["rate_bps"]),
                _output.number(each["burst_bytes"], 3, 1e3),
            ]
            for each in run["policers"]
        ]
        out.print()
        out.print(_output.table(["policer", "rate Mbit/s", "burst kB"], rows, right=(1, 2)))
    if run["events"]:
        out.print()
        _report.events(run["events"], out)
    out.print()


def _alike(flows: list[dict[str, Any]]) -> Iterator[tuple[str, str, int, list[str]]]:
    """Yield (first name, last name, number, cells) of adjacent flows that differ only in hosts.

    The path leaves out the hosts' own links.
    """

    def cells(flow: dict[str, Any]) -> list[str]:
        hosts = (flow["source"], flow["sink"])
        inner = [name for name in flow["path"] if name.rpartition(":")[0] not in hosts]
        path = " ".join(name.removesuffix(":forward") for name in inner or flow["path"])
        return [
            flow["congestion"] or _output.NO_VALUE,
            _output.number(flow["base_rtt_s"], 3, 1e-3),
            _output.number(flow["segment_rtt_s"], 3, 1e-3),
            path,
        ]

    for shown, members in itertools.groupby(flows, cells):
        alike = list(members)
        yield alike[0]["name"], alike[-1]["name"], len(alike), shown
