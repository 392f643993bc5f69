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
from orchestrator.windows import decimal_seconds
from results.comparison.one_sided import OneSided
from results.traces.difference.difference_document import document
from results.wording import quantities

if TYPE_CHECKING:
    from results.comparison.runs import DifferingValue
    from results.traces.difference.model import RunDifference, RunSide
    from results.traces.difference.traced_events import TracedEvent

_EQUAL = {
    "links": "steps of packets through links",
    "acks": "states after ACKs",
    "events": "events of connections",
    "drops": "packets dropped outside of links",
}

_KINDS = {"packet": "a packet", "ack": "an ACK", "state": "an event of a connection"}


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
    one, other = difference.sides
    terminal.line(f"a: {one.run_id}")
    terminal.line(f"b: {other.run_id}")
    terminal.line("They differ in:" if difference.set_up else "Their set-ups are equal.")
    for part in difference.in_short:
        terminal.line(f"  {_one_sided(part) if isinstance(part, OneSided) else _values(part)}")
    if difference.identical:
        terminal.line("The runs are bit-identical: all that their digests cover is equal.")
        return
    terminal.line("")
    equal = difference.equal or {}
    parts = [f"{equal[name]} {what}" for name, what in _EQUAL.items() if equal.get(name)]
    if parts:
        terminal.line(f"Equal in both runs: {', '.join(parts)}.")
    if difference.time_ns is None:
        terminal.line(_without_parting(difference))
        return
    _print_parting(difference)


def _without_parting(difference: RunDifference) -> str:
    """Return what is told of runs of which no traced event differs, though their digests do."""
    ends = [side.end_ns for side in difference.sides]
    if difference.equal_until_ns is None or ends[0] == ends[1]:
        return "Their digests differ, and no traced event does: what differs is not traced."
    shorter = "a" if ends[0] < ends[1] else "b"
    until = decimal_seconds(difference.equal_until_ns)
    return f"They are equal until {shorter} ends at {until} s."


def _print_parting(difference: RunDifference) -> None:
    assert difference.time_ns is not None, "they part"
    assert difference.kind is not None, "they part"
    what = _KINDS[difference.kind]
    terminal.line(f"At {_seconds(difference.time_ns)} s they part, by {what}:")
    for name, side in zip("ab", difference.sides, strict=True):
        text = "no such event at that time" if side.there is None else side.there.text
        terminal.line(f"  {name}: {text}")
    if difference.differing:
        terminal.line(f"  differing: {'; '.join(map(_values, difference.differing))}")
    for name, side in zip("ab", difference.sides, strict=True):
        terminal.line("")
        terminal.line(f"Next in {name}{_trace(side)}; + is not in the other run:")
        for event in side.following:
            terminal.line(_event(event))


def _one_sided(part: OneSided) -> str:
    return f"{part.path}: only in {'ab'[part.side]}"


def _values(value: DifferingValue) -> str:
    one, other = map(_value, value.values)
    return f"{value.path}: {one} and {other}"


def _value(value: object) -> str:
    if value is None:
        return quantities.NO_VALUE
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _trace(side: RunSide) -> str:
    return "" if side.trace is None else f", by its trace {side.trace}"


def _event(event: TracedEvent) -> str:
    return f"  {'+' if event.only_here else ' '} At {_seconds(event.time_ns)} s {event.text}"


def _seconds(time_ns: int) -> str:
    return f"{time_ns / 1e9:.9f}"
