"""Boot the guest in virtual time to carry out a plan (see plan.py)."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from guest.build import GuestKernel
from kmods import build
from kmods.catalogue import FOLDER
from orchestrator import sandbox
from orchestrator.backends import bed_code
from orchestrator.errors import GuestError
from tests.guest.peer import plan

_TESTS = Path(__file__).resolve().parents[1]
_LONGEST_S = 300
_MEMORY_BYTES = 2**30
_BOOT = [
    "time-travel=inf-cpu",
    "time-travel-start=1700000000000000000",
    "random_seed=1",
    f"mem={_MEMORY_BYTES // 2**20}M",
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    "norandmaps",
    "ipv6.disable=1",
    "con=null",
    "con0=null,fd:1",
    "uml_dir=/tmp/",
    "PYTHONHASHSEED=0",
    f"PYTHONPATH={sandbox.INPUT}:{sandbox.BED}",
    f"BED_MODULES={sandbox.MODULES}",
    f"BED_OUTPUT={sandbox.OUTPUT}",
    "init=/usr/bin/python3",
    "--",
    "-S",
    "-B",
    "-m",
    "peer.inside.init",
]


def answers(
    kernel: GuestKernel, document: dict[str, Any] | None = None, sources: Path = FOLDER
) -> dict[str, Any]:
    """Boot the guest once and return its results for a plan, by default the whole one.

    ``sources`` is the folder of the modules.

    Raises:
        GuestError: the guest failed; with its last output.
    """
    sandbox.require_confinement()
    modules = build.ensure(kernel, build.compile_plainly, sources).folder
    document = document or plan.document()
    with tempfile.TemporaryDirectory(prefix="orchestrator-peer-") as name:
        output = Path(name) / "out"
        output.mkdir()
        (output / "plan.json").write_text(json.dumps(document), encoding="utf-8")
        paths = sandbox.SandboxPaths(kernel.linux, bed_code.PARTS, modules, _TESTS, output)
        with sandbox.guest_sandbox(paths, _MEMORY_BYTES) as boundary:

            def settle() -> None:
                boundary.enter()
                # A guest is fastest on one CPU.
                os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

            done = subprocess.run(
                boundary.command([sandbox.KERNEL, *_BOOT]),
                env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TMPDIR": "/dev/shm"},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_LONGEST_S,
                check=False,
                preexec_fn=settle,
                **boundary.options(),
            )
        failure, found = output / "failure", output / "answers.json"
        if failure.exists():
            raise GuestError("the peer's scripts failed", failure.read_text().splitlines())
        if not found.exists():
            words = done.stdout.decode(errors="replace").splitlines()
            raise GuestError("the guest ended before its answers came", words[-8:])
        result: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
        return result
