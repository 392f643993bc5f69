"""``orchestrator track``: follow a metric over several kernels."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from guest import git_source
from guest.choice import absolute
from orchestrator import backends, plaintext
from orchestrator.application import repeating
from orchestrator.application.executor import choose
from orchestrator.application.kernels.track import TrackRequest, track
from orchestrator.application.making_runs import RunSettings
from orchestrator.cli.options import execution, shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.run_events import RunEvents
from orchestrator.errors import UsageError
from results.wording import quantities
from results.wording.intervals import with_interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from orchestrator.application.kernels.track import Track, TrackedKernel

_FORMS = ("svg", "pdf", "png")


@click.command()
@shared.scenario_file()
@click.option(
    "--kernel",
    "kernels",
    metavar="KERNEL",
    multiple=True,
    help="A kernel, as `run --kernel` takes it, in the order in which they are compared.",
)
@click.option(
    "--tree",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="A git repository of Linux, for --tags; it stays as it is.",
)
@click.option("--tags", metavar="PATTERN", help="The tags of --tree to track, such as 'v6.*'.")
@click.option("--metric", required=True, help="The metric, such as goodput_bps.")
@click.option("--flow", metavar="ENTRY", help="Of this flow entry, and not of the run.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also draw it there: svg, pdf or png.",
)
@shared.overrides
@shared.reduced
@shared.repetitions
@click.option("--jobs", type=click.IntRange(1), help="Runs at a time.  [default: 1]")
@execution.options
@shared.database
@shared.as_json
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
    file: Path,
    kernels: tuple[str, ...],
    tree: Path | None,
    tags: str | None,
    metric: str,
    flow: str | None,
    output: Path | None,
    overrides: tuple[str, ...],
    reduced: bool,
    repetitions: int | None,
    jobs: int | None,
    executor: str,
    tls_files: tuple[Path | None, Path | None, Path | None],
    db: Path,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run a scenario on several kernels, and tell between which of them a metric changed.

    Runs that are stored already are used. Each kernel is compared with the one before it, paired
    by seed. The 95% confidence intervals of all changes hold together. So each scenario should have
    repetitions. The exit status is that of `run`.

    \b
    orchestrator track mine.yaml --kernel 6.1 --kernel 6.12 --kernel 7.3 --metric goodput_bps
    orchestrator track mine.yaml --tree ~/linux --tags 'v6.1[0-5]' --metric rtt_mean_s -o rtt.svg
    """
    named = [absolute(text) for text in kernels]
    if (tree is None) != (tags is None):
        raise UsageError("--tree and --tags go together")
    if tree is not None and tags is not None:
        found = git_source.tags(tree, tags)
        if not found:
            raise UsageError(f"--tags {tags}: {tree} has no such tag")
        named += [f"{tree.absolute()}@{tag}" for tag in found]
    form = "svg" if output is None else output.suffix.removeprefix(".")
    if form not in _FORMS:
        raise UsageError(f"-o {output}: a figure is {', '.join(_FORMS)}")
    settings = RunSettings(
        db, backends.DEFAULT, choose(executor, backends.DEFAULT, jobs, tls_files)
    )
    changed = repeating.with_repetitions(overrides, repetitions)
    request = TrackRequest(file, tuple(named), metric, flow, changed, reduced, form)
    with RunEvents(quiet) as listener:
        made = track(request, settings, listener)
    if output is not None:
        made.drawing.write(output)
    if as_json:
        terminal.print_json(made.document())
    else:
        _print(made)
    return made.ended.status


def _print(made: Track) -> None:
    unit = made.unit
    digits = partial(quantities.quantity, stored=unit)
    rows = []
    for each in made.kernels:
        variant = " ".join(f"{path}={value}" for path, value in each.variant.items())
        rows.append(
            [
                plaintext.one_line(each.kernel),
                plaintext.one_line(variant),
                str(each.value.n),
                with_interval(each.value, digits),
                *_change(each, digits),
            ]
        )
    of = "run" if made.flow is None else made.flow
    heading = f"{made.metric} of {plaintext.one_line(of)} ({quantities.unit(unit)})"
    headings = ["kernel", "", "runs", heading, "change", ""]
    terminal.console().print(terminal.table(headings, rows, right=(2,)))
    if not made.changes:
        terminal.line("no change is known at 95%")
    for each in made.changes:
        assert each.change is not None, "it is a change"
        before, after = map(plaintext.one_line, (each.change.a, each.kernel))
        terminal.line(f"change between {before} and {after}: {each.change.short_label}")


def _change(each: TrackedKernel, digits: Callable[[float], str]) -> tuple[str, str]:
    if each.change is None:
        return "", ""
    change = each.change.of_family
    return with_interval(change, digits), each.change.short_label
