"""Looks for what a real machine lacks for runs of the bed.

Command: ``python3 -B -m orchestrator.testbed.preflight``.

Standard input is JSON: {"modules": names of kernel modules, "ours": those of them that this project
brings, "programs": names of programs, "io_uring": whether datagrams are sent}. It prints a list of
{"name", "ok", "detail", "fix"}, where ``fix`` is the command or action that cures what is not ok.
To be run by the Python, and as the user, that would run the bed. It changes nothing.
"""

import fcntl
import json
import os
import platform
import shutil
import sys

from orchestrator.protocol import engines
from orchestrator.testbed import local
from orchestrator.testbed.kernel import confine, modules, system
from orchestrator.testbed.traffic import timed_send

LEAST_LINUX = (5, 15)
"""Ubuntu 22.04's. mount_setattr(2) came with 5.12."""
LEAST_PYTHON = (3, 10)
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PACKAGES = {
    "ovs-vswitchd": "openvswitch-switch",
    "ovsdb-server": "openvswitch-switch",
    "ovsdb-tool": "openvswitch-switch",
    "ovs-vsctl": "openvswitch-switch",
    "modprobe": "kmod",
}
"""Program to package, of Debian and Ubuntu; protocol/engines.py has those of the engines."""


def findings(asked):
    """Return all findings about what is asked for; see above."""
    found = [_processor(), _linux(), _python(), _mininet(), _root()]
    if os.geteuid() == 0:
        found += [_namespaces(), _alone()]
    found += [_program(name) for name in asked["programs"]]
    found += [_module(name, name in asked["ours"]) for name in asked["modules"]]
    if asked["io_uring"]:
        found.append(_io_uring())
    return [
        {"name": name, "ok": not fix, "detail": detail, "fix": fix} for name, detail, fix in found
    ]


def _processor():
    machine = f"{platform.system()} {platform.machine()}"
    return "processor", machine, "" if machine == "Linux x86_64" else "use x86-64 Linux"


def _linux():
    release = os.uname().release
    least = ".".join(map(str, LEAST_LINUX))
    return (
        "kernel",
        f"Linux {release}",
        "" if system.linux_version() >= LEAST_LINUX else f"use Linux {least}",
    )


def _python():
    detail = f"{sys.executable} is Python {platform.python_version()}"
    least = ".".join(map(str, LEAST_PYTHON))
    return "python", detail, "" if sys.version_info >= LEAST_PYTHON else f"install Python {least}"


def _mininet():
    try:
        import mininet.net
    except ModuleNotFoundError as error:
        if error.name == "distutils":  # of Python 3.12 and later: setuptools still has it
            return "mininet", str(error), "apt-get install python3-setuptools"
        return "mininet", str(error), "apt-get install mininet"
    except ImportError as error:
        return "mininet", str(error), "apt-get install --reinstall mininet"
    return "mininet", f"{mininet.net.VERSION}, importable by {sys.executable}", ""


def _root():
    if os.geteuid() == 0:
        return "root", "yes", ""
    return "root", "an ordinary user may not make namespaces", "run it as root, with sudo"


def _namespaces():
    """Make all of them, in a child that ends at once."""
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
        return "namespaces", "can be made", ""
    code = os.waitstatus_to_exitcode(status)
    detail = f"cannot be made: {os.strerror(code)}"
    return "namespaces", detail, "use a machine of its own, or a privileged container"


def _alone():
    name = "no other run"
    try:
        descriptor = os.open(local.LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return name, "this machine is free", ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return name, "another run in real time is using this machine", "wait until it has ended"
    finally:
        os.close(descriptor)
    return name, "this machine is free", ""


def _program(name):
    path = shutil.which(name, path=SYSTEM_PATH)
    package = {**PACKAGES, **engines.packages()}[name]
    return name, path or "not found", "" if path else f"apt-get install {package}"


def _module(name, ours):
    if modules.can_be_there(name):
        return name, "kernel module, there", ""
    release = os.uname().release
    fix = f"apt-get install linux-modules-extra-{release}, or use a distribution's kernel"
    if ours:
        fix = f"install {name} for Linux {release} by DKMS, as playbooks/ do"
    return name, f"no such kernel module for {release}", fix


def _io_uring():
    try:
        timed_send.TimedSender()
    except OSError as error:
        return "io_uring", str(error), "sysctl -w kernel.io_uring_disabled=0"
    return "io_uring", "can be used", ""


if __name__ == "__main__":
    print(json.dumps(findings(json.load(sys.stdin))))
