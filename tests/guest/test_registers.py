"""What the host's processor has beyond the guest's knowledge does not harm the guest's tasks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from guest.build import GuestKernel
from orchestrator.backends.guest.shell import run_commands

pytestmark = pytest.mark.guest

SOURCE = Path(__file__).with_name("registers.c")


def test_tasks_keep_their_vector_registers(kernel: GuestKernel, tmp_path: Path) -> None:
    """Over system calls, switches between processes and threads, and signals.

    The host takes and gives them as one XSAVE area, which on processors with AMX is larger than
    what the guest keeps of a task (guest/patches/0004).
    """
    program = tmp_path / "registers"
    words = ["-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread"]
    subprocess.run(["gcc", *words, "-o", program, SOURCE], check=True)
    start = b"cp /bed/in/registers /tmp/ && chmod +x /tmp/registers && /tmp/registers 4 500"
    said = run_commands(kernel, start, {"registers": program.read_bytes()}, timeout_s=120)
    assert (said.status, said.output) == (0, b"kept\n"), said.output
