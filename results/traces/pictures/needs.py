"""Which stored trace of a run shows something, and the command that makes one where none does."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.errors import UsageError
from orchestrator.recording import trace_ranges
from orchestrator.recording.trace import Trace, is_of_link
from orchestrator.suggestions import suggest
from orchestrator.units import listed
from orchestrator.windows import window_text
from results.store.parts.integrity import damaged
from results.store.parts.traces import TraceHead
from results.store.stored import StoredRun
from results.traces.choice import TraceNeed, remedy, showing


def zoom_arguments(run: StoredRun, need: TraceNeed) -> list[str]:
    """Return the arguments of ``orchestrator`` that make a trace which shows what is needed."""
    window = need.window_ns or (0, round(run.duration_s * 1e9))
    kinds = ",".join((*need.kinds, *need.one_of[:1]))
    return ["zoom", run.id, "--window", window_text(*window), "--trace", kinds]


def trace_for(run: StoredRun, need: TraceNeed, number: int | None = None) -> TraceHead:
    """Return the trace of a run that shows what is needed, or that of a number if it does.

    Raises:
        UsageError: there is none; the message has the command that makes one.
        StoreError: the traces cannot be read.
    """
    heads = run.traces
    fix = remedy(run, zoom_arguments(run, need))
    if number is not None:
        chosen = next((head for head in heads if head.number == number), None)
        if chosen is None:
            numbers = listed([str(head.number) for head in heads])
            there = f"it has {numbers}" if heads else "it has none"
            raise UsageError(f"trace: run {run.id} has no trace {number}; {there}{fix}")
        if lack := need.lacks(chosen):
            raise UsageError(f"trace: trace {number} of run {run.id} does not show it: {lack}{fix}")
        return chosen
    found = showing(heads, need)
    if found is None:
        why = "".join(f"\n  trace {head.number}: {need.lacks(head)}" for head in heads[-5:])
        raise UsageError(f"run {run.id} has no stored trace that shows it{why}{fix}")
    return found


def read(run: StoredRun, head: TraceHead, tables: Sequence[str]) -> Trace:
    """Return some tables of a trace, whose values are ones that a trace of the run can have.

    Raises:
        StoreError: they cannot be read, or have other values.
    """
    stored = run.trace(head.number, sorted({*tables, "ends"}))
    trace = Trace(stored.capture, {**Trace(stored.capture).tables, **stored.tables},
                  stored.frame_bytes, stored.full_ns)  # fmt: skip
    wrong = trace_ranges.problem(trace, len(run.flows), 2 * len(run.head.links))
    if wrong:
        raise damaged(run.id, f"trace {head.number}: {wrong}")
    return trace


def channel_of(run: StoredRun, name: str | None) -> str:
    """Return the channel that a link means, such as ``bottleneck:forward``.

    A link without a direction is that in which flows send their data, and no name the first
    bottleneck with data.

    Raises:
        UsageError: there is no such link with a queue.
    """
    crossed = {channel for flow in run.flows for channel in flow.path}
    there = [f"{each.link}:{each.direction}" for each in run.queues if each.role == "queue"]
    busy = [
        f"{each.link}:{each.direction}"
        for each in run.queues
        if each.role == "queue" and each.bottleneck
    ]
    if name is None:
        found = [channel for channel in busy if channel in crossed] or busy or there
        if not found:
            raise UsageError(f"run {run.id} has no link with a queue")
        return found[0]
    if name in there:
        return name
    both = [channel for channel in there if is_of_link(channel, name)]
    found = [channel for channel in both if channel in crossed] or both
    if not found:
        raise UsageError(
            f"link: run {run.id} has no link {name}{suggest(name, there)}; "
            f"there are {', '.join(there[:30])}"
        )
    return found[0]
