"""The page of a stored trace of a run."""

from __future__ import annotations

import json

from flask import Blueprint, abort, current_app, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from results.traces.choice import TraceNeed, can_be_made_again, window_of
from web.http import query
from web.http.reader import DB, reading_run
from web.views import command_lines, traced

pages = Blueprint("traces", __name__)

CLOSEST = TraceNeed(("packets", "acks", "queue", "tcp"))
"""What a trace has of which the page shows all."""


@pages.get("/runs/<run_id>/traces")
def listed(run_id: str) -> AnyResponse:
    """Lead to the list of traces on the run's page."""
    query.check_names(request.args, ())
    with reading_run(run_id) as (_store, stored):
        return redirect(url_for("pages.run", run_id=stored.id, _anchor="moments"))


@pages.get("/runs/<run_id>/traces/<int:number>")
def trace(run_id: str, number: int) -> str | AnyResponse:
    """Show one trace; a short id of a run leads to the whole one."""
    query.check_names(request.args, ())
    with reading_run(run_id) as (_store, stored):
        if stored.id != run_id:
            return redirect(url_for("traces.trace", run_id=stored.id, number=number))
        head = next((head for head in stored.traces if head.number == number), None)
        if head is None:
            numbers = ", ".join(str(one.number) for one in stored.traces) or "none"
            abort(404, f"run {stored.id} has no trace {number}; it has {numbers}")
        from_ns, to_ns = window_of(head)
        need = TraceNeed(CLOSEST.kinds, window_ns=(from_ns, to_ns))
        kept = head.capture.flows
        return render_template(
            "trace.html",
            row=stored.row,
            head=head,
            from_s=from_ns / 1e9,
            to_s=to_ns / 1e9,
            names=json.dumps([flow.name for flow in stored.flows]),
            kinds=json.dumps(sorted(head.capture.kinds)),
            tcp=[
                flow.name
                for flow in stored.flows
                if flow.transport == "tcp" and (not kept or flow.name in kept)
            ],
            links=traced.links(stored, head),
            tells=not traced.TELLING.lacks(head),
            closer="[]",
            lacking=[kind for kind in CLOSEST.kinds if kind not in head.capture.kinds],
            again=can_be_made_again(stored),
            command=command_lines.zoom(stored, need, current_app.config[DB]),
        )
