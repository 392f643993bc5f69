"""The JSON API of what pages show beside a run's document, and of several runs at once."""

from __future__ import annotations

import json

from flask import Response, current_app, jsonify

from results.comparison.comparison_document import document
from results.comparison.runs import compare
from results.contract.base import SCHEMA, json_ready
from results.metrics import METRICS
from results.store import live
from web.api import openapi
from web.contract.parameters import CompareQuery, RunAddress
from web.http.reader import DB, reading_run, reading_store
from web.views import comparison

details = openapi.ApiBlueprint(
    "api_details", __name__, "More of a run, comparisons, and the metrics that there are."
)


@details.address(
    "/compare",
    says="It is of runs, or of variants of an experiment. Variants are compared over their "
    "repetitions, and one repetition of each stands for the variant in all else.",
)
def compared(query: CompareQuery) -> Response:
    """Return a comparison, as `orchestrator compare --json` has it."""
    with reading_store() as store:
        chosen = comparison.compared(store, query)
        return jsonify(document(compare(chosen.shown), chosen.variants))


@details.address("/metrics")
def metrics() -> Response:
    """Return the metrics with their units and definitions."""
    registered = [
        {
            "name": metric.name,
            "scope": metric.scope,
            "unit": metric.unit,
            "title": metric.title,
            "definition": " ".join(metric.definition.split()),
        }
        for metric in METRICS.values()
    ]
    return jsonify({"schema": SCHEMA, "metrics": registered})


@details.address("/runs/<run_id>/provenance")
def provenance(path: RunAddress) -> Response:
    """Return where a run comes from: scenario, versions, kernel settings, modules."""
    with reading_run(path.run_id) as (_store, stored):
        row = stored.row
        return jsonify(
            {
                "schema": SCHEMA,
                "run": stored.id,
                "description": row.description,
                "experiment": row.experiment,
                "scenario": row.scenario,
                "started_utc": row.started_utc,
                "finished_utc": row.finished_utc,
                "duration_s": row.duration_s,
                "warmup_s": row.warmup_s,
                "windows": [vars(window) for window in row.windows],
                "git_commit": row.git_commit,
                "unconfined": row.unconfined,
                "scenario_text": stored.head.scenario_text,
                "scenario_sha256": row.scenario_sha256,
                "provenance": json_ready(stored.provenance),
            }
        )


@details.address("/runs/<run_id>/logs")
def logs(path: RunAddress) -> Response:
    """Return the console of a run's guest and the log of its test bed."""
    with reading_run(path.run_id) as (_store, stored):
        texts = {name: stored.artefact(name) for name in ("console", "log")}
        return jsonify({"schema": SCHEMA, "run": stored.id, **texts})


@details.address("/runs/<run_id>/network")
def network(path: RunAddress) -> Response:
    """Return links, the ways of flows, and qdiscs of a run."""
    with reading_run(path.run_id) as (_store, stored):
        flows = [
            {name: getattr(flow, name) for name in ("name", "source", "sink", "path")}
            | {"congestion_fields": flow.congestion_fields}
            for flow in stored.flows
        ]
        queues = [vars(queue) for queue in stored.queues]
        links = [link.document() for link in stored.head.links]
        return jsonify(
            {
                "schema": SCHEMA,
                "run": stored.id,
                **json_ready(
                    {
                        "links": links,
                        "flows": flows,
                        "queues": queues,
                    }
                ),
            }
        )


@details.address("/runs/<run_id>/progress")
def progress(path: RunAddress) -> Response:
    """Return what is known of a run in progress; `/runs/RUN/live` streams the same."""
    with reading_run(path.run_id) as (_store, stored):
        text = live.read(current_app.config[DB], stored.id) if stored.status == "running" else None
        return jsonify(
            {
                "schema": SCHEMA,
                "run": stored.id,
                "status": stored.status,
                "state": None if text is None else json.loads(text),
            }
        )
