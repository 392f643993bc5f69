"""Builds the guest kernel and shows the progress on a status line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from guest.choice import DEFAULT
from orchestrator.backends import kernels
from orchestrator.cli.render.status_line import StatusLine

if TYPE_CHECKING:
    from guest.build import GuestKernel
    from guest.build_steps import Progress
    from guest.choice import KernelChoice


def progress_on(line: StatusLine) -> Progress:
    """Return a function that shows a build step, and the fraction done if known, on the line."""

    def progress(step: str, fraction: float | None) -> None:
        line.show(step, "" if fraction is None else f"{fraction:.0%}")

    return progress


def ensure_kernel(
    line: StatusLine, choice: KernelChoice = DEFAULT, unconfined: bool = False
) -> GuestKernel:
    """Return a guest kernel; build it first when it is not cached, in a sandbox or not.

    Raises:
        MachineError: it cannot be built here.
    """
    return kernels.ensure(progress_on(line), choice, unconfined)
