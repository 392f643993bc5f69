"""The pages of runs: their list, a run, and its downloads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from flask import (
    Blueprint,
    Response,
    abort,
    current_app,
    redirect,
    render_template,
    request,
    url_for,
)
from jinja2 import nodes
from werkzeug.wrappers import Response as AnyResponse

from results import columns, documents, listing
from results.axes import axes
from results.model import RunRow
from results.stored import StoredRun
from web import addresses, again, facets, list_columns, network, query, view
from web.cache import cached
from web.reader import DB, reading_run, reading_store

pages = Blueprint("pages", __name__)

PAGE = 200
"""Runs on one page of the list."""


@pages.get("/runs")
def runs() -> str:
    """List the stored runs, newest first unless the address says another order."""
    wanted, page = _filter()
    with reading_store() as store:
        labels = cached(("axis labels",), lambda: (listing.axis_labels(store), False))
        there = list_columns.columns(labels)
        chosen = list_columns.chosen(request.args, there)
        found = listing.page(store, wanted)
    return render_template(
        "runs.html",
        runs=found.runs,
        total=found.total,
        found=found.found,
        page=page,
        pages=max(-(-found.found // PAGE), 1),
        wanted=wanted,
        axes=axes([run["variant"] for run in found.runs]),
        most_axes=view.MOST_AXES,
        variant_words=view.variant_words,
        statuses=view.STATUSES,
        columns=chosen,
        choosable=there,
        chosen=[column.name for column in chosen],
        usual=list_columns.usual(),
        short=view.short_error,
        address_of_run=addresses.of_runs(),
        address_of_experiment=addresses.of_experiments(),
        congestion=view.congestion,
        arguments=_arguments(chosen),
        facets=facets.groups(found.facets, wanted.where),
        condition=facets.joined(wanted.where),
        command=again.runs(wanted, current_app.config[DB]),
        live=found.running > 0,
    )


@pages.get("/runs/<run_id>")
def run(run_id: str) -> str | AnyResponse:
    """Show one run; a short id, or ``last``, leads to the whole one."""
    with reading_run(run_id) as (_store, found):
        if found.id != run_id:
            return redirect(url_for("pages.run", run_id=found.id))
        document = documents.run_document(found)
        links = view.links(found, document["links"])
        return render_template(
            "run.html",
            run=document,
            row=found.row,
            head=found.head,
            metrics=view.metric_table(document),
            reasons=[check for check in found.checks if check.ok is not True],
            passed=sum(check.ok is True for check in found.checks),
            unmeasured=sum(check.ok is None for check in found.checks),
            checks=found.checks,
            emulated=bool(found.queues),
            shown=[flow.congestion_fields for flow in found.flows],
            paths=[flow.path for flow in found.flows],
            network=network.drawing(found, document["links"]) if found.status == "ok" else "",
            drawn=view.DRAWN,
            links=links,
            links_note=view.links_note(links),
            short_columns=view.short_columns,
            all_columns=view.all_columns,
            paired=view.paired,
            policers=view.policers(found),
            provenance=[(key, _shown(value)) for key, value in _provenance(found)],
            tails={name: view.tail(found.artefact(name)) for name in ("console", "log")},
            live=found.status == "running",
        )


@pages.get("/runs/<run_id>/<any('document.json','scenario.yaml','console.txt','log.txt'):name>")
def download(run_id: str, name: str) -> Response:
    """Return a run's JSON document, scenario, console or log as a file."""
    with reading_run(run_id) as (_store, found):
        if name == "document.json":
            text = json.dumps(documents.document([found]), indent=2, allow_nan=False) + "\n"
            kind = "application/json"
        else:
            text, kind = _text(found, name), "text/plain"
        response = Response(text, mimetype=kind)
        response.headers.set("Content-Disposition", "attachment", filename=f"{found.id}-{name}")
        return response


def _text(run: StoredRun, name: str) -> str:
    if name == "scenario.yaml":
        return run.head.scenario_text
    text = run.artefact(name.removesuffix(".txt"))
    if not text:
        abort(404, f"nothing was kept as {name} of run {run.id}")
    return text


def _filter() -> tuple[listing.PageRequest, int]:
    """Return the wanted runs and the number of the page; UsageError when not valid."""
    names = ("q", "where", "status", "sort", "page", "column", "metric")
    query.check_names(request.args, names)
    page = query.read_whole(request.args, "page", 1, 1, 10**6) - 1
    return query.read_wanted(request.args, page * PAGE, PAGE, facets=True), page


def _arguments(chosen: Sequence[list_columns.Column]) -> dict[str, list[str]]:
    """Return the address's parameters, without columns where these are the usual ones."""
    arguments = request.args.to_dict(flat=False)
    if {column.name for column in chosen} == set(list_columns.usual()):
        arguments.pop("column", None)
    return arguments


def _provenance(run: StoredRun) -> Iterator[tuple[str, object]]:
    """Yield the shown fields of a run that its page names nowhere else, then its provenance."""
    named = _named("run.html")
    for name in columns.names(RunRow, columns.SHOWN):
        if name not in named:
            yield name, getattr(run.row, name)
    yield from run.provenance.items()


def _named(template: str) -> set[str]:
    """Return the names of a run's fields that a template reads of ``run`` and ``row``."""
    environment = current_app.jinja_env
    assert environment.loader is not None, "Flask has one"
    source, _path, _is_current = environment.loader.get_source(environment, template)
    return {
        found.attr
        for found in environment.parse(source).find_all(nodes.Getattr)
        if isinstance(found.node, nodes.Name) and found.node.name in ("run", "row")
    }


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False)
