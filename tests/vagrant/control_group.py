"""Run in the Vagrant machine: a control group bounds a sandbox's total memory and processes."""

import functools
import os
import subprocess
import sys

from orchestrator.sandbox import cgroup
from orchestrator.sandbox.limits import MIB, Limits

LIMITS = Limits(
    address_bytes=4096 * MIB, processes=20, file_bytes=1024 * MIB, memory_bytes=64 * MIB
)
ACTS = (
    [sys.executable, "-c", "held = [b'x' * 2**20 for _ in range(200)]"],
    ["sh", "-c", "for each in $(seq 40); do sleep 60 & done; wait"],
)


def enter(group: cgroup.ControlGroup) -> None:
    """Enter the group, as a sandbox does before it starts."""
    os.write(group.entrance, b"0")


for words in ACTS:
    with cgroup.create(LIMITS) as group:
        assert group is not None, "no control group can be made"
        process = subprocess.Popen(words, preexec_fn=functools.partial(enter, group))
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        sys.stdout.write("; ".join(group.exceeded()) + "\n")
        folder = group.folder
    sys.stdout.write(f"{folder.exists()}\n")
