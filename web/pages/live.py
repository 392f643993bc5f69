"""The stream of server-sent events of a run in progress, below its page.

Each event ``state`` is all that is known of the run, as ``orchestrator.execution.live_view`` wrote
it beside the store. The event ``end`` follows when the run is not running any more. A stream takes
a thread of the server. So their number is limited, and each ends after a minute; a browser then
opens another one by itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

from flask import Blueprint, Response, abort, current_app, request

from orchestrator.errors import StoreError, UsageError
from results.store import live as live_files
from results.store.store import Store
from web.http import query
from web.http.reader import DB, reading_run
from web.http.streams import MOST_STREAMS, STREAMS, Streams

pages = Blueprint("live", __name__)

LONGEST_S = 60.0
PERIOD_S = 0.25
"""Least time between two events: at most 4 in a second."""

_CHECK_S = 2.0
"""Time between looks whether the run goes on. A comment is sent then, so that the server notices
when the client has gone."""


@pages.get("/runs/<run_id>/live")
def stream(run_id: str) -> Response:
    """Stream what is known of a run until it ends; 503 with too many streams."""
    query.check_names(request.args, ())
    with reading_run(run_id) as (_store, stored):
        run = stored.id
    streams: Streams = current_app.config[STREAMS]
    if request.method == "HEAD":
        return Response(mimetype="text/event-stream")
    if not streams.free.acquire(blocking=False):
        abort(503, f"{MOST_STREAMS} pages watch runs already; close one of them")
    response = Response(
        events(current_app.config[DB], run, streams.stopping), mimetype="text/event-stream"
    )
    response.call_on_close(streams.free.release)
    return response


def events(db: Path, run: str, stopping: threading.Event) -> Iterator[str]:
    """Yield the events of a run until it ends, ``stopping`` is set, or LONGEST_S have passed."""
    began_s = time.monotonic()
    sent: str | None = None
    checked_s = 0.0
    yield "retry: 1000\n\n"
    while time.monotonic() - began_s < LONGEST_S:
        if time.monotonic() - checked_s >= _CHECK_S:
            checked_s = time.monotonic()
            if _has_ended(db, run):
                yield "event: end\ndata: {}\n\n"
                return
            yield ": still running\n\n"
        state = live_files.read(db, run)
        if state is None:
            checked_s = min(checked_s, time.monotonic() - _CHECK_S + PERIOD_S)
        elif state != sent:
            sent = state
            yield f"event: state\ndata: {state}\n\n"
        if stopping.wait(PERIOD_S):
            return


def _has_ended(db: Path, run: str) -> bool:
    """Tell whether a run has ended; a store that cannot be read now does not say so.

    The page closes its stream at the end and opens no other one.
    """
    try:
        with Store.open_read_only(db) as store:
            return store.load(run).status != "running"
    except UsageError:  # it was removed
        return True
    except StoreError:
        return False
