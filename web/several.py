"""What is done with several runs at once: they are compared, or exported."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from flask import Blueprint, Response, current_app, jsonify, render_template, request, url_for

from results import documents, tidy
from results.compare import compare
from results.experiments import of_rows
from results.metrics import METRICS
from results.metrics.base import Scope
from results.stored import StoredRun
from web import again, comparison, formats, means, query
from web.contract.parameters import CompareQuery
from web.reader import DB, reading_store

several = Blueprint("several", __name__)

MOST_EXPORTED = 200

HASH = 16
"""Characters that are shown of a hash."""


@several.get("/compare")
def compare_page() -> str:
    """Compare runs, or variants over their repetitions, as ``orchestrator compare`` does."""
    wanted = CompareQuery.read(request.args)
    with reading_store() as store:
        chosen = comparison.compared(store, wanted)
        document = compare(chosen.shown)
    drawn = comparison.curves(chosen)
    rows = [run.row for run in chosen.shown]
    return render_template(
        "compare.html",
        document=document,
        chosen=chosen,
        variants=None if chosen.variants is None else means.table(chosen.variants),
        runs=[
            {key: one[key] for key in ("label", "flows")}
            | {"api": url_for("api.run", run_id=one["id"])}
            for one in drawn
        ],
        duration_s=max((row.duration_s for row in rows), default=0.0),
        warmup_s=min((row.warmup_s for row in rows), default=0.0),
        arguments=request.args.to_dict(flat=False),
        command=again.command(["compare", *chosen.ids], current_app.config[DB]),
        value=_value,
        change=_change,
        shown=_shown,
    )


@several.get("/export.<any('json','csv'):form>")
def export(form: str) -> Response:
    """Return the runs as ``show --json`` prints them, or as a table of runs, windows and flows."""
    query.check_names(request.args, ("run",))
    with reading_store() as store:
        runs = comparison.load(store, request.args.getlist("run"), MOST_EXPORTED)
        if form == "json":
            response = jsonify(documents.document(runs))
        else:
            response = Response(_table(runs), mimetype="text/csv")
    response.headers.set("Content-Disposition", "attachment", filename=f"runs.{form}")
    return response


def _table(runs: Sequence[StoredRun]) -> str:
    chosen = of_rows("runs", [run.row for run in runs])
    out = io.StringIO()
    lines = csv.DictWriter(out, list(tidy.kinds(chosen)), lineterminator="\n")
    lines.writeheader()
    lines.writerows(tidy.rows_of(runs, chosen.axes()))
    return out.getvalue()


def _value(name: str, scope: Scope, value: float | None) -> str:
    return formats.metric(value, METRICS[name, scope].format)


def _change(ratio: float | None) -> str:
    return formats.NONE if ratio is None else f"{ratio - 1:+.1%}"


def _shown(path: str, value: object) -> str:
    """Return a value that differs; of a hash its beginning, which tells it from others."""
    if isinstance(value, dict) and "measured" in value:  # a fidelity check
        state = {True: "ok", False: "off", None: "not measured"}[value["ok"]]
        return f"{formats.quantity(value['measured'], value['unit'])} ({state})"
    text = formats.NONE if value is None else str(value)
    return text[:HASH] if path == "digest" or path.endswith("sha256") else text
