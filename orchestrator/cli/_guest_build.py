"""Building the guest kernel with its progress on a status line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.cli._status import StatusLine

if TYPE_CHECKING:
    from guest.build import GuestKernel


def ensure_kernel(line: StatusLine) -> GuestKernel:
    """Return the guest kernel, built first when it is not cached.

    Raises:
        MachineError: it cannot be built here.
    """
    from guest import build

    def progress(step: str, fraction: float | None) -> None:
        line.show(step, "" if fraction is None else f"{fraction:.0%}")

    return build.ensure(progress)
