"""``orchestrator zoom``: look more closely at a window of a stored run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator import backends
from orchestrator.application.executor import LOCAL, choose
from orchestrator.application.making_runs import RunSettings
from orchestrator.application.zoom import ZoomRequest, require_kinds, zoom
from orchestrator.cli.options import completion, shared
from orchestrator.cli.options.trace_window import limit_bytes, limited, window_ns
from orchestrator.cli.render import terminal
from orchestrator.cli.render.run_events import RunEvents
from orchestrator.errors import UsageError
from orchestrator.protocol.reports.trace_records import (
    CLOSEST,
    SNAP_BYTES,
    WANTED,
)
from orchestrator.recording.trace import Capture
from orchestrator.scenario.capture import parse_snap
from orchestrator.units import listed
from orchestrator.windows import window_text
from results.wording import quantities

if TYPE_CHECKING:
    from orchestrator.application.zoom import ZoomResult

_ROWS = {
    "frames": "frames at hosts and queues",
    "acks": "states after ACKs",
    "links": "steps of packets through links",
    "events": "events of connections",
    "drops": "packets dropped outside of links",
}


@click.command()
@click.argument("run", metavar="RUN", shell_complete=completion.runs)
@click.option(
    "--window",
    metavar="FROM..TO",
    required=True,
    help="The part of the run to look at, such as 12s..13s or 900ms..1.1s.",
)
@click.option(
    "--flow",
    "flows",
    metavar="FLOW",
    multiple=True,
    help="Only this flow, or the flows of this entry. Repeatable.",
)
@click.option(
    "--link",
    "links",
    metavar="LINK",
    multiple=True,
    help="Only this link, or one direction of it, such as core:forward. Repeatable.",
)
@click.option(
    "--trace",
    "kinds",
    metavar="KIND,...",
    default=",".join(CLOSEST),
    show_default=True,
    help=f"What is traced, of {listed(WANTED)}.",
)
@limited("Size of the trace in the guest's memory, before flows and links are selected.")
@click.option(
    "--snap",
    metavar="SIZE",
    default=f"{SNAP_BYTES}B",
    show_default=True,
    help="What is kept of each frame, such as 9000B. A plain number is bytes.",
)
@shared.database
@shared.as_json
@click.option("--timeout", metavar="TIME", help="Wall-time limit, as of `run`.")
@click.option("--unconfined", is_flag=True, help="Run the guest without its sandbox.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
    run: str,
    window: str,
    flows: tuple[str, ...],
    links: tuple[str, ...],
    kinds: str,
    limit: str,
    snap: str,
    db: Path,
    as_json: bool,
    timeout: str | None,
    unconfined: bool,
    quiet: bool,
) -> int:
    """Make a stored run again, and keep a close look at a window of it.

    RUN is an id, a unique start of one, or "last". The run is made again bit-identically, with
    nothing changed but that its kernel records packets, ACKs, queues and TCP's events. The trace is
    stored with the run; no second run is. Times are nanoseconds of simulated time. A run that has
    an equal trace already is not made again.

    The exit status is 1 when the digest differs: then nothing is kept. It is 2 when the run cannot
    be made again: it ran in real time, with another kernel or link model, or by another version.

    \b
    orchestrator zoom last --window 12s..13s
    orchestrator zoom last --window 0s..60s --trace tcp,queue --link bottleneck
    """
    capture = Capture(
        *window_ns("--window", window), _kinds(kinds), limit_bytes(limit), _snap(snap), flows, links
    )
    settings = RunSettings(
        db,
        backends.DEFAULT,
        choose(LOCAL, backends.DEFAULT, None, (None, None, None)),
        unconfined,
        shared.wall_time(timeout),
    )
    with RunEvents(quiet) as listener:
        result = zoom(ZoomRequest(run, capture), settings, listener)
    if as_json:
        terminal.print_json(result.document())
    else:
        _print(result)
    return result.status


def _print(result: ZoomResult) -> None:
    head = result.head
    if head is None:
        terminal.line(
            f"{result.run_id}: the digest differs: it is {result.digest[:12]} now, and "
            f"{result.stored_digest[:12]} was stored; nothing is kept",
            err=True,
        )
        return
    trace = f"trace {head.number} of {window_text(head.capture.from_ns, head.capture.to_ns)}"
    size = quantities.size(head.stored_bytes)
    if result.was_stored:
        terminal.line(f"{result.run_id}: {trace} is stored with it already ({size})")
    else:
        terminal.line(f"{result.run_id}: bit-identical; {trace} is stored with it ({size})")
    for name, what in _ROWS.items():
        if head.rows[name]:
            terminal.line(f"  {head.rows[name]:>9} {what}")


def _kinds(text: str) -> frozenset[str]:
    names = [name.strip() for name in text.split(",")]
    require_kinds(names)
    return frozenset(names)


def _snap(text: str) -> int:
    if text == "0":  # nothing is kept of frames but their lengths and times
        return 0
    try:
        return parse_snap(text)
    except ValueError as error:
        raise UsageError(f"--snap {text}: {error}") from None
