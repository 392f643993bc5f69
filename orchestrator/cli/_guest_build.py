"""Building the guest kernel with its progress on a status line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.cli._status import StatusLine

if TYPE_CHECKING:
    from guest.build import GuestKernel
    from guest.recipe import Progress


def shown_on(line: StatusLine) -> Progress:
    """Return what shows a step, and the fraction of it that is done or None, on the line."""

    def progress(step: str, fraction: float | None) -> None:
        line.show(step, "" if fraction is None else f"{fraction:.0%}")

    return progress


def ensure_kernel(line: StatusLine) -> GuestKernel:
    """Return the guest kernel, built first when it is not cached.

    Raises:
        MachineError: it cannot be built here.
    """
    from guest import build

    return build.ensure(shown_on(line))
