"""Estimates of wall time by earlier runs of a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from guest import build
from orchestrator.errors import MachineError
from orchestrator.execution import costing

if TYPE_CHECKING:
    from guest.build import GuestKernel
    from orchestrator.planning.costs.learning import Estimator


def estimator(db: Path, kernel: GuestKernel | None = None) -> Estimator:
    """Return what estimates runs by the earlier ones of a store, or else by constants.

    ``kernel`` is the guest kernel of the runs; by default the one that they would use now.

    Raises:
        StoreError: the store exists and cannot be read.
    """
    guest_kernel = kernel or _kernel()
    return costing.estimator(
        db, None if guest_kernel is None else guest_kernel.manifest.get("linux_sha256")
    )


def _kernel() -> GuestKernel | None:
    """Return the guest kernel that runs would use now; None where there is none."""
    try:
        return build.find()
    except MachineError:
        return None  # a run will say why; the estimate is that of the constants
