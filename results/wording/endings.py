"""How a flow ended, as text for people."""

from __future__ import annotations

import errno

from orchestrator.protocol.reports.outcomes import ENDED
from orchestrator.recording.model import FlowRecord


def ended_early(flow: FlowRecord) -> bool:
    """Tell whether a connection of the flow failed."""
    return flow.outcome != ENDED


def ending(flow: FlowRecord) -> str:
    """Return how a flow ended, such as ``timed_out at 945.7 s (ETIMEDOUT)``."""
    words = [flow.outcome]
    if flow.ended_s is not None:
        words.append(f"at {flow.ended_s:.6g} s")
    if flow.errno is not None:
        words.append(f"({errno.errorcode.get(flow.errno, flow.errno)})")
    return " ".join(words)
