"""``orchestrator diff``: say where two stored runs part."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator import backends
from orchestrator.application.executor import LOCAL, choose
from orchestrator.application.making_runs import RunSettings
from orchestrator.application.stored.diff import diff
from orchestrator.cli.options import completion, shared
from orchestrator.cli.render import terminal
from orchestrator.cli.render.run_events import RunEvents
from results.comparison.one_sided import OneSided
from results.traces.difference import sentences
from results.traces.difference.difference_document import document
from results.traces.difference.sentences import NAMES

if TYPE_CHECKING:
    from results.comparison.runs import DifferingValue
    from results.traces.difference.model import RunDifference, RunSide
    from results.traces.difference.traced_events import TracedEvent


@click.command()
@click.argument("one", metavar="RUN", shell_complete=completion.runs)
@click.argument("other", metavar="RUN", shell_complete=completion.runs)
@shared.database
@shared.as_json
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(one: str, other: str, db: Path, as_json: bool, quiet: bool) -> int:
    """Find where two stored runs part: the first event that is not the same in both.

    RUN is an id, a unique start of one, or "last". The runs have the same flows and links, and
    differ in one thing, such as a parameter or the size of a queue. Both are made again with traces
    as by `zoom`, unless traces are stored that show where they part. Those are kept.

    \b
    orchestrator diff 20261120-1015 last
    orchestrator diff 20261120-1015 last --json
    """
    settings = RunSettings(
        db, backends.DEFAULT, choose(LOCAL, backends.DEFAULT, None, (None, None, None))
    )
    with RunEvents(quiet) as listener:
        difference = diff((one, other), settings, listener)
    if as_json:
        terminal.print_json(document(difference))
    else:
        _print(difference)
    return 0


def _print(difference: RunDifference) -> None:
    for name, side in zip(NAMES, difference.sides, strict=True):
        terminal.line(f"{name}: {side.run_id}")
    terminal.line("They differ in:" if difference.set_up else "Their set-ups are equal.")
    for part in difference.in_short:
        terminal.line(f"  {_one_sided(part) if isinstance(part, OneSided) else _values(part)}")
    if difference.identical:
        terminal.line(sentences.IDENTICAL)
        return
    terminal.line("")
    if equal := sentences.equal_before(difference):
        terminal.line(equal)
    if difference.time_ns is None:
        terminal.line(sentences.outcome(difference))
        return
    _print_parting(difference)


def _print_parting(difference: RunDifference) -> None:
    terminal.line(f"{sentences.outcome(difference)}:")
    for name, side in zip(NAMES, difference.sides, strict=True):
        terminal.line(f"  {name}: {sentences.event_of(side)}")
    if difference.differing:
        terminal.line(f"  differing: {'; '.join(map(_values, difference.differing))}")
    for name, side in zip(NAMES, difference.sides, strict=True):
        terminal.line("")
        terminal.line(f"Next in {name}{_trace(side)}; {sentences.MARKS}:")
        other = NAMES[1 - NAMES.index(name)]
        for event in side.following:
            terminal.line(_event(event, other))
    terminal.line("")
    if difference.in_kind_time_ns is None:
        terminal.line(sentences.in_kind(difference))
        return
    terminal.line(f"{sentences.in_kind(difference)}:")
    for name, side in zip(NAMES, difference.sides, strict=True):
        terminal.line(f"  {name}: {sentences.in_kind_of(side)}")


def _one_sided(part: OneSided) -> str:
    return f"{part.path}: only in {NAMES[part.side]}"


def _values(value: DifferingValue) -> str:
    one, other = map(sentences.value_text, value.values)
    return f"{value.path}: {one} and {other}"


def _trace(side: RunSide) -> str:
    return "" if side.trace is None else f", by its trace {side.trace}"


def _event(event: TracedEvent, other: str) -> str:
    time = sentences.seconds(event.time_ns)
    values = sentences.other_values(event, other)
    more = f" ({values})" if values else ""
    return f"  {sentences.mark(event) or ' '} At {time} s {event.text}{more}"
