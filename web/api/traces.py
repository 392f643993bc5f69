"""The JSON API of stored traces: what happened to flows, what pictures show, and their rows.

``from`` and ``to`` are seconds; without them it is all that the trace has. Steps and spans of more
than ``points`` are thinned, so that none is more than the range over ``points`` away. A trace that
does not have what is asked for is answered with 400, and the command that makes one which has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from flask import Response, abort, current_app, jsonify

from orchestrator.errors import UsageError
from orchestrator.windows import window_text
from results.contract.base import SCHEMA
from results.documents import trace_document
from results.runs.captures import captured_hosts
from results.store.parts.traces import TraceHead
from results.store.stored import StoredRun
from results.traces.choice import TraceNeed, can_be_made_again, window_of
from results.traces.columns import TABLE_NAMES, Columns, columns
from results.traces.pictures import needs, thinning
from results.traces.pictures.needs import channel_of
from results.traces.pictures.occupancy import QueuePoints
from results.traces.pictures.time_sequence import Spans, TimeSequence
from results.traces.pictures.windows import AckStates
from results.traces.stories.costs import CostlyEvent
from web.api import openapi
from web.charts import bins
from web.contract import traces as contract
from web.contract.parameters import (
    FlowsQuery,
    MomentsQuery,
    RunAddress,
    SequenceQuery,
    TraceAddress,
    TracedQueueQuery,
    TraceRowsQuery,
    TraceTableAddress,
)
from web.http.query import TimeRange, indices_of
from web.http.reader import DB, reading_run
from web.views import command_lines, traced

traces = openapi.ApiBlueprint(
    "api_traces", __name__, "Stored traces of runs: what happened, packet by packet."
)

MOST_FLOWS = 8
"""Flows of a queue in one answer; more colours cannot be told apart."""


_NONE = np.empty(0)
_NO_BYTES = Spans(_NONE, _NONE, _NONE)
NO_ACKS = TimeSequence(
    (0, 0), 0, _NO_BYTES, _NO_BYTES, _NO_BYTES, _NONE, _NONE, _NONE,
    has_segments=False, has_sacks=False,
)  # fmt: skip
"""Of a flow whose sender got no ACK in a trace."""


@traces.address("/runs/<run_id>/traces")
def listed(path: RunAddress) -> Response:
    """Return the stored traces of a run."""
    with reading_run(path.run_id) as (_store, stored):
        answer = contract.Traces.model_construct(
            schema_=SCHEMA,
            run=stored.id,
            traces=[
                trace_document.trace(head, captured_hosts(stored, head)) for head in stored.traces
            ],
        )
        return jsonify(answer.document())


@traces.address(
    "/runs/<run_id>/moments",
    says="It is what `orchestrator explain` finds in the traces that are stored. None is made.",
)
def moments(path: RunAddress, query: MomentsQuery) -> Response:
    """Return what happened to flows, by stored traces."""
    part = query.part()
    with reading_run(path.run_id) as (_store, stored):
        names = [flow.name for flow in stored.flows]
        flows = set(indices_of("flow", query.flow, names, range(len(names))))
        told = traced.happened(stored, query.trace)
        inside = [each for each in told.moments if _is_in(part, each)]
        of_flows = [each for each in inside if each.moment.flow in flows]
        fitting = [each for each in of_flows if not query.kind or each.moment.kind in query.kind]
        of_kinds = [each for each in inside if not query.kind or each.moment.kind in query.kind]
        answer = contract.Moments.model_construct(
            schema_=SCHEMA,
            run=stored.id,
            traces=list(told.traces),
            windows=[(begin / 1e9, end / 1e9) for begin, end in told.windows],
            command=_command(stored, made=bool(told.traces)),
            kinds=dict(Counter(each.moment.kind for each in of_flows)),
            flows=dict(Counter(names[each.moment.flow] for each in of_kinds)),
            first=query.first,
            found=len(fitting),
            moments=[
                _moment(each, names) for each in fitting[query.first : query.first + query.most]
            ],
        )
        return jsonify(answer.document())


@traces.address(
    "/runs/<run_id>/stories",
    says="It is what `orchestrator explain` says of a whole run, by a stored trace of it.",
)
def stories(path: RunAddress) -> Response:
    """Return what limited the time of each flow, and what cost it most."""
    with reading_run(path.run_id) as (_store, stored):
        head = traced.of_whole_run(stored, stored.traces)
        told = [] if head is None else traced.stories(stored, head)
        answer = contract.Stories.model_construct(
            schema_=SCHEMA,
            run=stored.id,
            trace=None if head is None else head.number,
            command=_command(stored, made=head is not None),
            flows=[
                contract.FlowStory.model_construct(
                    flow=flow.name,
                    limited_by=None if story.limits is None else story.limits.shares,
                    limits_shown_by=None if story.limits is None else story.limits.shown_by,
                    paced_share=None if story.limits is None else story.limits.paced_share,
                    costliest=[_costly(event, kinds) for event, kinds in story.costliest],
                )
                for flow, story in zip(stored.flows, told, strict=False)
            ],
        )
        return jsonify(answer.document())


def _costly(event: CostlyEvent, kinds: Sequence[str]) -> contract.CostlyMoments:
    return contract.CostlyMoments.model_construct(
        time_s=event.time_ns / 1e9,
        until_s=event.until_ns / 1e9,
        is_back=event.is_back,
        cost_bytes=event.cost_bytes,
        level_bps=event.level_bps,
        kinds=list(kinds),
        events=event.events,
    )


def _is_in(part: TimeRange, each: traced.ToldMoment) -> bool:
    begin, end = each.moment.time_ns / 1e9, (each.moment.until_ns or each.moment.time_ns) / 1e9
    return (part.to_s is None or begin <= part.to_s) and (part.from_s is None or end >= part.from_s)


def _command(run: StoredRun, *, made: bool) -> str | None:
    """Return the command that tells of a run; None if it has no such trace and cannot get one."""
    if not made and not can_be_made_again(run):
        return None
    return command_lines.explain(run, current_app.config[DB])


def _moment(each: traced.ToldMoment, names: Sequence[str]) -> contract.TracedMoment:
    moment = each.moment
    return contract.TracedMoment.model_construct(
        time_s=moment.time_ns / 1e9,
        until_s=None if moment.until_ns is None else moment.until_ns / 1e9,
        flow=names[moment.flow],
        kind=moment.kind,
        text=moment.text,
        numbers=dict(moment.numbers),
        evidence=dict(moment.evidence),
        trace=each.trace,
    )


@traces.address("/runs/<run_id>/traces/<int:number>/sequence")
def sequence(path: TraceAddress, query: SequenceQuery) -> Response:
    """Return a flow's segments, blocks of SACK and ACKs at its sender."""
    with reading_run(path.run_id) as (_store, stored):
        names = [flow.name for flow in stored.flows]
        tcp = [at for at, flow in enumerate(stored.flows) if flow.transport == "tcp"]
        wanted = indices_of("flow", [query.flow] if query.flow else [], names, tcp[:1])
        head = _head(stored, path.number, TraceNeed(("acks",)))
        if not wanted:
            raise UsageError(f"flow: run {stored.id} has no flow of TCP")
        made = traced.sequence(stored, head, wanted[0]) or NO_ACKS
        from_s, to_s = _range(query.wanted(), head)
        chosen = thinning.steps(made.time_s, [made.acked, made.edge], from_s, to_s, query.points)
        answer = contract.TimeSequence.model_construct(
            None,
            **_part(stored, head, from_s, to_s),
            flow=names[wanted[0]],
            connections=made.connections,
            has_segments=made.has_segments,
            has_sacks=made.has_sacks,
            new=_bytes(made.new, from_s, to_s, query.points),
            again=_bytes(made.again, from_s, to_s, query.points),
            sacks=_bytes(made.sacks, from_s, to_s, query.points),
            samples=_inside(made.time_s, from_s, to_s),
            time_s=made.time_s[chosen].tolist(),
            acked=made.acked[chosen].tolist(),
            edge=made.edge[chosen].tolist(),
        )
        return jsonify(answer.document())


