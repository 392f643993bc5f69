"""The JSON API, below ``/api/``: read only, SI base units in the names, times in simulated seconds.

``/api/openapi.json`` is its document: every address with its parameters, limits and answers. The
models of ``results.contract`` and ``web.contract`` are its source. This module has runs and the
samples of one. ``web.api.curves`` has UDP flows and transfers, ``web.api.details`` what else a
run's page shows, ``web.api.experiments`` experiments, and ``web.api.papers`` claims.

``from`` and ``to`` are seconds. The samples just outside are included, too, so that lines reach the
edges. More than ``points`` samples are reduced to the extremes of buckets, at most ``points`` of
each field. ``samples`` and ``summary`` (min, mean, max, last) are over all samples in the range.

With ``bins`` (10 to 2000), a series with at least three samples a bin has ``bin_s``, and ``time_s``
has the middles of the bins. ``low``, ``fields`` and ``high`` are the smallest value of each bin,
the mean and the largest one.

Null means infinite or unknown.

Errors are ``{"error": {"status", "title", "message"}}``: 400 for a parameter, with what is
valid; 404 for a run; 503 when the store cannot be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from flask import Response, jsonify, request

from results.contract.base import SCHEMA
from results.contract.runs import Count, Runs
from results.documents.run_document import document, list_document, listed
from results.runs import listing, page, result
from results.store.stored import StoredRun
from web.api import openapi
from web.charts import series
from web.contract import series as contract
from web.contract.parameters import FlowsQuery, QueuesQuery, RunAddress, RunsQuery, TcpQuery
from web.http.query import indices_of
from web.http.reader import reading_run, reading_store

api = openapi.ApiBlueprint("api", __name__, "Runs, and samples of one over time.")


@api.address(
    "/runs",
    says="Without any parameter, it is the document of `orchestrator runs --json`, oldest "
    "first. With one, it is a page of those that fit, as the page of runs has them.",
)
def runs(query: RunsQuery) -> Response:
    """Return the runs."""
    with reading_store() as store:
        if not request.args:
            return jsonify(list_document(listing.read(store)))
        wanted = query.wanted()
        listing_page = page.page(store, wanted)
    answer = Runs.model_construct(
        schema_=SCHEMA,
        runs=[listed(row) for row in listing_page.runs],
        first=wanted.first,
        found=listing_page.found,
        total=listing_page.total,
    )
    if wanted.facets:
        answer.counts = {
            name: [Count.model_construct(**asdict(count)) for count in counts]
            for name, counts in listing_page.facets.items()
        }
    return jsonify(answer.document())


@api.address("/runs/<run_id>")
def run(path: RunAddress) -> Response:
    """Return one run, as `orchestrator show --json` has it."""
    with reading_run(path.run_id) as (_store, stored):
        return jsonify(document([result.of_run(stored)]))


@api.address("/runs/<run_id>/tcp")
def tcp(path: RunAddress, query: TcpQuery) -> Response:
    """Return samples of sockets."""
    part, fields = query.wanted(), query.fields
    with reading_run(path.run_id) as (_, stored):
        flows = [
            contract.FlowSamples.model_construct(
                None,
                name=stored.flows[flow].name,
                **series.tcp(stored, flow, query.endpoint, fields, part).columns(),
            )
            for flow in _flows(stored, query.flow)
        ]
        answer = contract.Tcp.model_construct(
            None,
            **series.described(stored, part),
            endpoint="receiver" if query.endpoint == "receiver" else "sender",
            flows=flows,
        )
        return jsonify(answer.document())


@api.address("/runs/<run_id>/queues")
def queues(path: RunAddress, query: QueuesQuery) -> Response:
    """Return samples of qdiscs."""
    part, fields = query.wanted(), query.fields
    with reading_run(path.run_id) as (_, stored):
        names = [queue.name for queue in stored.queues]
        usual = [index for index, queue in enumerate(stored.queues) if series.is_studied(queue)]
        chosen = indices_of("queue", query.queue, names, usual)
        found = [
            contract.QueueSamples.model_construct(
                None,
                **vars(stored.queues[index]),
                **series.queue(stored, index, fields, part).columns(),
            )
            for index in chosen
        ]
        answer = contract.Queues.model_construct(
            None, **series.described(stored, part), queues=found
        )
        return jsonify(answer.document())


@api.address("/runs/<run_id>/goodput")
def goodput(path: RunAddress, query: FlowsQuery) -> Response:
    """Return goodput of flows over bins: application bytes at the receiver x 8 / time."""
    part = query.wanted()
    with reading_run(path.run_id) as (_, stored):
        flows = _flows(stored, query.flow)
        counted = [series.received(stored, flow, part) for flow in flows]
        bin_s = series.bin_width_s(stored, [one.time_s for one in counted], part)
        found = [
            contract.GoodputOfFlow.model_construct(
                None, name=stored.flows[flow].name, **vars(series.goodput(counter, bin_s, part))
            )
            for flow, counter in zip(flows, counted, strict=True)
        ]
        head = series.described(stored, part)
        answer = contract.Goodput.model_construct(None, **head, bin_s=bin_s, flows=found)
        return jsonify(answer.document())


def _flows(run: StoredRun, wanted: Sequence[str]) -> list[int]:
    names = [flow.name for flow in run.flows]
    return indices_of("flow", wanted, names, range(len(names)))
