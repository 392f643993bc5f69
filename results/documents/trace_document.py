"""Traces by the models of the contract."""

from __future__ import annotations

from collections.abc import Sequence

from results.contract import traces as contract
from results.runs.captures import CapturedHost
from results.store.parts.traces import TraceHead


def trace(head: TraceHead, hosts: Sequence[CapturedHost] = ()) -> contract.Trace:
    """Return a trace without its rows; ``hosts`` are its captures, of which a guest has none."""
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
        full_ns=head.full_ns,
        captured_hosts=[_host(host) for host in hosts],
    )


def _host(host: CapturedHost) -> contract.CapturedHost:
    return contract.CapturedHost.model_construct(
        host=host.host,
        from_ns=host.from_ns,
        to_ns=host.to_ns,
        frames=host.seen,
        lost_frames=host.lost,
    )
