"""Finds out what a real machine lacks for runs of the bed.

Command: ``python3 -B -m orchestrator.testbed.preflight``.

Standard input is a ``Needs`` and standard output a list of ``Finding``, both as JSON; see
protocol/examination.py. Run it with the Python, and as the user, that would run the bed. It
changes nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import sys

from orchestrator.protocol import engines
from orchestrator.testbed import local
from orchestrator.testbed.kernel import confine, modules, system, timed_send

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.protocol.examination import Finding, Needs

LEAST_LINUX = (5, 15)
"""The version of Ubuntu 22.04. mount_setattr(2) needs 5.12."""
LEAST_PYTHON = (3, 10)
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PACKAGES = {
    "ovs-vswitchd": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "modprobe": "kmod",
}
"""Program to package, of Debian and Ubuntu; protocol/engines.py has those of the engines."""


def findings(needs: Needs) -> list[Finding]:
    """Return all findings about what runs need."""
    checked = [_processor(), _linux(), _python(), _mininet(), _root()]
    if os.geteuid() == 0:
        checked += [_namespaces(), _lock()]
    checked += [_program(name) for name in needs["programs"]]
    checked += [_module(name, name in needs["ours"]) for name in needs["modules"]]
    if needs["io_uring"]:
        checked.append(_io_uring())
    return checked


def _finding(name: str, detail: str, fix: str = "") -> Finding:
    """Return a finding, which is ok unless it has a fix."""
    return {"name": name, "ok": not fix, "detail": detail, "fix": fix}


def _processor() -> Finding:
    machine = f"{platform.system()} {platform.machine()}"
    fix = "" if machine == "Linux x86_64" else "use x86-64 Linux"
    return _finding("processor", machine, fix)


def _linux() -> Finding:
    least = ".".join(map(str, LEAST_LINUX))
    fix = "" if system.linux_version() >= LEAST_LINUX else f"use Linux {least}"
    return _finding("kernel", f"Linux {os.uname().release}", fix)


def _python() -> Finding:
    detail = f"{sys.executable} is Python {platform.python_version()}"
    least = ".".join(map(str, LEAST_PYTHON))
    fix = "" if sys.version_info[:2] >= LEAST_PYTHON else f"install Python {least}"
    return _finding("python", detail, fix)


def _mininet() -> Finding:
    try:
        import mininet.net
    except ModuleNotFoundError as error:
        if error.name == "distutils":  # not in Python 3.12 and later; setuptools has it
            return _finding("mininet", str(error), "apt-get install python3-setuptools")
        return _finding("mininet", str(error), "apt-get install mininet")
    except ImportError as error:
        return _finding("mininet", str(error), "apt-get install --reinstall mininet")
    return _finding("mininet", f"{mininet.net.VERSION}, importable by {sys.executable}")


def _root() -> Finding:
    if os.geteuid() == 0:
        return _finding("root", "yes")
    fix = "run it as root, with sudo"
    return _finding("root", "an ordinary user may not make namespaces", fix)


def _namespaces() -> Finding:
    """Try to make all namespaces, in a child process that ends at once."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            system.unshare(confine.NAMESPACES | system.CLONE_NEWPID)
            status = 0
        except OSError as error:
            status = error.errno or 1
        finally:
            os._exit(status)
    _pid, status = os.waitpid(child, 0)
    if status == 0:
        return _finding("namespaces", "can be made")
    code = os.waitstatus_to_exitcode(status)
    detail = f"cannot be made: {os.strerror(code)}"
    return _finding("namespaces", detail, "use a machine of its own, or a privileged container")


def _lock() -> Finding:
    """Look whether another run holds the lock of this machine."""
    name, free = "no other run", "this machine is free"
    try:
        descriptor = os.open(local.LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return _finding(name, free)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        detail = "another run in real time is using this machine"
        return _finding(name, detail, "wait until it has ended")
    finally:
        os.close(descriptor)
    return _finding(name, free)


def _program(name: str) -> Finding:
    path = shutil.which(name, path=SYSTEM_PATH)
    package = {**PACKAGES, **engines.packages()}.get(name)
    # The package of a scenario's own program is not known.
    fix = f"install {name}" if package is None else f"apt-get install {package}"
    return _finding(name, path or "not found", "" if path else fix)


def _module(name: str, ours: bool) -> Finding:
    if modules.can_be_there(name):
        return _finding(name, "kernel module, there")
    release = os.uname().release
    fix = f"apt-get install linux-modules-extra-{release}, or use a distribution's kernel"
    if ours:
        fix = f"install {name} for Linux {release} by DKMS, as playbooks/ do"
    return _finding(name, f"no such kernel module for {release}", fix)


def _io_uring() -> Finding:
    try:
        timed_send.TimedSender()
    except OSError as error:
        return _finding("io_uring", str(error), "sysctl -w kernel.io_uring_disabled=0")
    return _finding("io_uring", "can be used")


if __name__ == "__main__":
    print(json.dumps(findings(json.load(sys.stdin))))
