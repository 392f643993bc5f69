"""Completes arguments in a shell; ``completion`` has these functions for click's parameters.

A shell calls the program at each press of the tab key. A store or claims that cannot be read
complete nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from orchestrator.application.stored import kept_export
from orchestrator.backends import MODULES
from orchestrator.errors import OrchestratorError
from orchestrator.evaluation.controls import known_controls
from orchestrator.recording.extracted import PREFIX
from orchestrator.windows import window_text
from results.claims import claim_folders
from results.claims.stated.loading import load_all
from results.crate import crate_files
from results.export import FORMATS
from results.metrics import METRICS
from results.store.store import Store
from results.tables.experiment_table import WRITERS
from results.traces.choice import trace_with
from results.traces.hosts import ends_of_hosts
from results.traces.places import ALL, names_of_places

if TYPE_CHECKING:
    from results.records.model import RunRow
    from results.store.parts.traces import TraceHead

_NEWEST = 100
"""Runs whose metrics are read, so that an answer of a large store takes no longer."""


def runs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the ids of stored runs, newest first, and ``last``."""
    matching = [
        CompletionItem(row.id, help=f"{row.scenario}, {row.status}") for row in _rows(ctx)[::-1]
    ]
    items = [*matching, CompletionItem("last", help="the newest run")] if matching else []
    return [item for item in items if item.value.startswith(incomplete)]


def experiments(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of stored experiments."""
    return _beginning(dict.fromkeys(row.experiment for row in _rows(ctx)[::-1]), incomplete)


def experiments_and_files(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of stored experiments, and let the shell complete files."""
    return [CompletionItem(incomplete, type="file"), *experiments(ctx, param, incomplete)]


def experiments_and_runs(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names of stored experiments, the ids of runs, and let the shell complete files."""
    return [*experiments_and_files(ctx, param, incomplete), *runs(ctx, param, incomplete)]


def metrics(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of metrics, and those of the named experiments' programs."""
    names = sorted({name for name, _scope in METRICS})
    if incomplete.startswith(PREFIX) or PREFIX.startswith(incomplete):
        names += _numbers_of_programs(ctx)
    return _beginning(names, incomplete)


def _numbers_of_programs(ctx: click.Context) -> list[str]:
    """Return metrics of the newest runs: of the experiments that are named, or of the store."""
    given = (ctx.params.get(name) for name in ("experiment", "experiments"))
    words = {word for each in given for word in ([each] if isinstance(each, str) else each or ())}
    words.update(ctx.args)
    with suppress(OrchestratorError), _store(ctx) as store:
        rows = store.list_runs()
        named = [row for row in rows if row.experiment in words]
        return store.extracted_metrics((named or rows)[-_NEWEST:])
    return []


def formats(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of export formats."""
    return _beginning(
        dict.fromkeys([*FORMATS, *WRITERS, crate_files.NAME, kept_export.NAME]), incomplete
    )


def traces(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the numbers of the traces of the run that is named, newest first."""
    heads: list[TraceHead] = []
    with suppress(OrchestratorError), _store(ctx) as store:
        heads = store.load(_run(ctx)).traces
    return [
        CompletionItem(str(head.number), help=_about(head))
        for head in heads[::-1]
        if str(head.number).startswith(incomplete)
    ]


def places(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the places of the trace that is named, or of the newest one with what is needed."""
    found: list[str] = []
    with suppress(OrchestratorError), _store(ctx) as store:
        run, number = store.load(_run(ctx)), ctx.params.get("trace")
        table = {"ss": "acks", "nstat": "events"}.get(ctx.params.get("name") or "", "frames")
        head = trace_with(run, number, table)
        if table == "frames":
            found = [*names_of_places(run, head), ALL]
        else:
            found = list(ends_of_hosts(run, run.trace(head.number, ("ends",))))
    return _beginning(found, incomplete)


def _about(head: TraceHead) -> str:
    """Return of what a trace is, in a few words."""
    window = window_text(head.capture.from_ns, head.capture.to_ns)
    return f"{', '.join(sorted(head.capture.kinds))} of {window}"


def backends(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of back ends."""
    return _beginning(MODULES, incomplete)


def controls(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of congestion controls, and let the shell complete folders."""
    return [CompletionItem(incomplete, type="dir"), *_beginning(known_controls(), incomplete)]


def claims(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of papers and, behind a colon, the ids of their claims and statements."""
    try:
        papers = load_all(Path(ctx.params.get("claims") or claim_folders.folder()))
    except OrchestratorError:
        return []
    if ":" not in incomplete:
        return _beginning(papers, incomplete)
    return _beginning(
        [
            f"{name}:{each}"
            for name, paper in papers.items()
            for each in (*paper.claims, *(statement.id for statement in paper.statements()))
        ],
        incomplete,
    )


def _beginning(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _rows(ctx: click.Context) -> list[RunRow]:
    """Return the runs of the store that the command line names, oldest first."""
    try:
        with _store(ctx) as store:
            return store.list_runs()
    except OrchestratorError:
        return []


def _store(ctx: click.Context) -> Store:
    """Return the store that the command line names; StoreError where there is none."""
    return Store.open_read_only(Path(ctx.params.get("db") or ""))


def _run(ctx: click.Context) -> str:
    """Return the run that the command line names, empty where it does not yet.

    While the last option has no value, click leaves arguments where they are.
    """
    return str(ctx.params.get("what") or next(iter(ctx.args), ""))
