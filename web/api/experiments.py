"""The JSON API of experiments: their list, one with its grid of runs, and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flask import Response, jsonify, request

from results.contract import experiments as contract
from results.contract.base import SCHEMA
from results.documents import experiment_document
from results.experiment.experiments import Experiment
from results.experiment.summary_document import document
from results.store.parts.notes import Remarks
from web.api import openapi
from web.contract.parameters import ExperimentAddress, ExperimentsQuery, SummaryQuery
from web.http.reader import reading_store
from web.views import run_view, studies

experiments = openapi.ApiBlueprint(
    "api_experiments", __name__, "Experiments: runs that belong together."
)


@experiments.address(
    "/experiments",
    says="Without any parameter, it is the document of `orchestrator experiments --json`. "
    "With one, it is a page, that with the newest run first.",
)
def listed(query: ExperimentsQuery) -> Response:
    """Return the experiments."""
    with reading_store() as store:
        all_experiments = studies.every(store)
        remarks = store.remarks() if request.args else {}
    if not request.args:
        return jsonify(experiment_document.list_document(all_experiments))
    shown = studies.newest_first(all_experiments)[query.first : query.first + query.most]
    page = contract.Experiments.model_construct(
        schema_=SCHEMA,
        experiments=[
            contract.Experiment.model_construct(None, **_fields(entry, remarks)) for entry in shown
        ],
        first=query.first,
        total=len(all_experiments),
    )
    return jsonify(page.document())


@experiments.address("/experiments/<path:label>")
def experiment(path: ExperimentAddress) -> Response:
    """Return one experiment with its runs by variant and repetition."""
    with reading_store() as store:
        named, others = studies.named(store, path.label)
        answer = contract.OneExperiment.model_construct(
            schema_=SCHEMA,
            **_fields(named, store.remarks()),
            grid=experiment_document.grid(named),
            metrics=studies.metrics(store, named),
            windows=[window.name for window in named.newest.windows],
            others=[other.label for other in others],
            scenario_text=studies.scenario_text(store, named),
        )
    return jsonify(answer.document())


@experiments.address("/experiments/<path:label>/summary")
def summary(path: ExperimentAddress, query: SummaryQuery) -> Response:
    """Return means with intervals, differences and crossings, as `orchestrator summary --json`."""
    with reading_store() as store:
        named, _others = studies.named(store, path.label)
        selection, by = query.wanted(), query.by
        made = studies.summary(store, named, selection, by, query.quantile, True, query.compare)
        return jsonify(document(made))


def _fields(entry: Experiment, remarks: Mapping[str, Remarks]) -> dict[str, Any]:
    """Return the values of an experiment that pages show beside those of the command line."""
    line = run_view.experiment_line(entry, remarks, datetime.now(UTC))
    return {
        **experiment_document.fields(entry),
        "label": line.label,
        "question": line.question,
        "repetitions": line.repetitions,
        "states": dict(line.counts),
        "cells": line.cells,
        "tags": line.tags,
        "notes": line.notes,
    }
