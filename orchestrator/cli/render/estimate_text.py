"""Says where estimates of wall time come from."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.planning.costs.learning import Estimate, least_certain


def source(estimates: Iterable[Estimate]) -> str:
    """Return where estimates come from, the least certain of all, to stand after "estimated"."""
    least = least_certain(estimates)
    if least.source == "constants":
        return "from constants"
    what = {
        "machine": "other scenarios here",
        "scenario": "this scenario here",
        "same": "the same variant here",
    }[least.source]
    return f"from {earlier(least.runs)} of {what}"


def brief(estimate: Estimate | None) -> str:
    """Return where an estimate comes from, for a cell of a table."""
    if estimate is None:
        return ""
    runs = estimate.runs
    return {
        "constants": "none",
        "machine": f"{runs} of others",
        "scenario": f"{runs} of the scenario",
        "same": f"{runs} of each variant",
    }[estimate.source]


def earlier(runs: int) -> str:
    """Return a number of earlier runs in words."""
    return f"{runs} earlier {'run' if runs == 1 else 'runs'}"
