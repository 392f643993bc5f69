"""Notes and tags from the pages: what the dashboard writes, and only with ``--edit``.

Each request opens the store for writing, changes it by ``results.store.upkeep.housekeeping`` in one
short transaction, and closes it, as ``orchestrator tag`` and ``orchestrator note`` do. What is
written to an experiment is written to each of its runs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from flask import (
    Blueprint,
    Flask,
    abort,
    current_app,
    g,
    redirect,
    render_template,
    request,
    url_for,
)
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import TooManyRequests
from werkzeug.wrappers import Response

from orchestrator.errors import UsageError
from results.schema import earlier_schema
from results.schema.database import Tell
from results.store.parts.notes import MOST_CHARACTERS, check_tag
from results.store.store import Store
from results.store.upkeep import housekeeping
from web.http import forgery, query
from web.http.cache import cached
from web.http.reader import DB, reading_store
from web.views import studies

NAME = "editing"
editing = Blueprint(NAME, __name__)

MOST_RUNS = 200
"""Runs that one form may name: those of a page of the list."""

MOST_BYTES = 256 * 1024
"""Of a request. The longest note has 10 000 characters, each at most 12 bytes in a form."""

BURST = 20
"""Changes at once."""

PERIOD_S = 1.0
"""Time in which one more change is allowed."""

PATIENCE_S = 1.0
"""How long a change waits for another one. More would keep the threads from answering pages."""

TURN = "ORCHESTRATOR_TURN"
"""Key of the application's configuration with the lock of the one change at a time."""

TELL = "ORCHESTRATOR_TELL"
"""Key of the application's configuration with what is told of a migration."""


def register(app: Flask, tell: Tell) -> None:
    """Let the application write notes and tags; ``tell`` is told what a migration does."""
    rate = ChangeLimit(BURST, PERIOD_S)
    guard = forgery.FormTokens()

    def check() -> None:
        if request.method != "POST":
            return  # the application answers other methods than these with 405
        g.back = _page_of_request()
        guard.check()
        wait_s = rate.take(time.monotonic())
        if wait_s > 0:
            raise TooManyRequests("changes come too fast; wait a second", retry_after=1)

    app.config["MAX_CONTENT_LENGTH"] = MOST_BYTES
    app.config[TURN] = threading.Lock()
    app.config[TELL] = tell
    app.before_request(check)
    app.after_request(guard.remember)
    app.context_processor(
        lambda: {"may_edit": True, "form_token": guard.token, "migration": _migration}
    )
    app.jinja_env.globals["most_characters"] = MOST_CHARACTERS
    app.register_blueprint(editing)


class ChangeLimit:
    """Allows ``burst`` changes at once, and another one each ``period_s``, over all browsers."""

    def __init__(self, burst: int, period_s: float) -> None:
        self._most_s = burst * period_s
        self._period_s = period_s
        self._spent_until = 0.0
        self._lock = threading.Lock()

    def take(self, now_s: float) -> float:
        """Return 0 and count a change, or the seconds until one is allowed."""
        with self._lock:
            until = max(self._spent_until, now_s) + self._period_s
            if until - now_s > self._most_s:
                return until - now_s - self._most_s
            self._spent_until = until
            return 0.0


@editing.get("/tagging")
def tagging() -> str:
    """Ask for the tag or the note of the runs that the address names."""
    query.check_names(request.args, ("run",))
    with reading_store() as store:
        return render_template("tagging.html", ids=_named(store, request.args))


@editing.post("/tagging")
def change_several() -> Response:
    """Tag the runs of the form, or add a note to each."""
    with _writing() as store:
        _change(store, _named(store, request.form))
    return redirect(url_for("pages.runs"), 303)


@editing.post("/runs/<run_id>/remarks")
def change_run(run_id: str) -> Response:
    """Add or remove a tag or a note of a run."""
    with _writing() as store:
        run = _whole(store, run_id)
        _change(store, [run])
    return redirect(url_for("pages.run", run_id=run), 303)


@editing.post("/experiments/<path:label>/remarks")
def change_experiment(label: str) -> Response:
    """Add or remove a tag of all runs of an experiment, or add a note to each."""
    with _writing() as store:
        named, _others = studies.named(store, label)
        runs = [row.id for row in named.rows]
        if request.form.get("do") == "untag":
            tag, remarks = check_tag(request.form.get("tag", "")), store.remarks()
            runs = [run for run in runs if run in remarks and tag in remarks[run].tags]
            if not runs:
                raise UsageError(f"no run of {named.label} has the tag {tag}; nothing was removed")
        _change(store, runs)
    return redirect(url_for("experiments.experiment", label=named.label), 303)


def _change(store: Store, runs: list[str]) -> None:
    """Do what the form says; UsageError as of the command line, and for an unknown act."""
    form = request.form
    act = form.get("do", "")
    fields = {
        "tag": ("tag",),
        "untag": ("tag",),
        "note": ("text",),
        "unnote": ("number",),
    }
    if act not in fields:
        raise UsageError(f"do={act[:40]} is not one of {', '.join(fields)}")
    query.check_names(form, ("do", "run", forgery.FIELD, *fields[act]))
    if act == "tag":
        housekeeping.add_tag(store, runs, form.get("tag", "").strip())
    elif act == "untag":
        housekeeping.remove_tag(store, runs, form.get("tag", ""))
    elif act == "note":
        # A form sends line ends as CR LF.
        text = form.get("text", "").replace("\r\n", "\n")
        housekeeping.add_note(store, runs, text)
    else:
        number = query.read_whole(form, "number", 0, 1, 10**9 - 1)
        housekeeping.remove_note(store, runs, number)


@contextmanager
def _writing() -> Iterator[Store]:
    """Open the store for one change; StoreError when there is none.

    Where a run is being stored, a change waits for it, and further ones are refused meanwhile.
    """
    turn: threading.Lock = current_app.config[TURN]
    if not turn.acquire(timeout=PATIENCE_S):
        raise TooManyRequests("another change is being written; try again soon", retry_after=1)
    try:
        with Store.open_existing(current_app.config[DB], current_app.config[TELL]) as store:
            yield store
    finally:
        turn.release()


def _migration() -> str | None:
    """Return what the next change does to a store of an earlier schema; None: its is the newest."""

    def make() -> tuple[str | None, bool]:
        with reading_store() as store:
            return earlier_schema.warning(store.connection, store.path), False

    return cached(("migration",), make)


def _named(store: Store, args: MultiDict[str, str]) -> list[str]:
    runs = list(dict.fromkeys(args.getlist("run")))
    if not runs or len(runs) > MOST_RUNS:
        raise UsageError(f"run: tick 1 to {MOST_RUNS} runs, not {len(runs)}")
    return [_whole(store, run) for run in runs]


def _whole(store: Store, run_id: str) -> str:
    """Return the id of a run; 404 unless exactly one run has that name."""
    try:
        return store.resolve(run_id)
    except UsageError as error:
        abort(404, str(error))


def _page_of_request() -> str:
    """Return the page that has the form of this request."""
    if request.endpoint == f"{NAME}.change_several":
        return url_for("pages.runs")
    return request.path.removesuffix("/remarks")
