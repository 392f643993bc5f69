"""The share of each flow's packets that crosses each channel, in a run that sprays packets."""

from __future__ import annotations

from typing import Any

from orchestrator.planning.runspec import RunSpec
from orchestrator.recording import spraying


def shares_of_packets(spec: RunSpec) -> dict[str, Any]:
    """Return the shares as a part of the run's provenance; nothing where packets have one path."""
    if not spec.network.spray:
        return {}
    shares = {flow.name: spec.network.shares(flow.source, flow.sink) for flow in spec.flows}
    return {
        spraying.PROVENANCE: {
            flow: {hop.name: float(share) for hop, share in of_flow}
            for flow, of_flow in shares.items()
        }
    }
