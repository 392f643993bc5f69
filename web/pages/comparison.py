"""What is done with several runs at once: they are compared, or exported."""

from __future__ import annotations

import io
from collections.abc import Sequence

from flask import Blueprint, Response, current_app, jsonify, render_template, request, url_for

from results.comparison.runs import compare
from results.documents import run_document
from results.experiment.experiments import of_rows
from results.metrics import find, is_extracted
from results.metrics.base import Scope
from results.runs import result
from results.store.stored import StoredRun
from results.tables import experiment_table
from results.traces.difference import sentences
from results.traces.difference.stored import obstacle
from web.contract.parameters import CompareQuery, DiffQuery
from web.html import formats
from web.http import query
from web.http.reader import DB, reading_store
from web.views import command_lines, comparison, difference, means

pages = Blueprint("several", __name__)

MOST_EXPORTED = 200

HASH = 16
"""Characters that are shown of a hash."""


@pages.get("/compare")
def compare_page() -> str:
    """Compare runs, or variants over their repetitions, as ``orchestrator compare`` does."""
    parameters = CompareQuery.read(request.args)
    with reading_store() as store:
        chosen = comparison.compared(store, parameters)
        compared = compare(chosen.shown)
    drawn = comparison.curves(chosen)
    rows = [run.row for run in chosen.shown]
    return render_template(
        "compare.html",
        compared=compared,
        chosen=chosen,
        variants=None if chosen.variants is None else means.table(chosen.variants),
        runs=[
            {key: drawn_run[key] for key in ("label", "flows")}
            | {"api": url_for("api.run", run_id=drawn_run["id"])}
            for drawn_run in drawn
        ],
        duration_s=max((row.duration_s for row in rows), default=0.0),
        warmup_s=min((row.warmup_s for row in rows), default=0.0),
        arguments=request.args.to_dict(flat=False),
        command=command_lines.command(["compare", *chosen.ids], current_app.config[DB]),
        pair=[row.id for row in rows] if len(rows) == 2 else None,
        value=_value,
        change=_change,
        shown=_shown,
    )


@pages.get("/diff")
def diff_page() -> str:
    """Show where two runs part, as ``orchestrator diff`` finds it, by their stored traces."""
    parameters = DiffQuery.read(request.args)
    with reading_store() as store:
        one, other = difference.of(store, parameters)
        wrong = obstacle(one, other)
        found = None if wrong else difference.found(one, other)
        return render_template(
            "diff.html",
            rows=[one.row, other.row],
            set_up=difference.set_up_lines(one, other),
            obstacle=wrong,
            not_stored=difference.NOT_STORED,
            found=found,
            closer=[] if found is None else difference.closer((one, other), found),
            sentences=sentences,
            command=command_lines.diff(one, other, current_app.config[DB]),
        )


@pages.get("/export.<any('json','csv'):form>")
def export(form: str) -> Response:
    """Return the runs as ``show --json`` prints them, or as a table of runs, windows and flows."""
    query.check_names(request.args, ("run",))
    with reading_store() as store:
        runs = comparison.load(store, request.args.getlist("run"), MOST_EXPORTED)
        if form == "json":
            response = jsonify(run_document.document([result.of_run(run) for run in runs]))
        else:
            response = Response(_table(runs), mimetype="text/csv")
    response.headers.set("Content-Disposition", "attachment", filename=f"runs.{form}")
    return response


def _table(runs: Sequence[StoredRun]) -> str:
    chosen = of_rows("runs", [run.row for run in runs])
    out = io.StringIO()
    flows = [flow for run in runs for of in run.metrics().values() for flow in of.flows]
    extracted = sorted({name for flow in flows for name in flow if is_extracted(name)})
    experiment_table.csv_writer(out, experiment_table.kinds(chosen, extracted))(
        experiment_table.rows_of(runs, chosen.axes(), extracted)
    )
    return out.getvalue()


def _value(name: str, scope: Scope, value: float | None) -> str:
    metric = find(name, scope)
    assert metric is not None, "the comparison is of metrics"
    return formats.metric(value, metric.format)


def _change(ratio: float | None) -> str:
    return formats.NONE if ratio is None else f"{ratio - 1:+.1%}"


def _shown(path: str, value: object) -> str:
    """Return a value that differs; of a hash its beginning, which tells it from others."""
    text = formats.NONE if value is None else str(value)
    return text[:HASH] if path == "digest" or path.endswith("sha256") else text
