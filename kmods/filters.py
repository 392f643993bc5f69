"""Computes what the modules' filters make of synthetic arrivals, in user space.

``tests/filters.c`` has the arrivals of Figs 1, 5, 6 and 10 of the TIBET paper. No network and no
kernel is involved: the program includes the headers in ``core``, which the modules include, too.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache

from guest import build_steps
from kmods.catalogue import FOLDER
from orchestrator.errors import MachineError
from orchestrator.files.temporary import temporary_folder

FILTERS = ("westwood1", "westwood2", "westwood3", "csfq", "tibet")
ARRIVALS = ("exponential", "rayleigh", "periodic")

SOURCE = FOLDER / "tests/filters.c"
_COMPILER = "gcc"
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror")


def require_compiler() -> None:
    """Check that the program can be compiled.

    Raises:
        MachineError: there is no compiler.
    """
    if shutil.which(_COMPILER) is None:
        raise MachineError(
            "statements on filters are computed by a C program, and there is no gcc",
            "apt-get install gcc libc6-dev",
        )


@lru_cache(maxsize=4)
def biases(seeds: Sequence[int]) -> dict[tuple[str, str], list[float]]:
    """Return the mean estimates over the true rate by (arrivals, filter), in the order of seeds.

    Args:
        seeds: a tuple of them. Seed 0 has the arrivals of ``tests/test_figures.c``.

    Raises:
        MachineError: the program cannot be compiled or ends with an error.
    """
    require_compiler()
    with temporary_folder("build") as folder:
        program = folder / "filters"
        _run([_COMPILER, *_FLAGS, "-o", str(program), str(SOURCE), "-lm"])
        printed = _run([str(program), *map(str, seeds)])
    found: dict[tuple[str, str], list[float]] = {}
    for line in printed.splitlines():
        _seed, arrivals, name, value = line.split()
        found.setdefault((arrivals, name), []).append(float(value))
    return found


def _run(command: Sequence[str]) -> str:
    ended = subprocess.run(
        command,
        env=build_steps.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode != 0:
        first = next(iter(ended.stderr.strip().splitlines()), f"status {ended.returncode}")
        raise MachineError(
            f"`{SOURCE.name}` was not compiled and run: {first}", "apt-get install gcc libc6-dev"
        )
    return ended.stdout
