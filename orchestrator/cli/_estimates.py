"""Estimates of wall time by earlier runs, for all commands that show one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.errors import MachineError

if TYPE_CHECKING:
    from guest.build import GuestKernel
    from orchestrator.planning.learning import Estimator


def estimator(db: Path, kernel: GuestKernel | None = None) -> Estimator:
    """Return what estimates runs by the earlier ones of a store, or else by constants.

    ``kernel`` is the guest kernel of the runs; by default the one that they would use now.

    Raises:
        StoreError: the store exists and cannot be read.
    """
    from orchestrator.execution import costing

    found = kernel or _kernel()
    return costing.estimator(db, None if found is None else found.manifest.get("linux_sha256"))


def source(estimated_from: Iterable[Mapping[str, Any]]) -> str:
    """Return where estimates come from, the least certain of all, to stand after "estimated"."""
    from orchestrator.planning.learning import Estimate, least_certain

    least = least_certain(Estimate(0.0, each["source"], each["runs"]) for each in estimated_from)
    if least.source == "constants":
        return "from constants"
    what = {
        "machine": "other scenarios here",
        "scenario": "this scenario here",
        "same": "the same variant here",
    }[least.source]
    return f"from {earlier(least.runs)} of {what}"


def brief(estimated_from: Mapping[str, Any] | None) -> str:
    """Return where an estimate comes from, for a cell of a table."""
    if estimated_from is None:
        return ""
    runs = estimated_from["runs"]
    return {
        "constants": "none",
        "machine": f"{runs} of others",
        "scenario": f"{runs} of the scenario",
        "same": f"{runs} of each variant",
    }[estimated_from["source"]]


def earlier(runs: int) -> str:
    """Return a number of earlier runs in words."""
    return f"{runs} earlier {'run' if runs == 1 else 'runs'}"


def _kernel() -> GuestKernel | None:
    """Return the guest kernel that runs would use now; None where there is none."""
    from guest import build

    try:
        return build.find()
    except MachineError:
        return None  # a run will say why; the estimate is that of the constants
