"""The pages of experiments: their list, and the answers that one gives."""

from __future__ import annotations

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
from results.experiment import overview
from results.experiment.observations import ValueSelection
from results.experiment.summary_document import document
from results.figures import FIGURES
from results.figures._drawing import content
from results.figures._study import Study
from results.tables import summary_csv
from web.charts import spark
from web.charts.drawing import DRAWING
from web.html import addresses
from web.http import query
from web.http.reader import DB, reading_store
from web.views import answers, choices, run_view, studies

pages = Blueprint("experiments", __name__)

PAGE = 50
"""Experiments on one page of the list."""


@pages.get("/")
def home() -> str:
    """List the experiments, that with the newest run first."""
    query.check_names(request.args, ("page",))
    page = query.read_whole(request.args, "page", 1, 1, 10**6) - 1
    with reading_store() as store:
        all_experiments = studies.every(store)
        remarks = store.remarks()
    shown = studies.newest_first(all_experiments)[page * PAGE : (page + 1) * PAGE]
    return render_template(
        "experiments.html",
        lines=[run_view.experiment_line(entry, remarks, datetime.now(UTC)) for entry in shown],
        total=len(all_experiments),
        page=page,
        pages=max(-(-len(all_experiments) // PAGE), 1),
        live=any(entry.running for entry in all_experiments),
    )


@pages.get("/experiments/<path:label>")
def experiment(label: str) -> str | AnyResponse:
    """Show the answers of an experiment; a name alone leads to the one that it means."""
    with reading_store() as store:
        named, others = studies.named(store, label)
        if label != named.label:
            arguments: Any = request.args.to_dict(flat=False)
            return redirect(url_for("experiments.experiment", label=named.label, **arguments))
        metrics = studies.metrics(store, named)
        chosen = choices.read(request.args, named, metrics)
        summary = studies.summary(store, named, chosen.wanted, chosen.by, compare=chosen.compare)
        remarks = store.remarks()
        scenario = studies.scenario_text(store, named)
    db = current_app.config[DB]
    return render_template(
        "experiment.html",
        experiment=named,
        label=named.label,
        line=run_view.experiment_line(named, remarks, datetime.now(UTC)),
        others=[other.label for other in others],
        chosen=chosen,
        axes=named.axes(),
        metrics=metrics,
        windows=[window.name for window in named.newest.windows],
        answer=answers.answer(summary, named, chosen),
        grid=overview.grid(named),
        variant_words=run_view.variant_words,
        states=overview.STATES,
        state_of=overview.state,
        address_of=addresses.of_runs(),
        scenario=scenario,
        table_command=choices.table_command(named.label, chosen, db),
        figure_command=choices.figure_command(named.label, chosen, db, f"{named.name}.pdf"),
        arguments=request.args.to_dict(flat=False),
        live=named.running,
        x_scales=choices.X_SCALES,
        y_scales=choices.Y_SCALES,
    )


@pages.get("/experiments/<path:label>/summary.<any('json','csv'):form>")
def table(label: str, form: str) -> Response:
    """Return the summary as ``orchestrator summary --json`` or ``--csv`` prints it."""
    with reading_store() as store:
        named, _others = studies.named(store, label)
        chosen = choices.read(request.args, named, studies.metrics(store, named))
        summary = studies.summary(
            store, named, chosen.wanted, chosen.by, medians=True, compare=chosen.compare
        )
    if form == "json":
        response = jsonify(document(summary))
    else:
        response = Response(summary_csv.text(summary), mimetype="text/csv")
    return _attached(response, f"{named.name}-{chosen.metric}.{form}")


@pages.get("/experiments/<path:label>/figure.<any('svg','png','pdf'):form>")
def figure(label: str, form: str) -> Response:
    """Return the figure of ``orchestrator plot metric``, or ``plot bars`` without an axis."""
    with reading_store() as store:
        named, _others = studies.named(store, label)
        chosen = choices.read(request.args, named, studies.metrics(store, named))
        keys = choices.figure(chosen, f"figure.{form}")
        try:
            spec = FIGURES.found[keys["kind"]].model_validate(keys)
        except ValueError as error:
            raise UsageError(str(error)) from None
        with DRAWING:
            data = content(spec, Study(store, named))
    kinds = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
    return _attached(Response(data, mimetype=kinds[form]), f"{named.name}-{chosen.metric}.{form}")


@pages.get("/experiments/<path:label>/spark.svg")
def sparkline(label: str) -> Response:
    """Return the first metric against the first axis of numbers, without words."""
    query.check_names(request.args, ("runs",))
    with reading_store() as store:
        named, _others = studies.named(store, label)
        metrics = studies.metrics(store, named)
        chosen = choices.read(MultiDict(), named, metrics)
        summary = studies.summary(store, named, ValueSelection((chosen.metric,)), ())
    return Response(
        spark.svg(summary, chosen.metric, chosen.x, chosen.log_x), mimetype="image/svg+xml"
    )


def _attached(response: Response, name: str) -> Response:
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response
