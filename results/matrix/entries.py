"""Names the flow entry of the scenario that a stored flow was expanded from.

``expand()`` of ``orchestrator.planning.flows.expansion`` calls the flows of an entry ``entry``, or
``entry[0]``, ``entry[1]`` ... where there are several. Traffic that runs a flow for each of its
parts (``campaign``) puts the part's name behind: ``entry-cubic``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_DEFAULT_TRAFFIC = "bulk"


def entry_of(flow: str, traffic: str, resolved: Mapping[str, Any]) -> str:
    """Return the name of the entry of a flow with that name and kind of traffic.

    ``resolved`` is the run's scenario, as ``RunHead`` has it.
    """
    base = flow.partition("[")[0]  # names of entries have no brackets
    names = [name for name, kind in _entries(resolved) if kind == traffic]
    if base in names:
        return base
    parted = [name for name in names if base.startswith(f"{name}-")]
    return max(parted, key=len, default=base)


def _entries(resolved: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return name and kind of traffic of each entry."""
    return [
        (entry["name"], entry.get("traffic", {}).get("kind", _DEFAULT_TRAFFIC))
        for entry in resolved.get("flows", [])
    ]
