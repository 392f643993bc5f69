"""``orchestrator explain``: say what happened to the flows of a stored run, and why."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator import backends
from orchestrator.application.executor import LOCAL, choose
from orchestrator.application.making_runs import RunSettings
from orchestrator.application.stored.explain import ExplainRequest, explain
from orchestrator.cli.options import completion, shared
from orchestrator.cli.options.trace_window import moment_ns, window_ns
from orchestrator.cli.render import terminal
from orchestrator.cli.render.run_events import RunEvents
from orchestrator.errors import UsageError
from results.wording.quantities import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.application.stored.explain import Explanation
    from results.traces.moments import Moment


@click.command()
@click.argument("run", metavar="RUN", shell_complete=completion.runs)
@click.option("--flow", "flows", metavar="FLOW", multiple=True, help="Only this flow. Repeatable.")
@click.option("--at", metavar="TIME", help="What happened half a second around this time.")
@click.option("--window", metavar="FROM..TO", help="Only this part of the run, such as 12s..13s.")
@click.option(
    "--most",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="How many moments of a flow are printed.",
)
@shared.database
@shared.as_json
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
    run: str,
    flows: tuple[str, ...],
    at: str | None,
    window: str | None,
    most: int,
    db: Path,
    as_json: bool,
    quiet: bool,
) -> int:
    """Say what happened to the flows of a stored run, and why.

    RUN is an id, a unique start of one, or "last". Each sentence is made of traced events. Where no
    trace is stored that shows the window, the run is made again as by `zoom`, and the trace is
    kept.

    \b
    orchestrator explain last
    orchestrator explain last --flow mine --at 12.3s
    """
    if at is not None and window is not None:
        raise UsageError("--at and --window: give one of them")
    asked = None if window is None else window_ns("--window", window)
    at_ns = None if at is None else moment_ns("--at", at)
    settings = RunSettings(
        db, backends.DEFAULT, choose(LOCAL, backends.DEFAULT, None, (None, None, None))
    )
    with RunEvents(quiet) as listener:
        explanation = explain(ExplainRequest(run, flows, asked, at_ns), settings, listener)
    if as_json:
        terminal.print_json(explanation.document())
    else:
        _print(explanation, most)
    return 0


def _print(explanation: Explanation, most: int) -> None:
    start, end = (time_ns / 1e9 for time_ns in explanation.window_ns)
    terminal.line(
        f"{explanation.run_id}, {start:g} s to {end:g} s, by its trace {explanation.trace}"
    )
    for name, found in explanation.flows.items():
        terminal.line("")
        terminal.line(f"{name}: {_counts(found)}")
        for moment in found[:most]:
            terminal.line(f"  At {moment.time_ns / 1e9:.6f} s {moment.text}.")
        if len(found) > most:
            terminal.line(f"  ... and {len(found) - most} more: --window, or --most {len(found)}")


def _counts(found: Sequence[Moment]) -> str:
    """Return how many moments of each kind there are."""
    counts = Counter(moment.kind for moment in found)
    if not counts:
        return "no loss, no mark, no recovery, no timeout"
    return ", ".join(f"{kind} {plural(count, 'time')}" for kind, count in counts.most_common())
