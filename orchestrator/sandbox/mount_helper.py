"""Runs as root outside the sandbox: mounts files for the sandbox's user, then becomes that user.

    python3 -I -S -B mount_helper.py PLACE NUMBER SOURCE... -- COMMAND [ARGUMENT...]

In a mount namespace of its own, each SOURCE appears as PLACE/0, PLACE/1 and so on. Then the process
becomes user and group NUMBER and runs the command.

Standard library only. Source: unshare(2), mount(2), mount_namespaces(7), linux/sched.h.
"""

import ctypes
import os
import sys

CLONE_NEWNS = 0x00020000
MS_BIND, MS_REC, MS_PRIVATE, MS_NOSUID, MS_NODEV = 0x1000, 0x4000, 0x40000, 0x2, 0x4
PR_SET_PDEATHSIG, SIGKILL = 1, 9
SYS_KEYCTL, KEYCTL_JOIN_SESSION_KEYRING = 250, 1

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> None:
    """Mount what the arguments name, give up root and become the command."""
    parent = os.getppid()
    end = arguments.index("--")
    place, number, *sources = arguments[:end]
    command = arguments[end + 1 :]
    if _libc.unshare(CLONE_NEWNS):
        fail("a mount namespace")
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    # Opened first: the mount at the place may hide one of them.
    handles = [os.open(source, os.O_PATH | os.O_CLOEXEC) for source in sources]
    mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64k")
    for name, (source, handle) in enumerate(zip(sources, handles, strict=True)):
        target = f"{place}/{name}"
        if os.path.isdir(source):  # noqa: PTH112
            os.mkdir(target)  # noqa: PTH102
        else:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT, 0o644))
        mount(f"/proc/self/fd/{handle}", target, "", MS_BIND)
    os.setgroups([])
    os.setresgid(*3 * [int(number)])
    os.setresuid(*3 * [int(number)])
    _libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died while the change of user had cleared the signal
        sys.exit("mount_helper: its parent has died")
    _libc.syscall(SYS_KEYCTL, KEYCTL_JOIN_SESSION_KEYRING, None)
    os.execvp(command[0], command)


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Mount; a failure ends the program."""
    words = [word.encode() for word in (source, target, kind)]
    if _libc.mount(*words, ctypes.c_ulong(flags), data.encode()):
        fail(f"mounting {target}")


def fail(what: str) -> None:
    """Exit with a message on standard error that names what failed and why."""
    sys.exit(f"mount_helper: {what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main(sys.argv[1:])
