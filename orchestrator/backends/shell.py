"""The guest kernel with a shell on this terminal, in real time, to look around in."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from guest.build import GuestKernel
from orchestrator.backends import sandbox
from orchestrator.errors import GuestError, UsageError

_INIT = """
mount -t proc proc /proc; mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /tmp
for module in "$BED_MODULES"/tcp_*.ko; do insmod "$module"; done
echo "guest kernel $(uname -r); the root is read-only, /tmp and /run are yours; exit powers off"
setsid -c -w bash --norc </dev/tty0 >/dev/tty0 2>&1
poweroff -f
"""


def open_shell(kernel: GuestKernel) -> None:
    """Boot the guest on the terminal and return when its shell ends.

    Raises:
        UsageError: standard input is no terminal.
        MachineError: this user cannot be confined here.
        GuestError: the guest did not end well.
    """
    if not os.isatty(0):
        raise UsageError("guest shell needs a terminal on standard input")
    sandbox.require_confinement()
    with tempfile.TemporaryDirectory(prefix="orchestrator-shell-") as name:
        folder = Path(name)
        (folder / "out").mkdir()
        (folder / "init.sh").write_text(_INIT)
        testbed = Path(__file__).resolve().parent.parent / "testbed"
        paths = sandbox.Paths(kernel.linux, testbed, kernel.modules_dir, folder, folder / "out")
        words = [*sandbox.confined(paths), sandbox.KERNEL, "mem=512M", "rootfstype=hostfs"]
        words += ["rootflags=/", "ro", "quiet", "con=null", "con0=fd:0,fd:1", "uml_dir=/tmp/"]
        words += [f"BED_MODULES={sandbox.MODULES}", "PS1=guest# "]
        words += ["init=/bin/sh", "--", f"{sandbox.INPUT}/init.sh"]
        words.remove("--new-session")
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": "/dev/shm"}
        environment["TERM"] = os.environ.get("TERM", "dumb")
        status = subprocess.run(words, env=environment, cwd="/", check=False).returncode
    if status:
        raise GuestError(f"the guest ended with status {status}")
