"""Boots the guest's kernel in real time, as a machine on which the back end ``local`` can be tried.

Its root is this machine's, read-only, with the checkout and its environment; /lib/modules holds the
guest's own modules and those of kmods/. What runs there says all in a folder of results.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from guest.build import GuestKernel
from orchestrator.backends.modules import ensure_ours

ROOT = Path(__file__).resolve().parents[3]
_LONGEST_S = 240
_BOOT = [
    "mem=1024M", "rootfstype=hostfs", "rootflags=/", "ro", "quiet", "con=null",
    "con0=null,fd:1", "uml_dir=/tmp/", "init=/usr/bin/python3", "--", "-S", "-B",
    "/tmp/bed/init.py",
]  # fmt: skip

_INIT = """
import os, subprocess, sys
sys.path.insert(0, "{root}")
from orchestrator.testbed.kernel import system

system.mount("none", "/", "none", system.MS_REMOUNT | system.MS_RDONLY | system.MS_NOSUID)
for kind, place in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")):
    system.mount(kind, place, kind)
for place in ("/run/out", "/run/home", "/run/tmp", "/dev/pts"):
    os.makedirs(place, exist_ok=True)
system.mount("devpts", "/dev/pts", "devpts")
for name, place in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
    os.symlink("/proc/self/fd" + place, "/dev/" + name)  # as udev makes them on a machine
system.mount("none", "/run/out", "hostfs", 0, "/tmp/bed/out")
os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/run/home", TMPDIR="/run/tmp")
os.environ["PYTHONPATH"] = "{root}"
with open("/run/out/said", "wb") as said:
    status = subprocess.call(
        ["{python}", "-B", "-m", "{module}", "/run/out", *{arguments}],
        stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, cwd="/run/home",
    )
with open("/run/out/status", "w") as file:
    file.write(str(status))
os.sync()
system.power_off()
"""

_BUILT_IN = (
    (r"NET_(SCH_\w+|ACT_\w+|CLS_\w+)", r"\1"),
    (r"INET_(TCP_DIAG|DIAG)", r"\1"),
    (r"(IFB|VETH|OPENVSWITCH)", r"\1"),
)
"""Configuration option to module, of what the bed asks for."""


def run(
    kernel: GuestKernel,
    module: str,
    folder: Path,
    longest_s: float = _LONGEST_S,
    arguments: Sequence[str] = (),
) -> Path:
    """Boot, run a Python module as root with the environment's Python; return its results' folder.

    The module's arguments are that folder and ``arguments``.

    Raises:
        RuntimeError: it did not end well; with what it said.
    """
    output, modules = folder / "out", folder / "modules"
    output.mkdir()
    _make_modules(kernel, modules)
    init = _INIT.format(root=ROOT, python=sys.executable, module=module, arguments=list(arguments))
    (folder / "init.py").write_text(init, encoding="utf-8")
    boundary = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    boundary += ["--ro-bind", "/", "/", "--tmpfs", "/tmp", "--dev", "/dev", "--proc", "/proc"]
    boundary += ["--tmpfs", "/dev/shm", "--ro-bind", str(ROOT), str(ROOT)]
    boundary += [
        "--ro-bind",
        str(kernel.linux),
        "/tmp/bed/linux",
        "--bind",
        str(output),
        "/tmp/bed/out",
    ]
    boundary += ["--ro-bind", str(folder / "init.py"), "/tmp/bed/init.py"]
    boundary += ["--ro-bind", str(modules / "lib" / "modules"), "/usr/lib/modules", "--"]
    with (folder / "console").open("wb") as console:
        subprocess.run(
            [*boundary, "/tmp/bed/linux", *_BOOT],
            env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TMPDIR": "/dev/shm"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            timeout=longest_s,
            check=False,
            preexec_fn=_prefer,
        )
    status, said = output / "status", output / "said"
    if not status.exists() or status.read_text() != "0":
        words = [path.read_text(errors="replace") for path in (said, folder / "console")
                 if path.exists()]  # fmt: skip
        raise RuntimeError("\n".join(words)[-6000:])
    return output


def _prefer() -> None:
    """Let the machine be as little disturbed by other work here as may be."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with contextlib.suppress(PermissionError):  # of an ordinary user
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def _make_modules(kernel: GuestKernel, folder: Path) -> None:
    """Make what a distribution has in /lib/modules, for the guest's kernel."""
    release = folder / "lib" / "modules" / kernel.release
    (release / "kernel").mkdir(parents=True)
    for built in (kernel.modules_dir, ensure_ours(kernel).folder):
        for module in built.glob("*.ko"):
            shutil.copy(module, release / "kernel")
    config = (kernel.linux.parent / "config").read_text(encoding="utf-8")
    options = re.findall(r"^CONFIG_(\w+)=y$", config, re.MULTILINE)
    names = [
        found.expand(name).lower()
        for option in options
        for pattern, name in _BUILT_IN
        if (found := re.fullmatch(pattern, option))
    ]
    (release / "modules.builtin").write_text("".join(f"kernel/net/{one}.ko\n" for one in names))
    for name in ("modules.order", "modules.builtin.modinfo"):
        (release / name).touch()
    words = ["/usr/sbin/depmod", "--basedir", str(folder), kernel.release]
    subprocess.run(words, check=True, capture_output=True)
