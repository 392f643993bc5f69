"""The application factory, and how errors are shown."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from flask import Flask, Response, g, jsonify, make_response, render_template, request
from werkzeug.exceptions import HTTPException

from orchestrator.errors import StoreError, UsageError
from results.schema.database import Tell, say_nothing
from results.store.metric_rows import MetricCache
from web import pages
from web.api import details, document_route, papers, runs, traces
from web.api import experiments as api_experiments
from web.api.curves import curves
from web.charts import cells as drawn_cells
from web.contract.problem import Error, Problem
from web.html import formats
from web.http import reader, security
from web.http.cache import CACHE, MOST_TRACED, TRACED, Cache
from web.http.streams import STREAMS, Streams
from web.pages import editing
from web.views import cards as report_cards
from web.views import claim_evidence

API = (
    runs.api, curves, details.details, traces.traces, api_experiments.experiments, papers.papers,
)  # fmt: skip
"""The parts of the JSON API."""


def create_app(
    db: Path,
    token: str | None = None,
    hosts: Collection[str] = (),
    edit: bool = False,
    tell: Tell = say_nothing,
    cards: Path | None = None,
) -> Flask:
    """Return the dashboard over the results store at ``db``.

    The store is opened read-only in every request, so it may appear, grow or disappear at any time.
    With a ``token`` (16 or more letters, digits or ``-._~``) every page requires it. Without one
    the ``Host`` header must name this machine's loopback. With one it may also be any IP address,
    or a host name in ``hosts``.

    With ``edit`` the pages have forms for notes and tags, which open the store for writing for the
    length of one change. The ``Host`` header must name loopback then, with a token, too. The first
    change migrates a store of an earlier schema, of which ``tell`` is told.

    Report cards are those of ``cards`` and of the folders in it, by default the store's folder.

    Raises:
        UsageError: the token is too short or cannot stand in an address.
    """
    app = Flask(__name__)
    app.config[reader.DB] = Path(db)
    app.config[CACHE] = Cache()
    app.config[TRACED] = Cache(MOST_TRACED)
    app.config[reader.METRIC_CACHE] = MetricCache()
    app.config[claim_evidence.FOLDER] = claim_evidence.USUAL
    app.config[report_cards.FOLDER] = Path(db).parent if cards is None else cards
    app.config[STREAMS] = Streams()
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    formats.register(app)
    drawn_cells.register(app)
    security.protect(app, token, hosts, {editing.NAME} if edit else ())
    for blueprint in pages.blueprints():
        app.register_blueprint(blueprint)
    document_route.register(app, API, needs_token=token is not None)
    if edit:
        editing.register(app, tell)
    app.register_error_handler(StoreError, _store_error)
    app.register_error_handler(UsageError, _usage_error)
    app.register_error_handler(HTTPException, _http_error)
    return app


def _store_error(error: StoreError) -> Response:
    act = "changed" if request.method == "POST" else "read"
    return answer_error(503, f"The results store cannot be {act}", str(error))


def _usage_error(error: UsageError) -> Response:
    return answer_error(400, "Bad request", str(error))


def _http_error(error: HTTPException) -> Response:
    if error.response is not None or error.code is None or error.code < 400:
        return make_response(error.get_response())
    response = answer_error(error.code, error.name, error.description or error.name)
    for name, value in error.get_headers():
        if name.lower() not in ("content-type", "content-length"):
            response.headers[name] = value
    return response


def answer_error(status: int, title: str, message: str) -> Response:
    """Return an error as JSON below /api/, and as a page anywhere else."""
    if request.path.startswith("/api/"):
        error = Error.model_construct(status=status, title=title, message=message)
        response = jsonify(Problem.model_construct(error=error).document())
    else:
        response = make_response(
            render_template(
                "error.html", status=status, title=title, message=message, back=g.get("back")
            )
        )
    response.status_code = status
    return response
