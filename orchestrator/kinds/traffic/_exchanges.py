"""What requests and responses have in common."""

from __future__ import annotations

from typing import Any

from orchestrator.kinds.distributions import Counts, Durations, Sizes, fixed


def exchanges(
    request: Sizes, response: Sizes, think: Durations | None, objects: Counts | None = None
) -> dict[str, Any]:
    """Return the parameters of the engine ``exchanges`` but for connections and their pages."""
    return {
        "request": request.document(1),
        "response": response.document(1),
        "objects": fixed(1) if objects is None else objects.document(1),
        "think": None if think is None else think.document(1e9),
        "gap": None,
    }
