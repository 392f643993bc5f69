"""Checks the values of traces that a stranger's store has, as a test bed's trace is checked."""

from __future__ import annotations

from orchestrator.protocol.units import nanoseconds
from orchestrator.recording import trace_ranges
from results.store.store import Store
from results.store.stored import StoredRun


def require_traces(store: Store, run: StoredRun) -> None:
    """Raise ValueError or StoreError unless each trace of a run is of that run and can be read."""
    heads = store.traces(run.id)
    if heads and run.status != "ok":
        raise ValueError(f"traces: the run is {run.status}; only an ok run has traces")
    channels = 2 * len(run.head.links)
    for head in heads:
        if head.capture.to_ns > nanoseconds(run.duration_s):
            raise ValueError(f"traces: number {head.number} goes on after the end of the run")
        trace = store.trace(run.id, head.number)
        if wrong := trace_ranges.problem(trace, len(run.flows), channels):
            raise ValueError(f"traces: number {head.number}: {wrong}")
