"""Opens the store for the length of one request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flask import abort, current_app

from orchestrator.errors import UsageError
from results.store.store import Store
from results.store.stored import StoredRun

DB = "ORCHESTRATOR_DB"
"""Key of the application's configuration under which the store's path is kept."""

METRIC_CACHE = "ORCHESTRATOR_METRIC_CACHE"
"""Key of the metrics that earlier requests read."""


@contextmanager
def reading_store() -> Iterator[Store]:
    """Open the application's store read-only; StoreError when it cannot be read."""
    with Store.open_read_only(current_app.config[DB], current_app.config[METRIC_CACHE]) as store:
        yield store


@contextmanager
def reading_run(run_id: str) -> Iterator[tuple[Store, StoredRun]]:
    """Open the store and one of its runs; 404 unless exactly one run has that name."""
    with reading_store() as store:
        try:
            run = store.load(run_id)
        except UsageError as error:
            abort(404, str(error))
        yield store, run
