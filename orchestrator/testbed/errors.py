"""Errors of all parts of a test bed; without Mininet, which lab hosts need not have."""

from __future__ import annotations


class BuildError(Exception):
    """The kernel did not take a setting, or has another value than the one that was set."""


class BootError(Exception):
    """A guest boots in a way in which it cannot do a run."""


def write_failure(output: str, error: BaseException) -> None:
    """Write the reason of a failed run to ``output/failure`` in one line.

    The traceback is in the log.
    """
    with open(f"{output}/failure", "w") as file:
        file.write(f"{type(error).__name__}: {error}")