def _bytes(spans: Spans, from_s: float, to_s: float, points: int) -> contract.Bytes:
    thin = thinning.merged(spans, from_s, to_s, points)
    return contract.Bytes.model_construct(
        found=_inside(spans.time_s, from_s, to_s),
        time_s=thin.time_s.tolist(),
        first=thin.first.tolist(),
        end=thin.end.tolist(),
    )


@traces.address("/runs/<run_id>/traces/<int:number>/queue")
def queue(path: TraceAddress, query: TracedQueueQuery) -> Response:
    """Return a queue packet by packet: who waits, what is dropped and marked."""
    with reading_run(path.run_id) as (_store, stored):
        channel = channel_of(stored, query.link or None)
        head = _head(stored, path.number, TraceNeed(("queue",), channels=(channel,)))
        made = traced.queue(stored, head, channel)
        from_s, to_s = _range(query.wanted(), head)
        names = [flow.name for flow in stored.flows]
        most = sorted(
            (flow for flow in made.by_flow if flow >= 0), key=lambda flow: -made.by_flow[flow].sum()
        )[:MOST_FLOWS]
        total = made.packets.astype(np.float64)
        each = {flow: made.by_flow[flow].astype(np.float64) for flow in sorted(most)}
        chosen = thinning.steps(made.time_s, [total, *each.values()], from_s, to_s, query.points)
        limits = [
            one.limit_packets
            for one in stored.queues
            if one.role == "queue" and f"{one.link}:{one.direction}" == channel
        ]
        answer = contract.TracedQueue.model_construct(
            None,
            **_part(stored, head, from_s, to_s),
            channel=channel,
            limit_packets=limits[0] if limits else None,
            samples=_inside(made.time_s, from_s, to_s),
            time_s=made.time_s[chosen].tolist(),
            packets=total[chosen].tolist(),
            flows=[
                contract.PacketsOfFlow.model_construct(
                    name=names[flow], packets=packets[chosen].tolist()
                )
                for flow, packets in each.items()
            ],
            lost=_points(made.lost, names, from_s, to_s, query.points),
            marks=_points(made.marks, names, from_s, to_s, query.points),
        )
        return jsonify(answer.document())


