"""Gives guest kernels to back ends and commands: builds are confined unless the user says not."""

from __future__ import annotations

from guest import build, build_steps, selftests
from guest.build import GuestKernel
from guest.build_steps import Progress
from guest.choice import DEFAULT, KernelChoice
from guest.confinement import unconfined
from guest.selftests import Selftests
from orchestrator.sandbox.kernel_builds import confined


def ensure(
    progress: Progress = build_steps.silent,
    choice: KernelChoice = DEFAULT,
    is_unconfined: bool = False,
) -> GuestKernel:
    """Return a kernel; build it, in a sandbox unless ``is_unconfined``, when it is not cached.

    Raises:
        MachineError: it cannot be built here.
    """
    return build.ensure(unconfined if is_unconfined else confined, progress, choice)


def ensure_selftests(
    kernel: GuestKernel, choice: KernelChoice, progress: Progress = build_steps.silent
) -> Selftests:
    """Return the selftests of a kernel's tree; compile them in a sandbox when they are not cached.

    Raises:
        MachineError: they cannot be compiled here.
    """
    return selftests.ensure(kernel, choice, confined, progress)
