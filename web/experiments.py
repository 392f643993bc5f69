"""The pages of experiments: their list, and the answers that one gives."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

from flask import (
    Blueprint,
    Response,
    current_app,
    jsonify,
    redirect,
    render_template,
    request,
    url_for,
)
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response as AnyResponse

from orchestrator.errors import UsageError
from results import overview, summary_csv
from results.observations import ValueSelection
from web import addresses, answers, choices, query, spark, studies, view
from web.reader import DB, reading_store

experiments = Blueprint("experiments", __name__)

PAGE = 50
"""Experiments on one page of the list."""

DRAWING = threading.Lock()
"""matplotlib's settings are of the whole process, so figures are drawn one after another."""


@experiments.get("/")
def home() -> str:
    """List the experiments, that with the newest run first."""
    query.check_names(request.args, ("page",))
    page = query.read_whole(request.args, "page", 1, 1, 10**6) - 1
    with reading_store() as store:
        found = studies.every(store)
        remarks = store.remarks()
    shown = studies.newest_first(found)[page * PAGE : (page + 1) * PAGE]
    return render_template(
        "experiments.html",
        lines=[view.experiment_line(one, remarks, datetime.now(UTC)) for one in shown],
        total=len(found),
        page=page,
        pages=max(-(-len(found) // PAGE), 1),
        live=any(one.running for one in found),
    )


@experiments.get("/experiments/<path:label>")
def experiment(label: str) -> str | AnyResponse:
    """Show the answers of an experiment; a name alone leads to that with the newest run."""
    with reading_store() as store:
        found, others = studies.named(store, label)
        if label != found.label:
            arguments: Any = request.args.to_dict(flat=False)
            return redirect(url_for("experiments.experiment", label=found.label, **arguments))
        metrics = studies.metrics(store, found)
        chosen = choices.read(request.args, found, metrics)
        document = studies.summary(store, found, chosen.wanted, chosen.by)
        remarks = store.remarks()
        scenario = studies.scenario_text(store, found)
    db = current_app.config[DB]
    return render_template(
        "experiment.html",
        experiment=found,
        label=found.label,
        line=view.experiment_line(found, remarks, datetime.now(UTC)),
        others=[one.label for one in others],
        chosen=chosen,
        axes=found.axes(),
        metrics=metrics,
        windows=[window.name for window in found.newest.windows],
        answer=answers.answer(document, found, chosen),
        grid=overview.grid(found),
        variant_words=view.variant_words,
        states=overview.STATES,
        state_of=overview.state,
        address_of=addresses.of_runs(),
        scenario=scenario,
        table_command=choices.table_command(found.label, chosen, db),
        figure_command=choices.figure_command(found.label, chosen, db, f"{found.name}.pdf"),
        arguments=request.args.to_dict(flat=False),
        live=found.running,
        x_scales=choices.X_SCALES,
        y_scales=choices.Y_SCALES,
    )


@experiments.get("/experiments/<path:label>/summary.<any('json','csv'):form>")
def table(label: str, form: str) -> Response:
    """Return the summary as ``orchestrator summary --json`` or ``--csv`` prints it."""
    with reading_store() as store:
        found, _others = studies.named(store, label)
        chosen = choices.read(request.args, found, studies.metrics(store, found))
        document = studies.summary(store, found, chosen.wanted, chosen.by, medians=True)
    if form == "json":
        response = jsonify(document)
    else:
        response = Response(summary_csv.text(document), mimetype="text/csv")
    return _attached(response, f"{found.name}-{chosen.metric}.{form}")


@experiments.get("/experiments/<path:label>/figure.<any('svg','png','pdf'):form>")
def figure(label: str, form: str) -> Response:
    """Return the figure of ``orchestrator plot metric``, or ``plot bars`` without an axis."""
    from results.figures import FIGURES
    from results.figures._drawing import content
    from results.figures._study import Study

    with reading_store() as store:
        found, _others = studies.named(store, label)
        chosen = choices.read(request.args, found, studies.metrics(store, found))
        keys = choices.figure(chosen, f"figure.{form}")
        try:
            asked = FIGURES.found[keys["kind"]].model_validate(keys)
        except ValueError as error:
            raise UsageError(str(error)) from None
        with DRAWING:
            data = content(asked, Study(store, found))
    kinds = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
    return _attached(Response(data, mimetype=kinds[form]), f"{found.name}-{chosen.metric}.{form}")


@experiments.get("/experiments/<path:label>/spark.svg")
def sparkline(label: str) -> Response:
    """Return the first metric against the first axis of numbers, without words."""
    query.check_names(request.args, ("runs",))
    with reading_store() as store:
        found, _others = studies.named(store, label)
        metrics = studies.metrics(store, found)
        chosen = choices.read(MultiDict(), found, metrics)
        document = studies.summary(store, found, ValueSelection((chosen.metric,)), ())
    return Response(spark.svg(document, chosen), mimetype="image/svg+xml")


def _attached(response: Response, name: str) -> Response:
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response