def _points(
    points: QueuePoints, names: Sequence[str], from_s: float, to_s: float, most: int
) -> contract.Points:
    """Return the points of a range, at most one of each flow in each of so many bins."""
    inside = np.flatnonzero((points.time_s >= from_s) & (points.time_s <= to_s))
    bins = np.floor((points.time_s[inside] - from_s) / (to_s - from_s) * most)
    keys = np.stack([bins, points.flow[inside].astype(np.float64)])
    _unique, first = np.unique(keys, axis=1, return_index=True)
    chosen = inside[np.sort(first)]
    flows = points.flow[chosen].tolist()
    return contract.Points.model_construct(
        found=len(inside),
        time_s=points.time_s[chosen].tolist(),
        flow=[names[flow] if flow >= 0 else None for flow in flows],
        packets=points.packets[chosen].astype(np.float64).tolist(),
    )


@traces.address("/runs/<run_id>/traces/<int:number>/acks")
def acks(path: TraceAddress, query: FlowsQuery) -> Response:
    """Return cwnd, ssthresh, RTT and what is in flight after each ACK."""
    with reading_run(path.run_id) as (_store, stored):
        names = [flow.name for flow in stored.flows]
        chosen = indices_of("flow", query.flow, names, range(len(names)))
        head = _head(stored, path.number, TraceNeed(("acks",)))
        from_s, to_s = _range(query.wanted(), head)
        states = traced.states(stored, head)
        answer = contract.AckStates.model_construct(
            None,
            **_part(stored, head, from_s, to_s),
            flows=[
                _states_of(names[flow], states[flow], from_s, to_s, query.points)
                for flow in chosen
                if states[flow]
            ],
        )
        return jsonify(answer.document())


