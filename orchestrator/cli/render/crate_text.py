"""Says how many runs of a crate are bit-identical when they are made again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.application.crate_runs import CrateComparison


def show(found: CrateComparison) -> str:
    """Return how many runs are bit-identical, with those that are not."""
    lines = [
        f"{run.run}: a DIFFERENT digest from {run.crate_run} of the crate ({run.digest})"
        for run in found.compared
        if not run.same
    ]
    number = f"{found.bit_identical} of {len(found.compared)}"
    return "\n".join([*lines, f"{number} runs are bit-identical to the crate's"])
