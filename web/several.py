"""What is done with several runs at once: they are compared, or exported."""

from __future__ import annotations

import csv
import io

from flask import Blueprint, Response, abort, current_app, jsonify, render_template, request

from orchestrator.errors import UsageError
from results import tidy
from results.compare import compare
from results.experiments import Experiment
from results.metrics import METRICS
from results.metrics.base import Scope
from results.store import Store
from results.stored import StoredRun
from web import again, formats, query
from web.reader import DB, reading_store

several = Blueprint("several", __name__)

MOST_COMPARED = 12
MOST_EXPORTED = 200


@several.get("/compare")
def comparison() -> str:
    """Compare the runs, as ``orchestrator compare`` does."""
    query.check_names(request.args, ("run",))
    with reading_store() as store:
        runs = _runs(store, MOST_COMPARED)
        document = compare(runs)
    return render_template(
        "compare.html",
        document=document,
        ids=[run.id for run in runs],
        command=again.command(["compare", *(run.id for run in runs)], current_app.config[DB]),
        value=_value,
        change=_change,
        shown=_shown,
    )


@several.get("/export.<any('json','csv'):form>")
def export(form: str) -> Response:
    """Return the runs as ``show --json`` prints them, or as a table of runs, windows and flows."""
    query.check_names(request.args, ("run",))
    with reading_store() as store:
        runs = _runs(store, MOST_EXPORTED)
        if form == "json":
            response = jsonify(store.document([run.id for run in runs]))
        else:
            response = Response(_table(store, runs), mimetype="text/csv")
    response.headers.set("Content-Disposition", "attachment", filename=f"runs.{form}")
    return response


def _runs(store: Store, most: int) -> list[StoredRun]:
    """Return the runs that the address names; 404 for one that is not there."""
    ids = list(dict.fromkeys(request.args.getlist("run")))
    if not ids or len(ids) > most:
        raise UsageError(f"run: choose 1 to {most} runs, not {len(ids)}")
    try:
        return [store.load(run_id) for run_id in ids]
    except UsageError as error:
        abort(404, str(error))


def _table(store: Store, runs: list[StoredRun]) -> str:
    chosen = Experiment("runs", (), [run.row for run in runs])
    out = io.StringIO()
    lines = csv.DictWriter(out, list(tidy.kinds(chosen)), lineterminator="\n")
    lines.writeheader()
    lines.writerows(tidy.rows(store, chosen))
    return out.getvalue()


def _value(name: str, scope: Scope, value: float | None) -> str:
    return formats.metric(value, METRICS[name, scope].format)


def _change(ratio: float | None) -> str:
    return formats.NONE if ratio is None else f"{ratio - 1:+.1%}"


def _shown(value: object) -> str:
    if isinstance(value, dict) and "measured" in value:  # a fidelity check
        state = {True: "ok", False: "off", None: "not measured"}[value["ok"]]
        return f"{value['measured']} ({state})"
    return formats.NONE if value is None else str(value)
