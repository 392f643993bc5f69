"""``orchestrator explain``: say what happened to the flows of a stored run, and why."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator import backends
from orchestrator.application.executor import LOCAL, choose
from orchestrator.application.making_runs import RunSettings
from orchestrator.application.stored.explain import ExplainRequest, explain
from orchestrator.cli.options import completion, shared
from orchestrator.cli.options.trace_window import moment_ns, window_ns
from orchestrator.cli.render import explanation_text, terminal
from orchestrator.cli.render.run_events import RunEvents
from orchestrator.errors import UsageError


@click.command()
@click.argument("run", metavar="RUN", shell_complete=completion.runs)
@click.option(
    "--flow", "flows", metavar="FLOW", multiple=True,
    help="Only this flow, or those of this flow entry. Repeatable.",
)  # fmt: skip
@click.option("--at", metavar="TIME", help="What happened half a second around this time.")
@click.option("--window", metavar="FROM..TO", help="Only this part of the run, such as 12s..13s.")
@click.option(
    "--against",
    metavar="RUN",
    shell_complete=completion.runs,
    help="Also explain this run, and compare its flows with those of the same names.",
)
@click.option(
    "--trace",
    "traces",
    metavar="N",
    type=click.IntRange(1),
    multiple=True,
    shell_complete=completion.traces,
    help="The number of the trace to read, and without a time all that it shows. A second one is "
    "of --against. By default one that shows the time is taken, or made.",
)
@click.option(
    "--most",
    type=click.IntRange(0),
    help=f"How many moments of a flow are printed. [default: {explanation_text.MOST}; none where "
    "flows are compared]",
)
@shared.database
@shared.as_json
@click.option("--quiet", is_flag=True, help="Show no progress.")
def command(
    run: str,
    flows: tuple[str, ...],
    at: str | None,
    window: str | None,
    against: str | None,
    traces: tuple[int, ...],
    most: int | None,
    db: Path,
    as_json: bool,
    quiet: bool,
) -> int:
    """Say what happened to the flows of a stored run, and why.

    RUN is an id, a unique start of one, or "last". Each sentence is made of traced events. Where no
    trace is stored that shows the window, the run is made again as by `zoom`, and the trace is
    kept.

    Of a whole run it also says what limited each sender, and which five events cost a flow most
    goodput. With two flows, or with --against, it prints what happened to both side by side.

    \b
    orchestrator explain last
    orchestrator explain last --flow mine --at 12.3s
    orchestrator explain last --trace 2
    orchestrator explain last --flow mine --flow other
    orchestrator explain last --against 20261129
    """
    if at is not None and window is not None:
        raise UsageError("--at and --window: give one of them")
    asked = None if window is None else window_ns("--window", window)
    at_ns = None if at is None else moment_ns("--at", at)
    settings = RunSettings(
        db, backends.DEFAULT, choose(LOCAL, backends.DEFAULT, None, (None, None, None))
    )
    request = ExplainRequest(run, flows, asked, at_ns, against, traces)
    with RunEvents(quiet) as listener:
        explanation = explain(request, settings, listener)
    if as_json:
        terminal.print_json(explanation.document())
    else:
        explanation_text.show(explanation, most)
    return 0
