"""The JSON API of what pages show beside a run's document, and of several runs at once."""

from __future__ import annotations

import json

from flask import Response, current_app, jsonify

from results import live
from results.compare import compare
from results.documents import SCHEMA, json_ready
from results.metrics import METRICS
from web import comparison, openapi
from web.contract.parameters import CompareQuery, RunPlace
from web.reader import DB, reading_run, reading_store

details = openapi.Part(
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
        return jsonify({**compare(chosen.shown), "variants": chosen.variants})


@details.address("/metrics")
def metrics() -> Response:
    """Return the metrics with their units and definitions."""
    found = [
        {
            "name": one.name,
            "scope": one.scope,
            "unit": one.unit,
            "title": one.title,
            "definition": " ".join(one.definition.split()),
        }
        for one in METRICS.values()
    ]
    return jsonify({"schema": SCHEMA, "metrics": found})


@details.address("/runs/<run_id>/provenance")
def provenance(path: RunPlace) -> Response:
    """Return where a run comes from: scenario, versions, kernel settings, modules."""
    with reading_run(path.run_id) as (_store, found):
        row = found.row
        return jsonify(
            {
                "schema": SCHEMA,
                "run": found.id,
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
                "scenario_text": found.head.scenario_text,
                "scenario_sha256": row.scenario_sha256,
                "provenance": json_ready(found.provenance),
            }
        )


@details.address("/runs/<run_id>/logs")
def logs(path: RunPlace) -> Response:
    """Return the console of a run's guest and the log of its test bed."""
    with reading_run(path.run_id) as (_store, found):
        texts = {name: found.artefact(name) for name in ("console", "log")}
        return jsonify({"schema": SCHEMA, "run": found.id, **texts})


@details.address("/runs/<run_id>/network")
def network(path: RunPlace) -> Response:
    """Return links, the ways of flows, and qdiscs of a run."""
    with reading_run(path.run_id) as (_store, found):
        flows = [
            {name: getattr(flow, name) for name in ("name", "source", "sink", "path")}
            | {"congestion_fields": flow.congestion_fields}
            for flow in found.flows
        ]
        queues = [vars(queue) for queue in found.queues]
        return jsonify(
            {
                "schema": SCHEMA,
                "run": found.id,
                **json_ready({"links": list(found.head.links), "flows": flows, "queues": queues}),
            }
        )


@details.address("/runs/<run_id>/progress")
def progress(path: RunPlace) -> Response:
    """Return what is known of a run in progress; `/runs/RUN/live` streams the same."""
    with reading_run(path.run_id) as (_store, found):
        text = live.read(current_app.config[DB], found.id) if found.status == "running" else None
        return jsonify(
            {
                "schema": SCHEMA,
                "run": found.id,
                "status": found.status,
                "state": None if text is None else json.loads(text),
            }
        )
