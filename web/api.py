"""The JSON API, below ``/api/``: read only, SI base units in the names, times in simulated seconds.

``/api/experiments``
    The document of ``orchestrator experiments --json``: ``{"experiments": [...]}``.
``/api/runs``
    The document of ``orchestrator runs --json``: ``{"runs": [...]}``, oldest first.
``/api/runs?where=&q=&status=&sort=&first=&most=``
    With any of these: a part of the runs that fit, as the page of runs has them, newest first
    unless ``sort`` says another order. ``where`` may be repeated. ``first`` is the place of the
    first run, from 0. ``most`` is 1 to 1000, by default 100. ``{"runs": [...], "found", "total",
    "first"}`` also has the number of runs that fit, and of all.
``/api/runs/<id>``
    The document of ``orchestrator show --json``. An id may be a unique start of one, or ``last``.
``/api/runs/<id>/tcp?flow=&endpoint=&fields=&from=&to=&points=&bins=``
    Samples of sockets: ``{"run", "from_s", "to_s", "points", "endpoint", "flows": [{"name",
    "samples", "time_s": [...], "fields": {name: [...]}, "summary": {name: {...}}}]}``.
    ``flow`` is a name or index and may be repeated (all flows when left out); ``endpoint`` is
    ``sender`` or ``receiver``; ``fields`` are columns of tcp_info as stored, with commas between.
``/api/runs/<id>/queues?queue=&fields=&from=&to=&points=&bins=``
    Samples of qdiscs, likewise, with ``"queues": [{"name", "link", "direction", "rate_bps",
    "limit_packets", "limit_bytes", ...}]``. Left out, ``queue`` is those of the bottlenecks.
``/api/runs/<id>/goodput?flow=&from=&to=&points=``
    Application bytes at the receiver x 8 / time over bins of equal width: ``{"bin_s", "flows":
    [{"name", "source", "time_s": [middles], "goodput_bps": [...]}]}``. ``source`` is ``sender``
    where no receiver was sampled: acknowledged bytes then stand in for received ones.
``/api/runs/<id>/datagrams?flow=&from=&to=&points=``
``/api/runs/<id>/transfers?flow=&from=&to=``
    See ``web.curves``.

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

from flask import Blueprint, Response, jsonify, request

from results import listing, overview
from results.documents import SCHEMA
from results.experiments import experiments as all_experiments
from results.stored import StoredRun
from web import query, series
from web.reader import reading_run, reading_store

api = Blueprint("api", __name__, url_prefix="/api")

TCP_FIELDS = ("snd_cwnd_segments", "snd_ssthresh_segments", "rtt_us")
QUEUE_FIELDS = ("backlog_packets", "backlog_bytes", "queue_delay_s", "drops")
RANGE = ("from", "to", "points")
BINNED = (*RANGE, "bins")

MOST_RUNS = 1000
"""Runs in one answer."""


@api.get("/experiments")
def experiments() -> Response:
    """Every experiment, as ``orchestrator experiments --json`` has it."""
    query.check_names(request.args, ())
    with reading_store() as store:
        found = [overview.document(one) for one in all_experiments(store)]
    return jsonify({"schema": SCHEMA, "experiments": found})


@api.get("/runs")
def runs() -> Response:
    """Every run, as ``orchestrator runs --json`` has it, or a page of those that fit."""
    query.check_names(request.args, ("where", "q", "status", "sort", "first", "most"))
    with reading_store() as store:
        if not request.args:
            return jsonify(store.listing())
        wanted = query.read_wanted(
            request.args,
            first=query.read_whole(request.args, "first", 0, 0, 10**9 - 1),
            most=query.read_whole(request.args, "most", 100, 1, MOST_RUNS),
        )
        found = listing.page(store, wanted)
    return jsonify(
        {
            "schema": SCHEMA,
            "runs": found.runs,
            "first": wanted.first,
            "found": found.found,
            "total": found.total,
        }
    )


@api.get("/runs/<run_id>")
def run(run_id: str) -> Response:
    """One run, as ``orchestrator show --json`` has it."""
    query.check_names(request.args, ())
    with reading_run(run_id) as (store, found):
        return jsonify(store.document([found.id]))


@api.get("/runs/<run_id>/tcp")
def tcp(run_id: str) -> Response:
    """Samples of flows."""
    query.check_names(request.args, ("flow", "endpoint", "fields", *BINNED))
    endpoint = query.read_choice(request.args, "endpoint", series.ENDPOINTS)
    fields = query.read_fields(request.args, TCP_FIELDS)
    part = query.read_range(request.args)
    with reading_run(run_id) as (_, found):
        flows = [
            {"name": found.flows[flow].name, **series.tcp(found, flow, endpoint, fields, part)}
            for flow in _flows(found)
        ]
        return jsonify({**series.described(found, part), "endpoint": endpoint, "flows": flows})


@api.get("/runs/<run_id>/queues")
def queues(run_id: str) -> Response:
    """Samples of qdiscs."""
    query.check_names(request.args, ("queue", "fields", *BINNED))
    fields = query.read_fields(request.args, QUEUE_FIELDS)
    part = query.read_range(request.args)
    with reading_run(run_id) as (_, found):
        names = [queue.name for queue in found.queues]
        usual = [index for index, queue in enumerate(found.queues) if series.is_studied(queue)]
        chosen = query.read_indices(request.args, "queue", names, usual)
        answer = [
            {**vars(found.queues[index]), **series.queue(found, index, fields, part)}
            for index in chosen
        ]
        return jsonify({**series.described(found, part), "queues": answer})


@api.get("/runs/<run_id>/goodput")
def goodput(run_id: str) -> Response:
    """Goodput of flows over bins."""
    query.check_names(request.args, ("flow", *RANGE))
    part = query.read_range(request.args)
    with reading_run(run_id) as (_, found):
        flows = _flows(found)
        counted = [series.received(found, flow, part) for flow in flows]
        bin_s = series.bin_width_s(found, [one.time_s for one in counted], part)
        answer = [
            {"name": found.flows[flow].name, **series.goodput(counter, bin_s, part)}
            for flow, counter in zip(flows, counted, strict=True)
        ]
        return jsonify({**series.described(found, part), "bin_s": bin_s, "flows": answer})


def _flows(run: StoredRun) -> list[int]:
    names = [flow.name for flow in run.flows]
    return query.read_indices(request.args, "flow", names, range(len(names)))
