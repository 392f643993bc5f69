"""Builds the guest kernel and shows the progress on a status line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from guest import build
from orchestrator.cli.render.status_line import StatusLine

if TYPE_CHECKING:
    from guest.build import GuestKernel
    from guest.build_steps import Progress


def progress_on(line: StatusLine) -> Progress:
    """Return a function that shows a build step, and the fraction done if known, on the line."""

    def progress(step: str, fraction: float | None) -> None:
        line.show(step, "" if fraction is None else f"{fraction:.0%}")

    return progress


def ensure_kernel(line: StatusLine, kernel: str | None = None) -> GuestKernel:
    """Return the guest kernel of that name, or the default; build it first when it is not cached.

    Raises:
        MachineError: it cannot be built here.
    """
    return build.ensure(progress_on(line), kernel)
