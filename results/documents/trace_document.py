"""Traces by the models of the contract."""

from __future__ import annotations

from results.contract import traces as contract
from results.store.parts.traces import TraceHead


def trace(head: TraceHead) -> contract.Trace:
    """Return a trace without its rows."""
    capture = head.capture
    return contract.Trace.model_construct(
        number=head.number,
        traced_utc=head.traced_utc,
        from_ns=capture.from_ns,
        to_ns=capture.to_ns,
        kinds=sorted(capture.kinds),
        limit_bytes=capture.limit_bytes,
        snap_bytes=capture.snap_bytes,
        flows=list(capture.flows),
        links=list(capture.links),
        rows=dict(head.rows),
        stored_bytes=head.stored_bytes,
    )
