"""The JSON API of experiments: their list, one with its grid of runs, and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flask import Response, jsonify, request

from results import overview
from results.documents import SCHEMA, json_ready
from results.experiments import Experiment
from results.notes import Remarks
from web import openapi, studies, view
from web.contract.parameters import ExperimentPlace, ExperimentsQuery, SummaryQuery
from web.reader import reading_store

experiments = openapi.Part("api_experiments", __name__, "Experiments: runs that belong together.")


@experiments.address(
    "/experiments",
    says="Without any parameter, it is the document of `orchestrator experiments --json`. "
    "With one, it is a page, that with the newest run first.",
)
def listed(query: ExperimentsQuery) -> Response:
    """Return the experiments."""
    with reading_store() as store:
        found = studies.every(store)
        remarks = store.remarks() if request.args else {}
    if not request.args:
        return jsonify({"schema": SCHEMA, "experiments": [overview.document(one) for one in found]})
    shown = studies.newest_first(found)[query.first : query.first + query.most]
    return jsonify(
        {
            "schema": SCHEMA,
            "experiments": [_line(one, remarks) for one in shown],
            "first": query.first,
            "total": len(found),
        }
    )


@experiments.address("/experiments/<path:label>")
def experiment(path: ExperimentPlace) -> Response:
    """Return one experiment with its runs by variant and repetition."""
    with reading_store() as store:
        found, others = studies.named(store, path.label)
        line = _line(found, store.remarks())
        metrics = studies.metrics(store, found)
        scenario = studies.scenario_text(store, found)
    return jsonify(
        {
            "schema": SCHEMA,
            **line,
            "grid": _grid(found),
            "metrics": metrics,
            "windows": [window.name for window in found.newest.windows],
            "others": [one.label for one in others],
            "scenario_text": scenario,
        }
    )


@experiments.address("/experiments/<path:label>/summary")
def summary(path: ExperimentPlace, query: SummaryQuery) -> Response:
    """Return means with intervals, differences and crossings, as `orchestrator summary --json`."""
    with reading_store() as store:
        found, _others = studies.named(store, path.label)
        wanted, by = query.wanted(), query.by
        return jsonify(studies.summary(store, found, wanted, by, query.quantile, medians=True))


def _line(found: Experiment, remarks: Mapping[str, Remarks]) -> dict[str, Any]:
    """Return what the list shows of an experiment."""
    line = view.experiment_line(found, remarks, datetime.now(UTC))
    return {
        **overview.document(found),
        "label": line.label,
        "question": line.question,
        "repetitions": line.repetitions,
        "states": dict(line.counts),
        "cells": line.cells,
        "tags": line.tags,
        "notes": line.notes,
    }


def _grid(found: Experiment) -> dict[str, Any]:
    grid = overview.grid(found)
    return {
        "variants": json_ready(grid.variants),
        "repetitions": grid.repetitions,
        "lines": [
            [None if row is None else {"id": row.id, "state": overview.state(row)} for row in line]
            for line in grid.lines
        ],
    }
