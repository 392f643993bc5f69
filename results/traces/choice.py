"""Which trace of a run is meant, and what of it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.errors import UsageError
from orchestrator.recording.trace import is_of_link
from orchestrator.units import listed
from orchestrator.windows import window_text
from results.store.parts.traces import TraceHead
from results.store.stored import StoredRun


@dataclass(frozen=True)
class TraceChoice:
    """A trace of a run, by default the newest one with what is needed, and a place in it.

    The place is one that saw frames, or a host. ``of_run`` is the id that a file names where the
    run was made again in a store that is not kept: that of the stored run, whose digest is equal.
    """

    number: int | None = None
    place: str | None = None
    of_run: str | None = None


Window = tuple[int, int]
"""Begin and end in nanoseconds since the start of traffic."""


@dataclass(frozen=True)
class TraceNeed:
    """What a trace must have: all of ``kinds``, and one of ``one_of`` unless that is empty.

    Without ``window_ns`` any window will do. ``flows`` and ``channels`` must not have been left
    out; without any, none may have been.
    """

    kinds: tuple[str, ...]
    one_of: tuple[str, ...] = ()
    window_ns: Window | None = None
    flows: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()

    def lacks(self, head: TraceHead) -> str:
        """Return what a trace does not have of this, in words; empty if it has all."""
        capture = head.capture
        missing = [kind for kind in self.kinds if kind not in capture.kinds]
        if self.one_of and not capture.kinds.intersection(self.one_of):
            missing.append(" or ".join(self.one_of))
        if missing:
            return f"it has no {' and no '.join(missing)}"
        begin_ns, end_ns = window_of(head)
        if self.window_ns and not begin_ns <= self.window_ns[0] < self.window_ns[1] <= end_ns:
            return f"it is of {window_text(begin_ns, end_ns)}"
        if capture.flows and not (self.flows and set(self.flows) <= set(capture.flows)):
            return f"it has only the flows {listed(capture.flows)}"
        kept = [
            any(is_of_link(channel, link) for link in capture.links) for channel in self.channels
        ]
        if capture.links and not (kept and all(kept)):
            return f"it has only the links {listed(capture.links)}"
        return ""


def window_of(head: TraceHead) -> Window:
    """Return the part of the run that a trace knows."""
    capture = head.capture
    end_ns = capture.to_ns if head.full_ns is None else min(capture.to_ns, head.full_ns)
    return capture.from_ns, end_ns


def showing(heads: Sequence[TraceHead], need: TraceNeed) -> TraceHead | None:
    """Return the smallest of a run's traces that shows what is needed; None if none does.

    Without a window it is the newest one.
    """
    found = [head for head in heads if not need.lacks(head)]
    if need.window_ns is None:
        return found[-1] if found else None
    return min(found, key=lambda head: head.stored_bytes, default=None)


_MADE_AGAIN = "guest"
"""The back end whose runs can be made again with a trace."""


def can_be_made_again(run: StoredRun) -> bool:
    """Tell whether a run can be made again with a trace, as far as its back end decides."""
    return run.row.backend == _MADE_AGAIN


def remedy(run: StoredRun, arguments: Sequence[str]) -> str:
    """Return a line that says how a run gets a trace, if it can get one.

    ``arguments`` are those of ``orchestrator`` that make it.
    """
    if not can_be_made_again(run):
        return f"\n  it ran with --backend {run.row.backend}: no trace of it can be made later"
    return f"\n  fix: make one: {shlex.join(['orchestrator', *arguments])}"


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
    fix = remedy(run, ["zoom", run.id, "--window", "FROM..TO", "--trace", _KINDS[table]])
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
