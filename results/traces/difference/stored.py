"""Finds where two runs part by their stored traces alone; makes no run again."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.recording.trace import Trace
from results.store.parts.traces import TraceHead
from results.store.stored import StoredRun
from results.traces.choice import TraceNeed, can_be_made_again, showing
from results.traces.difference import parting, sides
from results.traces.difference.comparable import NEEDED_TABLES
from results.traces.difference.model import RunDifference
from results.traces.difference.sides import Side
from results.traces.pictures import needs


def obstacle(one: StoredRun, other: StoredRun) -> str:
    """Return why ``orchestrator diff`` cannot compare two runs; empty where nothing is known."""
    for run in (one, other):
        if run.status != "ok" or run.row.digest is None:
            return f"run {run.id} is {run.status}; only runs that are ok can be compared"
    versions = [(run.row.link_model, run.row.digest_version) for run in (one, other)]
    if versions[0] != versions[1]:
        (first, second), (third, fourth) = versions
        return (
            f"run {one.id} has link model {first} and digest version {second}, and run {other.id} "
            f"has link model {third} and digest version {fourth}"
        )
    if sides.have_equal_digests(one, other):
        return ""
    for run in (one, other):
        if not can_be_made_again(run):
            return (
                f"run {run.id} ran with --backend {run.row.backend}, and only runs of guest can "
                "be compared event by event"
            )
    return sides.not_corresponding(one, other)


def by_stored_traces(one: StoredRun, other: StoredRun) -> RunDifference | None:
    """Return where two runs part; None where their stored traces do not show it.

    There is no :func:`obstacle`. Fewer than ten next events are told where the traces end before.

    Raises:
        StoreError: a trace cannot be read.
    """
    both = Side(one), Side(other)
    if sides.have_equal_digests(one, other):
        return sides.with_set_ups(RunDifference((both[0].told(), both[1].told())), one, other)
    wanted_ns, sampled_ns = sides.first_look_until_ns(both)
    first, second = (_from_start(run, wanted_ns) for run in (one, other))
    if first is None or second is None:
        return None
    end_ns = min(side.end_ns for side in both)
    until_ns = min(first.capture.to_ns, second.capture.to_ns, end_ns)
    private = sides.own_variables_of_both(one, other)
    for side, head in zip(both, (first, second), strict=True):
        side.compare_own_variables(private)
        side.trace = head.number
        sides.look(side, sides.part_of(_read(side.run, head), 0, until_ns))
    found = parting.first_parting(both[0].tables, both[1].tables, until_ns)
    if found is None and until_ns < end_ns:
        return None
    before_ns = until_ns if found is None else found.time_ns
    equal = sides.count_equal(both[0], before_ns)
    difference = (
        sides.without_parting(both, equal, sampled_ns)
        if found is None
        else sides.parted(both, found, equal, until_ns)
    )
    return sides.with_set_ups(difference, one, other)


def _from_start(run: StoredRun, until_ns: int) -> TraceHead | None:
    """Return the smallest trace that shows a run from its start until a time, or the longest."""
    need = TraceNeed(tuple(sides.KINDS))
    whole = showing(run.traces, replace(need, window_ns=(0, until_ns)))
    if whole is not None:
        return whole
    there = [head for head in run.traces if not need.lacks(head) and head.full_ns is None]
    from_start = [head for head in there if head.capture.from_ns <= 0]
    return max(from_start, key=lambda head: head.capture.to_ns, default=None)


def _read(run: StoredRun, head: TraceHead) -> Trace:
    return needs.read(run, head, NEEDED_TABLES)
