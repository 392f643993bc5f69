"""The JSON API of experiments: their list, one with its grid of runs, and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flask import Response, jsonify, request

from results.contract.base import SCHEMA, json_ready
from results.experiment import overview
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
        return jsonify(
            {
                "schema": SCHEMA,
                "experiments": [overview.document(entry) for entry in all_experiments],
            }
        )
    shown = studies.newest_first(all_experiments)[query.first : query.first + query.most]
    return jsonify(
        {
            "schema": SCHEMA,
            "experiments": [_line(entry, remarks) for entry in shown],
            "first": query.first,
            "total": len(all_experiments),
        }
    )


@experiments.address("/experiments/<path:label>")
def experiment(path: ExperimentAddress) -> Response:
    """Return one experiment with its runs by variant and repetition."""
    with reading_store() as store:
        named, others = studies.named(store, path.label)
        line = _line(named, store.remarks())
        metrics = studies.metrics(store, named)
        scenario = studies.scenario_text(store, named)
    return jsonify(
        {
            "schema": SCHEMA,
            **line,
            "grid": _grid(named),
            "metrics": metrics,
            "windows": [window.name for window in named.newest.windows],
            "others": [other.label for other in others],
            "scenario_text": scenario,
        }
    )


@experiments.address("/experiments/<path:label>/summary")
def summary(path: ExperimentAddress, query: SummaryQuery) -> Response:
    """Return means with intervals, differences and crossings, as `orchestrator summary --json`."""
    with reading_store() as store:
        named, _others = studies.named(store, path.label)
        selection, by = query.wanted(), query.by
        made = studies.summary(store, named, selection, by, query.quantile, True, query.compare)
        return jsonify(document(made))


def _line(entry: Experiment, remarks: Mapping[str, Remarks]) -> dict[str, Any]:
    """Return what the list shows of an experiment."""
    line = run_view.experiment_line(entry, remarks, datetime.now(UTC))
    return {
        **overview.document(entry),
        "label": line.label,
        "question": line.question,
        "repetitions": line.repetitions,
        "states": dict(line.counts),
        "cells": line.cells,
        "tags": line.tags,
        "notes": line.notes,
    }


def _grid(entry: Experiment) -> dict[str, Any]:
    grid = overview.grid(entry)
    return {
        "variants": json_ready(grid.variants),
        "repetitions": grid.repetitions,
        "lines": [
            [None if row is None else {"id": row.id, "state": overview.state(row)} for row in line]
            for line in grid.lines
        ],
    }