def _states_of(
    name: str, states: Sequence[AckStates], from_s: float, to_s: float, points: int
) -> contract.AckStatesOfFlow:
    """Return the states of the connection with most ACKs."""
    one = max(states, key=lambda each: len(each.time_s))
    cwnd_and_flight = [one.cwnd, one.in_flight]
    chosen = thinning.steps(one.time_s, cwnd_and_flight, from_s, to_s, points)
    return contract.AckStatesOfFlow.model_construct(
        name=name,
        connections=len(states),
        samples=_inside(one.time_s, from_s, to_s),
        time_s=one.time_s[chosen].tolist(),
        cwnd_segments=one.cwnd[chosen].tolist(),
        ssthresh_segments=bins.listed(one.ssthresh[chosen]),
        srtt_s=bins.listed(one.srtt_s[chosen]),
        in_flight_segments=one.in_flight[chosen].tolist(),
    )


@traces.address("/runs/<run_id>/traces/<int:number>/tables/<table>")
def rows(path: TraceTableAddress, query: TraceRowsQuery) -> Response:
    """Return rows of a table of a trace."""
    if path.table not in TABLE_NAMES:
        abort(404, f"a trace has no table {path.table}; the tables are {', '.join(TABLE_NAMES)}")
    with reading_run(path.run_id) as (_store, stored):
        head = _head(stored, path.number, TraceNeed(()))
        trace = needs.read(stored, head, (path.table,))
        made = columns(stored, trace, path.table)
        part = slice(query.first, query.first + query.most)
        answer = contract.TraceRows.model_construct(
            schema_=SCHEMA,
            run=stored.id,
            trace=head.number,
            table=path.table,
            first=query.first,
            total=len(trace.tables[path.table]),
            columns=_written(made, part),
        )
        return jsonify(answer.document())


def _written(made: Columns, part: slice) -> dict[str, list[Any]]:
    """Return a part of columns for JSON; bytes of no type are hexadecimal, no value is None."""
    written: dict[str, list[Any]] = {}
    for name, column in made.items():
        if column.dtype.kind == "V":
            written[name] = [bytes(value).hex() for value in column[part]]
        elif column.dtype.kind == "f":
            written[name] = bins.listed(column[part])
        else:
            written[name] = column[part].tolist()
    return written


def _head(run: StoredRun, number: int, need: TraceNeed) -> TraceHead:
    """Return the trace of that number; 404 without it, UsageError if it lacks what is needed.

    A trace of some flows or links only has what it has of them, unless all are needed.
    """
    head = next((head for head in run.traces if head.number == number), None)
    if head is None:
        numbers = ", ".join(str(head.number) for head in run.traces) or "none"
        abort(404, f"run {run.id} has no trace {number}; it has {numbers}")
    if "queue" not in need.kinds:
        need = TraceNeed(need.kinds, flows=head.capture.flows, channels=head.capture.links)
    return needs.trace_for(run, need, number)


def _range(part: TimeRange, head: TraceHead) -> tuple[float, float]:
    """Return the part of a trace that is asked for, in seconds."""
    begin_ns, end_ns = window_of(head)
    from_s = max(begin_ns / 1e9, begin_ns / 1e9 if part.from_s is None else part.from_s)
    to_s = min(end_ns / 1e9, end_ns / 1e9 if part.to_s is None else part.to_s)
    if from_s >= to_s:
        window = window_text(begin_ns, end_ns)
        raise UsageError(f"from, to: trace {head.number} is of {window}")
    return from_s, to_s


def _part(run: StoredRun, head: TraceHead, from_s: float, to_s: float) -> dict[str, Any]:
    return {"run": run.id, "trace": head.number, "from_s": from_s, "to_s": to_s}


def _inside(time_s: bins.Floats, from_s: float, to_s: float) -> int:
    return int(np.sum((time_s >= from_s) & (time_s <= to_s)))
