"""Starts a user's program where it can reach its host's network, its own files and nothing else.

The bed runs this file as a process of its own: ``python3 -I -S -B launcher.py REQUEST``.
REQUEST is a ``LaunchRequest`` as JSON. The process is in its host's network namespace already. It
makes namespaces of mounts, processes, IPC and names, becomes a user without any right, and starts
the program. The descriptor ``status`` of the request gets CONFINED before it starts, NOT_STARTED
where it cannot, and then the program's wait status as text, with blanks between them.

Standard library only, and nothing of this project: it is run by its path.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable
    from typing import TypedDict

    class LaunchRequest(TypedDict):
        """What is started, and what it may use.

        ``files`` is a folder that the program finds at FILES, read-only. ``names`` is the text of
        its /etc/hosts. ``folder`` is where it starts, FILES or SCRATCH. ``scratch`` is a folder
        that it finds at SCRATCH, None to make one there of ``scratch_bytes``. ``rank`` is a
        scheduling policy and its priority, None to leave them. ``parent`` is the process with whose
        end all ends, None where the bed has processes of its own, which end together.
        """

        arguments: list[str]
        environment: dict[str, str]
        folder: str
        files: str | None
        names: str
        uid: int
        scratch: str | None
        scratch_bytes: int
        processes: int
        open_files: int
        status: int
        rank: tuple[int, int] | None
        parent: int | None


FILES, SCRATCH = "/run/files", "/tmp"
"""Where a program finds its files, and the only folder that it can write."""

CONFINED, NOT_STARTED = b"confined", b"not-started"

_HIDDEN = ("/bed", "/home", "/root", "/var", "/mnt", "/media", "/srv", "/opt", "/boot", "/sys")
"""Folders of the bed or of its machine that a program does not see."""

_NEW_NAMESPACES = 0x20000 | 0x4000000 | 0x8000000 | 0x20000000  # CLONE_NEW: NS, UTS, IPC, PID
_RDONLY, _NOSUID, _NODEV, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 32, 4096, 1 << 14, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
_ETC_BYTES = 1 << 20
_FIRST_TO_KILL = "1000"
"""The kernel ends programs first when a machine has no memory left (proc(5), oom_score_adj)."""
_NOT_STARTED_STATUS = 127

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Start the program and end when it has ended."""
    request: LaunchRequest = json.loads(sys.argv[1])
    if request["parent"] is not None:
        _die_with_parent()
        if os.getppid() != request["parent"]:
            return
    if request["rank"] is not None:
        policy, priority = request["rank"]
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    _call("namespaces", _libc.unshare, _NEW_NAMESPACES)
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        os._exit(0)
    _die_with_parent()
    _see_little(request)
    os.write(request["status"], CONFINED + b" ")
    # The first process of a namespace ignores most signals, and has to reap. So it is this one.
    program = os.fork()
    if not program:
        os.set_inheritable(request["status"], False)
        _become(request)
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == program:
            os.write(request["status"], str(status).encode())
            os._exit(0)  # the kernel ends all other processes of the namespace


def _die_with_parent() -> None:
    _call("death signal", _libc.prctl, _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _see_little(request: LaunchRequest) -> None:
    """Mount what the program sees over what the bed sees."""
    # By descriptors, because the mount at /run hides both.
    files, scratch = (
        None if path is None else os.open(path, os.O_PATH)
        for path in (request["files"], request["scratch"])
    )
    _mount("none", "/", "", _REC | _PRIVATE)
    own = _NOSUID | _NODEV
    _mount("tmpfs", "/run", "tmpfs", own, f"mode=0755,size={_ETC_BYTES}")
    if scratch is None:
        _mount("tmpfs", SCRATCH, "tmpfs", own, f"mode=0755,size={request['scratch_bytes']}")
        os.chown(SCRATCH, request["uid"], request["uid"])
    else:
        _mount(f"/proc/self/fd/{scratch}", SCRATCH, "", _BIND)
        os.close(scratch)
    os.mkdir("/run/etc")
    accounts = (
        f"root:x:0:0::/root:/bin/sh\nuser:x:{request['uid']}:{request['uid']}::/tmp:/bin/sh\n"
    )
    for name, text in (("hosts", request["names"]), ("passwd", accounts)):
        with open(f"/run/etc/{name}", "w") as file:
            file.write(text)
        _mount(f"/run/etc/{name}", f"/etc/{name}", "", _BIND)
    if files is not None:
        os.mkdir(FILES)
        _mount(f"/proc/self/fd/{files}", FILES, "", _BIND)
        _mount("none", FILES, "", _REMOUNT | _BIND | _RDONLY | own)
        os.close(files)
    _mount("none", "/run", "", _REMOUNT | _BIND | _RDONLY | own)
    with contextlib.suppress(OSError):  # where /dev cannot be changed, it has one or lacks it
        os.makedirs("/dev/shm", exist_ok=True)
    if os.path.isdir("/dev/shm"):
        _mount(SCRATCH, "/dev/shm", "", _BIND)
    for folder in _HIDDEN:
        if os.path.isdir(folder):
            _mount("none", folder, "tmpfs", _RDONLY | own)
    _mount("proc", "/proc", "proc", own)


def _become(request: LaunchRequest) -> None:
    """Give up all rights and become the program."""
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write(_FIRST_TO_KILL)
    for kind, most in (
        (resource.RLIMIT_NPROC, request["processes"]),
        (resource.RLIMIT_NOFILE, request["open_files"]),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 1 << 16),
    ):
        resource.setrlimit(kind, (most, most))
    uid = request["uid"]
    for output in (1, 2):  # many a program opens /dev/stdout, which is the pipe itself
        os.fchown(output, uid, uid)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    _call("no new rights", _libc.prctl, _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.setsid()
    os.umask(0o022)
    os.chdir(request["folder"])
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    arguments = request["arguments"]
    try:
        os.execvpe(arguments[0], arguments, request["environment"])
    except OSError as error:
        os.write(2, f"{arguments[0]}: {error.strerror}\n".encode())
        os.write(request["status"], NOT_STARTED + b" ")
        os._exit(_NOT_STARTED_STATUS)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    arguments = [text.encode() for text in (source, target, kind)]
    _call(f"mount on {target}", _libc.mount, *arguments, ctypes.c_ulong(flags), options.encode())


def _call(what: str, function: Callable[..., int], *arguments: object) -> None:
    if function(*arguments) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


if __name__ == "__main__":
    main()
