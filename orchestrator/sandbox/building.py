"""Compiles a user's sources in a sandbox, with limits on time, output and disk space."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from guest import build_steps
from kmods.build import BuildOutput
from orchestrator import sandbox
from orchestrator.errors import MachineError, ModuleError
from orchestrator.sandbox import limits
from orchestrator.sandbox.boundary import Boundary

MAX_OUTPUT_BYTES = 16 * limits.MIB
_POLL_S = 0.1
_FIX = "check its Kbuild and sources: a module compiles in seconds"


def compile_confined(
    tree: Path, workshop: Path, words: Sequence[str], time_limit_s: float = limits.BUILD_TIME_S
) -> BuildOutput:
    """Run a build command in a sandbox that reads ``tree`` and writes ``workshop``.

    The folder that holds ``workshop`` must be the controller's own and hold nothing else.

    Raises:
        ModuleError: the build exceeded a limit, which the message names.
        MachineError: no sandbox is possible on this machine, or the tree is gone.
    """
    if not tree.is_dir():
        raise MachineError(
            f"the kernel's tree {tree} is not there",
            "remove its folder from the cache, and build it",
        )
    output_file = workshop.parent / "output"
    with sandbox.build_sandbox(tree, workshop) as boundary, output_file.open("wb") as output:
        process = subprocess.Popen(
            boundary.command(words),
            env=build_steps.environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd="/",
            start_new_session=True,
            preexec_fn=boundary.enter,
            **boundary.options(),
        )
        try:
            _watch(process, workshop, output_file, time_limit_s)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        text = output_file.read_text(encoding="utf-8", errors="replace")
        if process.returncode:
            text += _explained(boundary)
    return BuildOutput(process.returncode, text)


def _watch(
    process: subprocess.Popen[bytes], workshop: Path, output_file: Path, time_limit_s: float
) -> None:
    """Wait for the end of a build; ModuleError when it exceeds a limit."""
    deadline = time.monotonic() + time_limit_s
    end = os.pidfd_open(process.pid)
    try:
        while not select.select([end], [], [], _POLL_S)[0]:
            if time.monotonic() > deadline:
                raise ModuleError(f"a build took more than {time_limit_s:g} s", _FIX)
            _require_small(workshop, output_file)
    finally:
        os.close(end)
    _require_small(workshop, output_file)


def _require_small(workshop: Path, output_file: Path) -> None:
    if output_file.stat().st_size > MAX_OUTPUT_BYTES:
        raise ModuleError(f"a build printed more than {MAX_OUTPUT_BYTES // limits.MIB} MiB", _FIX)
    total = 0
    for directory, _folders, names in os.walk(workshop):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(directory, name)).st_blocks * 512  # noqa: PTH118
        if total > limits.BUILD_TOTAL_BYTES:
            limit = limits.BUILD_TOTAL_BYTES // limits.MIB
            raise ModuleError(f"a build wrote more than {limit} MiB", _FIX)


def _explained(boundary: Boundary) -> str:
    """Return a last line of output with the limits that the build exceeded, if any is known."""
    hit = boundary.group.exceeded() if boundary.group else []
    return f"\nbuild: error: it exceeded its limit of {' and '.join(hit)}" if hit else ""
