"""Completes arguments in a shell, for the ``shell_complete`` of click's parameters.

A shell calls the program at each press of the tab key. A store or claims that cannot be read
complete nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from orchestrator.backends import MODULES
from orchestrator.errors import OrchestratorError
from results.claims import claim_folders
from results.claims.stated.loading import load_all
from results.crate import crate_files
from results.export import FORMATS
from results.metrics import METRICS
from results.store.store import Store
from results.tables.experiment_table import WRITERS

if TYPE_CHECKING:
    from results.records.model import RunRow


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


def metrics(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of metrics."""
    return _beginning(sorted({name for name, _scope in METRICS}), incomplete)


def formats(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of export formats."""
    return _beginning(dict.fromkeys([*FORMATS, *WRITERS, crate_files.NAME]), incomplete)


def backends(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of back ends."""
    return _beginning(MODULES, incomplete)


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
        with Store.open_read_only(Path(ctx.params.get("db") or "")) as store:
            return store.list_runs()
    except OrchestratorError:
        return []
