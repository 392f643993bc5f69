"""Which trace of a run is meant, and what of it."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.units import listed
from results.store.parts.traces import TraceHead
from results.store.stored import StoredRun


@dataclass(frozen=True)
class TraceChoice:
    """A trace of a run, by default the newest one with what is needed, and a place in it.

    The place is one that saw frames, or a host.
    """

    number: int | None = None
    place: str | None = None


_KINDS = {"frames": "packets", "acks": "acks", "events": "tcp"}
_WORDS = {"frames": "frames", "acks": "states after ACKs", "events": "events of connections"}
"""By table: the kind of trace that has it, and what its rows are called."""


def trace_with(run: StoredRun, number: int | None, table: str) -> TraceHead:
    """Return the trace of that number, or the newest one that has ``frames``, ``acks``, ``events``.

    A trace of ACKs or events has them, too, where nothing happened.

    Raises:
        UsageError: the run has no such trace, or it has none of them.
        StoreError: the traces cannot be read.
    """
    heads, words = run.traces, _WORDS[table]
    fix = f"\n  fix: make one: orchestrator zoom {run.id} --window FROM..TO --trace {_KINDS[table]}"
    if number is not None:
        head = trace_of_number(run, number, fix)
        if not _has(head, table):
            kinds = listed(sorted(head.capture.kinds))
            raise UsageError(
                f"--trace {number}: trace {number} of run {run.id} has no {words}: it is of "
                f"{kinds}{fix}"
            )
        return head
    for head in reversed(heads):
        if _has(head, table):
            return head
    none = f"no trace of run {run.id} has {words}" if heads else f"run {run.id} has no trace"
    raise UsageError(none + fix)


def trace_of_number(run: StoredRun, number: int, fix: str = "") -> TraceHead:
    """Return the trace of that number.

    Raises:
        UsageError: the run has no such trace; ``fix`` is said where it has none at all.
        StoreError: the traces cannot be read.
    """
    heads = run.traces
    for head in heads:
        if head.number == number:
            return head
    numbers = ", ".join(str(head.number) for head in heads)
    there = f"it has {numbers}" if heads else f"it has none{fix}"
    raise UsageError(f"--trace {number}: run {run.id} has no such trace; {there}")


def _has(head: TraceHead, table: str) -> bool:
    asked = table != "frames" and _KINDS[table] in head.capture.kinds
    return asked or bool(head.rows.get(table))
