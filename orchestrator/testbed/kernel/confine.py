"""Namespaces around a bed on a real machine, which keep the machine's state unchanged.

The bed's first process has new PID, mount, network, IPC and UTS namespaces. Interfaces, bridges,
qdiscs and processes of the bed therefore exist only there. When that process ends in any way, the
kernel ends all other processes of the bed and removes its network. The bed sees the machine's files
read-only, and has a /run and /tmp of its own.
"""

from __future__ import annotations

import os

from orchestrator.testbed.kernel import system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable

INPUT, OUTPUT = "/run/bed/in", "/run/bed/out"
NAMESPACES = (
    system.CLONE_NEWNS | system.CLONE_NEWNET | system.CLONE_NEWIPC | system.CLONE_NEWUTS
)  # and CLONE_NEWPID, which is for children only


def start(given: str, output: str, body: Callable[[], None]) -> int:
    """Fork the bed's first process, which calls ``body()``; return its number.

    It is killed when the calling thread ends. In it ``given`` and ``output`` are at INPUT (read
    only) and OUTPUT. It ends with status 0 when ``body`` returned and with 1 when it raised.
    """
    system.unshare(system.CLONE_NEWPID)
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        system.die_with_parent()
        if os.path.exists(f"/proc/{parent}"):  # it may have ended before die_with_parent
            _enter(given, output)
            body()
            status = 0
    finally:
        os._exit(status)


def _enter(given: str, output: str) -> None:
    system.unshare(NAMESPACES)
    system.mount("none", "/", "none", system.MS_REC | system.MS_PRIVATE)
    system.set_read_only("/")
    code = os.path.abspath(f"{__file__}/../../../..")
    # Mounted by descriptors: the mounts at /run and /tmp may hide the paths.
    places = {INPUT: given, OUTPUT: output, code: code}
    held = {mount_point: os.open(path, os.O_PATH) for mount_point, path in places.items()}
    for mount_point in ("/run", "/tmp"):
        system.mount("tmpfs", mount_point, "tmpfs")
    for mount_point, descriptor in held.items():
        if not os.path.isdir(mount_point):
            os.makedirs(mount_point)
            bind = f"/proc/self/fd/{descriptor}"
            system.mount(bind, mount_point, "none", system.MS_BIND)
        os.close(descriptor)
    system.set_read_only(OUTPUT, False)
    system.mount("proc", "/proc", "proc")
    system.disable_ipv6()  # of the switches' ports, which are in this namespace
    os.makedirs("/run/home")
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/run/home", TMPDIR="/run/home")
    os.environ["PYTHONHASHSEED"] = "0"  # for programs that the bed starts
