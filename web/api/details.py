"""The JSON API of what pages show beside a run's document, and of several runs at once."""

from __future__ import annotations

import json

from flask import Response, current_app, jsonify

from orchestrator.errors import UsageError
from results.comparison.comparison_document import document
from results.comparison.runs import compare
from results.contract import runs as runs_contract
from results.contract.base import SCHEMA
from results.metrics import METRICS
from results.records.links import LinkSummary
from results.store import live
from results.traces.difference import difference_document
from results.traces.difference.stored import obstacle
from web.api import openapi
from web.contract import several as contract
from web.contract.parameters import CompareQuery, DiffQuery, RunAddress
from web.contract.series import Queue
from web.http.reader import DB, reading_run, reading_store
from web.views import command_lines, comparison, difference

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


@details.address(
    "/diff",
    says="It is found by stored traces, and no run is made again. Where they do not show it, the "
    "answer is 400, and the message has the command that makes them.",
)
def parted(query: DiffQuery) -> Response:
    """Return where two runs part, as `orchestrator diff --json` has it."""
    with reading_store() as store:
        one, other = difference.of(store, query)
        if wrong := obstacle(one, other):
            raise UsageError(wrong)
        found = difference.found(one, other)
        if found is None:
            command = command_lines.diff(one, other, current_app.config[DB])
            raise UsageError(f"{difference.NOT_STORED}\n  fix: make them: {command}")
        return jsonify(difference_document.document(found))


@details.address("/metrics")
def metrics() -> Response:
    """Return the metrics with their units and definitions."""
    answer = contract.RegisteredMetrics.model_construct(
        schema_=SCHEMA,
        metrics=[
            contract.Metric.model_construct(
                name=metric.name,
                scope=metric.scope,
                unit=metric.unit,
                title=metric.title,
                definition=" ".join(metric.definition.split()),
            )
            for metric in METRICS.values()
        ],
    )
    return jsonify(answer.document())


@details.address("/runs/<run_id>/provenance")
def provenance(path: RunAddress) -> Response:
    """Return where a run comes from: scenario, versions, kernel settings, modules."""
    with reading_run(path.run_id) as (_store, stored):
        row = stored.row
        answer = runs_contract.Provenance.model_construct(
            schema_=SCHEMA,
            run=stored.id,
            description=row.description,
            experiment=row.experiment,
            scenario=row.scenario,
            started_utc=row.started_utc,
            finished_utc=row.finished_utc,
            duration_s=row.duration_s,
            warmup_s=row.warmup_s,
            windows=[
                runs_contract.NamedWindow.model_construct(**vars(window)) for window in row.windows
            ],
            git_commit=row.git_commit,
            unconfined=row.unconfined,
            scenario_text=stored.head.scenario_text,
            scenario_sha256=row.scenario_sha256,
            provenance=dict(stored.provenance),
        )
        return jsonify(answer.document())


@details.address("/runs/<run_id>/logs")
def logs(path: RunAddress) -> Response:
    """Return the console of a run's guest and the log of its test bed."""
    with reading_run(path.run_id) as (_store, stored):
        answer = runs_contract.Said.model_construct(
            schema_=SCHEMA,
            run=stored.id,
            console=stored.artefact("console"),
            log=stored.artefact("log"),
        )
        return jsonify(answer.document())


@details.address("/runs/<run_id>/network")
def network(path: RunAddress) -> Response:
    """Return links, the ways of flows, and qdiscs of a run."""
    with reading_run(path.run_id) as (_store, stored):
        answer = contract.Network.model_construct(
            schema_=SCHEMA,
            run=stored.id,
            links=[_link(link) for link in stored.head.links],
            flows=[
                contract.NetworkFlow.model_construct(
                    name=flow.name,
                    source=flow.source,
                    sink=flow.sink,
                    path=list(flow.path),
                    congestion_fields=list(flow.congestion_fields),
                )
                for flow in stored.flows
            ],
            queues=[Queue.model_construct(**vars(queue)) for queue in stored.queues],
        )
        return jsonify(answer.document())


@details.address("/runs/<run_id>/progress")
def progress(path: RunAddress) -> Response:
    """Return what is known of a run in progress; `/runs/RUN/live` streams the same."""
    with reading_run(path.run_id) as (_store, stored):
        text = live.read(current_app.config[DB], stored.id) if stored.status == "running" else None
        answer = contract.Progress.model_construct(
            schema_=SCHEMA,
            run=stored.id,
            status=stored.status,
            state=None if text is None else json.loads(text),
        )
        return jsonify(answer.document())


def _link(link: LinkSummary) -> contract.NetworkLink:
    return contract.NetworkLink.model_construct(
        name=link.name,
        a=link.a,
        b=link.b,
        forward=contract.Side.model_construct(**vars(link.forward)),
        reverse=contract.Side.model_construct(**vars(link.reverse)),
    )
