"""The pages of runs: their list, a run, and its downloads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache

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

from results.contract.runs import RunFields
from results.documents import run_document
from results.matrix.axes import axes
from results.runs import page as runs_page
from results.runs import result
from results.store.stored import StoredRun
from results.traces.choice import can_be_made_again
from web.charts import network
from web.html import addresses
from web.http import query
from web.http.cache import cached
from web.http.reader import DB, reading_run, reading_store
from web.views import command_lines, facets, list_columns, run_view, traced

pages = Blueprint("pages", __name__)

PAGE = 200
"""Runs on one page of the list."""


@pages.get("/runs")
def runs() -> str:
    """List the stored runs, newest first unless the address says another order."""
    wanted, page = _filter()
    with reading_store() as store:
        labels = cached(("axis labels",), lambda: (runs_page.axis_labels(store), False))
        there = list_columns.columns(labels)
        chosen = list_columns.chosen(request.args, there)
        listed = runs_page.page(store, wanted)
    return render_template(
        "runs.html",
        runs=listed.runs,
        total=listed.total,
        found=listed.found,
        page=page,
        pages=max(-(-listed.found // PAGE), 1),
        wanted=wanted,
        axes=axes([run.variant for run in listed.runs]),
        most_axes=run_view.MOST_AXES,
        variant_words=run_view.variant_words,
        statuses=run_view.STATUSES,
        columns=chosen,
        choosable=there,
        chosen=[column.name for column in chosen],
        usual=list_columns.usual(),
        short=run_view.short_error,
        address_of_run=addresses.of_runs(),
        address_of_experiment=addresses.of_experiments(),
        congestion=run_view.congestion,
        arguments=_arguments(chosen),
        facets=facets.groups(listed.facets, wanted.where),
        condition=facets.joined(wanted.where),
        command=command_lines.runs(wanted, current_app.config[DB]),
        live=listed.running > 0,
    )


@pages.get("/runs/<run_id>")
def run(run_id: str) -> str | AnyResponse:
    """Show one run; a short id, or ``last``, leads to the whole one."""
    with reading_run(run_id) as (_store, stored):
        if stored.id != run_id:
            return redirect(url_for("pages.run", run_id=stored.id))
        whole = result.of_run(stored)
        links = run_view.links(stored, whole.links)
        traces = stored.traces if stored.status == "ok" else []
        return render_template(
            "run.html",
            run=whole,
            row=stored.row,
            head=stored.head,
            metrics=run_view.metric_table(whole),
            reasons=[check for check in stored.checks if check.ok is not True],
            passed=sum(check.ok is True for check in stored.checks),
            unmeasured=sum(check.ok is None for check in stored.checks),
            checks=stored.checks,
            emulated=bool(stored.queues),
            network=network.drawing(stored, whole.links) if stored.status == "ok" else "",
            drawn=run_view.DRAWN,
            links=links,
            links_note=run_view.links_note(links),
            short_columns=run_view.short_columns,
            all_columns=run_view.all_columns,
            paired=run_view.paired,
            policers=run_view.policers(stored),
            traces=traces,
            tells=bool(traced.telling(traces)),
            has_stories=traced.of_whole_run(stored, traces) is not None,
            closer=json.dumps(
                [
                    {**vars(one), "url": url_for("traces.trace", run_id=run_id, number=one.number)}
                    for one in traced.closer(traces)
                ]
            ),
            zoom=command_lines.command(["zoom", stored.id], current_app.config[DB]),
            again=can_be_made_again(stored),
            explain=command_lines.explain(stored, current_app.config[DB]),
            provenance=[(key, _shown(value)) for key, value in _provenance(stored)],
            tails={name: run_view.tail(stored.artefact(name)) for name in ("console", "log")},
            live=stored.status == "running",
        )


@pages.get("/runs/<run_id>/<any('document.json','scenario.yaml','console.txt','log.txt'):name>")
def download(run_id: str, name: str) -> Response:
    """Return a run's JSON document, scenario, console or log as a file."""
    with reading_run(run_id) as (_store, stored):
        if name == "document.json":
            whole = result.of_run(stored)
            text = json.dumps(run_document.document([whole]), indent=2, allow_nan=False) + "\n"
            kind = "application/json"
        else:
            text, kind = _text(stored, name), "text/plain"
        response = Response(text, mimetype=kind)
        response.headers.set("Content-Disposition", "attachment", filename=f"{stored.id}-{name}")
        return response


@pages.get("/runs/<run_id>/kept/<int:position>")
def kept(run_id: str, position: int) -> Response:
    """Return a file that a run keeps of its programs, which no browser shows."""
    with reading_run(run_id) as (_store, stored):
        files = stored.kept_files
        if position >= len(files) or files[position].sha256 is None:
            abort(404, f"run {stored.id} keeps no file {position}")
        name = _UNSAFE.sub("_", files[position].name.rpartition("/")[2])[-_MOST_NAME:]
        content = stored.kept_content(files[position])
        response = Response(content, mimetype="application/octet-stream")
        response.headers.set("Content-Disposition", "attachment", filename=f"{stored.id}-{name}")
        return response


_UNSAFE, _MOST_NAME = re.compile(r"[^A-Za-z0-9._-]", re.ASCII), 80
"""Of the name under which a browser saves a file; a program chose it."""


def _text(run: StoredRun, name: str) -> str:
    if name == "scenario.yaml":
        return run.head.scenario_text
    text = run.artefact(name.removesuffix(".txt"))
    if not text:
        abort(404, f"nothing was kept as {name} of run {run.id}")
    return text


def _filter() -> tuple[runs_page.PageRequest, int]:
    """Return the wanted runs and the number of the page; UsageError when not valid."""
    names = ("q", "where", "status", "sort", "page", "column", "metric")
    query.check_names(request.args, names)
    page = query.read_whole(request.args, "page", 1, 1, 10**6) - 1
    return query.read_wanted(request.args, page * PAGE, PAGE, facets=True), page


def _arguments(chosen: Sequence[list_columns.RunsColumn]) -> dict[str, list[str]]:
    """Return the address's parameters, without columns where these are the usual ones."""
    arguments = request.args.to_dict(flat=False)
    if {column.name for column in chosen} == set(list_columns.usual()):
        arguments.pop("column", None)
    return arguments


def _provenance(run: StoredRun) -> Iterator[tuple[str, object]]:
    """Yield the shown fields of a run that its page names nowhere else, then its provenance."""
    named = _named("run.html")
    for name in RunFields.model_fields:
        if name not in named:
            yield name, getattr(run.row, name)
    yield from run.provenance.items()


@cache
def _named(template: str) -> frozenset[str]:
    """Return the names of a run's fields that a template reads of ``run`` and ``row``.

    To parse a template takes tens of milliseconds, and it is a file of this program.
    """
    environment = current_app.jinja_env
    assert environment.loader is not None, "Flask has one"
    source, _path, _is_current = environment.loader.get_source(environment, template)
    return frozenset(
        attribute.attr
        for attribute in environment.parse(source).find_all(nodes.Getattr)
        if isinstance(attribute.node, nodes.Name) and attribute.node.name in ("run", "row")
    )


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False)
