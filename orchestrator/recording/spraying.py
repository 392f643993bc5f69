"""Which share of a flow's packets crosses each channel, of a run whose packets are sprayed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PROVENANCE = "spraying"
"""The key of a run's provenance that has the shares; a run that sprays no packets has none."""

Shares = Mapping[str, Mapping[str, float]]
"""Shares by the names of flows and of channels."""


def of_provenance(provenance: Mapping[str, Any]) -> Shares:
    """Return the shares of a run; none of one that sprays no packets.

    Raises:
        ValueError: they have another form.
    """
    flows = provenance.get(PROVENANCE, {})
    _require(isinstance(flows, Mapping), "it is no mapping")
    for shares in flows.values():
        _require(isinstance(shares, Mapping), "a flow has no mapping of channels")
        for share in shares.values():
            _require(type(share) is float and 0 < share <= 1, "a share is not above 0, up to 1")
    return {flow: dict(shares) for flow, shares in flows.items()}


def share_of(shares: Shares, flow: str, channel: str) -> float:
    """Return the share of a flow's packets that a channel of its path carries."""
    return shares.get(flow, {}).get(channel, 1.0)


def _require(fine: bool, problem: str) -> None:
    if not fine:
        raise ValueError(f"spraying: {problem}")
