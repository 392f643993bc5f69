"""Packets that a kernel dropped outside of links: by a policer, in a host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from results.traces.moments import Moment, until
from results.traces.view import TraceView
from results.wording.quantities import plural

_REASONS = {
    "TC_INGRESS": ("policer", "a policer dropped {what}"),
    "TCP_RFC7323_PAWS": ("PAWS drop", "{what} had an old time stamp and was dropped (PAWS)"),
    "TCP_OLD_DATA": ("needless retransmission", "{what} had arrived before"),
    "TCP_OLD_SEQUENCE": ("needless retransmission", "{what} had arrived before"),
    "SOCKET_RCVBUFF": ("receive buffer", "{what} found the receive buffer full"),
}
"""Names of the kernel's reasons (include/net/dropreason-core.h)."""
_AT_ITS_HOST = ("TCP_", "SOCKET_", "NO_SOCKET")
_COUNTED = {"TCP_RFC7323_PAWS"}
"""Told of by counters already."""


def moments(view: TraceView, flow: int) -> Iterator[Moment]:
    """Yield each group of drops with one reason and direction, less than a base RTT apart."""
    drops = view.drops(flow)
    gap_ns = view.base_rtt_ns(flow)
    for reason in np.unique(drops["name"]).tolist():
        name = reason.decode("ascii", "replace")
        if name in _COUNTED:
            continue
        for to_sink in (1, 0):
            rows = drops[(drops["name"] == reason) & (drops["to_sink"] == to_sink)]
            if not len(rows):
                continue
            ends = view.run.flows[flow]
            kind, text = _REASONS.get(
                name, ("kernel drop", _unnamed(name, ends.sink if to_sink else ends.source))
            )
            for group in np.split(rows, np.flatnonzero(np.diff(rows["time_ns"]) > gap_ns) + 1):
                what = f"{plural(len(group), 'packet')} of {view.flows[flow]}"
                first_ns, last_ns = int(group["time_ns"][0]), int(group["time_ns"][-1])
                said = text.replace("{what}", what) + until(first_ns, last_ns, gap_ns)
                yield Moment(
                    first_ns, flow, kind, said,
                    last_ns if len(group) > 1 else None,
                    {"reason": name, "packets": len(group)}, {"drops": len(group)},
                )  # fmt: skip


def _unnamed(reason: str, host: str) -> str:
    """Return the sentence of a reason without one of its own; the packets went to a host."""
    # TCP and sockets drop what has come to its host. Others may drop on the way there.
    at = f"at {host}" if reason.startswith(_AT_ITS_HOST) else f"on the way to {host}"
    return f"the kernel dropped {{what}} {at} (the kernel's drop reason is {reason})"
