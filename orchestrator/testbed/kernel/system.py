"""The C library's calls that Python 3.11 does not offer: mounts, namespaces, timers, power off."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import errno
import functools
import os
import signal
import struct
import time

from orchestrator.protocol.reports.console import WARNING_LEVEL

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Callable, Iterator
    from typing import Any

CLONE_NEWNET = 0x40000000
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWPID = 0x20000, 0x4000000, 0x8000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND = 1, 2, 4, 32, 4096
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
RNDCLEARPOOL = 0x5206
_SYS_FINIT_MODULE, _SYS_DELETE_MODULE = 313, 176  # x86-64
_POWER_OFF = 0x4321FEDC
_CLOCK_MONOTONIC = 1
_TFD_CLOEXEC = 0o2000000
_TFD_TIMER_ABSTIME = 1
_PR_SET_PDEATHSIG, _PR_SET_TIMERSLACK = 1, 29
_SYS_MOUNT_SETATTR, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY = 442, 0x8000, 1
_SYNC_FILE_RANGE_WRITE, _SYNC_FILE_RANGE_WAIT_AFTER = 2, 4
_EXACT_SLACK_NS, _DEFAULT_SLACK_NS = 1, 50_000
_SOFTIRQ_RANK, _BED_RANK, _WAITING_RANK, _POLLING_RANK = 4, 3, 2, 1
"""Real-time priorities of processes on the guest's only CPU; a higher one runs first."""
_TURN_MS = 4
"""Polling programs take turns of a tick of the kernel's clock (HZ is 250)."""

_CONSOLE_LEVEL = 8  # SYSLOG_ACTION_CONSOLE_LEVEL
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def address_of(buffer: bytearray) -> int:
    """Return where the bytes of a bytearray lie, whose size is fixed from now on."""
    return ctypes.addressof((ctypes.c_char * len(buffer)).from_buffer(buffer))


def mount(source: str, target: str, kind: str, flags: int = 0, options: str | None = None) -> None:
    """mount(2); ``target`` must exist."""
    arguments = [text.encode() for text in (source, target, kind)]
    data = options.encode() if options else None
    _checked(_libc.mount(*arguments, ctypes.c_ulong(flags), data), f"mount {kind} on {target}")


def unmount(target: str) -> None:
    """Take a mount away at once, also one that is in use; umount2(2) with MNT_DETACH."""
    _checked(_libc.umount2(target.encode(), 2), f"unmount {target}")


def set_read_only(target: str, on: bool = True) -> None:
    """Let all mounts at and below ``target`` be read-only (or that mount alone writable again).

    Of the calling process's mount namespace; mount_setattr(2), since Linux 5.12.
    """
    change = (_MOUNT_ATTR_RDONLY, 0) if on else (0, _MOUNT_ATTR_RDONLY)
    attributes = struct.pack("=4Q", *change, 0, 0)  # struct mount_attr
    result = _libc.syscall(
        ctypes.c_long(_SYS_MOUNT_SETATTR), -100, target.encode(),
        ctypes.c_uint(_AT_RECURSIVE if on else 0), attributes, ctypes.c_size_t(len(attributes)),
    )  # fmt: skip
    _checked(result, f"read-only {target}")


def unshare(kinds: int) -> None:
    """Move the calling process into new namespaces of those kinds (CLONE_NEW*)."""
    _checked(_libc.unshare(kinds), "new namespaces")


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Let the kernel kill the calling process when the thread that forked it ends."""
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0), "parent's death signal")


def hand_out(descriptor: int) -> None:
    """Let the host see what was written to the file; a guest may keep it for 30 simulated seconds.

    Unlike fsync(2) this does not make the host's disk wait.
    """
    whole_file = ctypes.c_int64(0)
    flags = _SYNC_FILE_RANGE_WRITE | _SYNC_FILE_RANGE_WAIT_AFTER
    _checked(_libc.sync_file_range(descriptor, whole_file, whole_file, flags), "sync_file_range")


def load_module(path: str, parameters: str) -> None:
    """Load the kernel module in that file with ``parameters`` such as "a=1 b=2".

    One that is loaded already is left as it is.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        result = _libc.syscall(ctypes.c_long(_SYS_FINIT_MODULE), descriptor, parameters.encode(), 0)
        if result < 0 and ctypes.get_errno() != errno.EEXIST:
            _checked(result, f"load module {path} {parameters}")
    finally:
        os.close(descriptor)


def unload_module(name: str) -> None:
    """Unload the kernel module of that name unless something uses it: then OSError (EAGAIN)."""
    arguments = ctypes.c_long(_SYS_DELETE_MODULE), name.encode(), os.O_NONBLOCK
    _checked(_libc.syscall(*arguments), f"unload module {name}")


def show_warnings_only(mark: str) -> None:
    """Let the console show the kernel's warnings and worse from now on, with a mark before them."""
    action = ctypes.c_int(_CONSOLE_LEVEL)
    _checked(_libc.klogctl(action, None, WARNING_LEVEL + 1), "console level")
    mark_console(mark)


def mark_console(mark: str) -> None:
    """Write a line to the kernel's log, which the console shows."""
    descriptor = os.open("/dev/kmsg", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, f"<{WARNING_LEVEL}>{mark}\n".encode())
    finally:
        os.close(descriptor)


def power_off() -> None:
    """End the guest at once. Returns only when the caller may not do so."""
    os.sync()
    _checked(_libc.reboot(ctypes.c_uint(_POWER_OFF)), "power off")


def linux_version() -> tuple[int, int]:
    """Return the running kernel's version as (major, minor)."""
    major, minor = os.uname().release.split("-")[0].split(".")[:2]
    return int(major), int(minor)


def monotonic_ns() -> int:
    """Return the monotonic clock; in virtual time the reading itself costs 256 ns."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def realtime_ns() -> int:
    """Return the wall clock that socket timestamps use; a reading costs as much."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME)


def prefer_softirqs() -> None:
    """Let the kernel's softirq thread run before any process that is ready at the same time.

    In a burst the network's work moves to that thread. Whether it or a process goes on would be
    the fair scheduler's choice, which remembers how long setting up took.
    """
    for number in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{number}/comm") as comm:
                is_softirq_thread = comm.read() == "ksoftirqd/0\n"
            if is_softirq_thread:  # of the only processor
                os.sched_setscheduler(number, os.SCHED_FIFO, os.sched_param(_SOFTIRQ_RANK))
                return
    raise LookupError("no softirq thread")


def rank_before_programs() -> None:
    """Let the calling thread, and threads that it starts, run before programs that it ranks.

    A thread that only takes samples then interrupts a program, and the program goes on where it
    was. The fair scheduler could go on with another program, so sampling would change the run.
    """
    with open("/proc/sys/kernel/sched_rr_timeslice_ms", "w") as file:
        file.write(str(_TURN_MS))
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_BED_RANK))


def rank_program(pid: int, polls: bool) -> None:
    """Rank a program below the calling thread if ``rank_before_programs`` was called; see there.

    Programs that ``polls`` are ready all the time. They take turns, and run when no other program
    is ready. Others run until they wait.
    """
    ranked = program_rank(polls)
    if ranked is not None:
        policy, rank = ranked
        os.sched_setscheduler(pid, policy, os.sched_param(rank))


def program_rank(polls: bool) -> tuple[int, int] | None:
    """Return the scheduling policy and the priority of such a program; None to leave them."""
    if os.sched_getscheduler(0) != os.SCHED_FIFO:
        return None
    return (os.SCHED_RR, _POLLING_RANK) if polls else (os.SCHED_FIFO, _WAITING_RANK)


def prefer_this_session() -> set[int]:
    """Begin a session and let it run on one CPU, before everything else that is ready on it.

    On one CPU packets keep their order: each CPU has a backlog of its own. Where the kernel shares
    the CPU between sessions first (sched_autogroup), the session has to be preferred. On a machine
    with seven processes ready at a time, the 99th percentile of the wake-ups' lateness was 0.09 ms
    with it. It was 41 ms with the priority of the process alone.

    Returns:
        The other CPUs that it was allowed to use.
    """
    allowed = os.sched_getaffinity(0)
    chosen = {max(allowed)}
    os.sched_setaffinity(0, chosen)
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    os.setsid()
    with contextlib.suppress(FileNotFoundError), open("/proc/self/autogroup", "w") as file:
        file.write("-20")
    return allowed - chosen


def set_exact_timers(exact: bool = True) -> None:
    """Let timers of this thread, and of what it starts, fire to the nanosecond (default: 50 us).

    In our guest kernel a thread with exact timers also reads the clock for free, so that it does
    not move the time of what it watches. A program that polls the clock in a loop must not be
    exact there: it would wait for ever.
    """
    slack_ns = _EXACT_SLACK_NS if exact else _DEFAULT_SLACK_NS
    _checked(_libc.prctl(_PR_SET_TIMERSLACK, slack_ns, 0, 0, 0), "timer slack")


def new_network_namespace() -> int:
    """Move the calling thread into a new network namespace, without IPv6; return a descriptor."""
    _checked(_libc.unshare(CLONE_NEWNET), "new network namespace")
    disable_ipv6()
    return current_network_namespace()


def disable_ipv6() -> None:
    """Keep IPv6 from sending messages of its own over every link of the thread's namespace.

    For devices that come to it later, too.
    """
    if not has_ipv6():
        return
    for which in ("all", "default"):
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6", os.O_WRONLY)
            try:
                os.write(descriptor, b"1")
            finally:
                os.close(descriptor)


@functools.cache
def has_ipv6() -> bool:
    """Tell whether the kernel has IPv6; it is not unloaded, and nothing here loads it."""
    return os.path.exists("/proc/sys/net/ipv6")


def current_network_namespace() -> int:
    """Return a descriptor of the calling thread's network namespace."""
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def enter(namespace_fd: int) -> None:
    """Move the calling thread into that network namespace."""
    _checked(_libc.setns(namespace_fd, CLONE_NEWNET), "enter network namespace")


@contextlib.contextmanager
def inside(namespace_fd: int, home_fd: int) -> Iterator[None]:
    """Run the body in ``namespace_fd`` and return to ``home_fd``; of this thread only."""
    enter(namespace_fd)
    try:
        yield
    finally:
        enter(home_fd)


def start_thread(run: Callable[..., None], *arguments: Any) -> None:
    """Run a function in a thread that nobody waits for.

    threading.Thread takes a dozen locks for that. Python 3.11 reads the clock for each, which is a
    system call in a guest.
    """
    _thread.start_new_thread(run, arguments)


class Timer:
    """Sleeps until absolute times of the monotonic clock without ever reading it.

    In virtual time a reading of the clock may cost 256 ns (arch/um/kernel/time.c). A sampler would
    then disturb what it samples. A timer descriptor set to an absolute time costs nothing.
    """

    def __init__(self) -> None:
        self.fd = _checked(_libc.timerfd_create(_CLOCK_MONOTONIC, _TFD_CLOEXEC), "timerfd")

    def arm(self, time_ns: int) -> None:
        """Let the descriptor become readable at ``time_ns`` (at once when that has passed)."""
        seconds, nanoseconds = divmod(max(time_ns, 1), 10**9)
        value = struct.pack("=4q", 0, 0, seconds, nanoseconds)
        _checked(_libc.timerfd_settime(self.fd, _TFD_TIMER_ABSTIME, value, None), "timerfd")

    def take(self) -> None:
        """Wait until the armed time, and let the descriptor be unreadable until armed again."""
        os.read(self.fd, 8)

    def sleep_until(self, time_ns: int) -> None:
        """Return at ``time_ns`` of the monotonic clock."""
        self.arm(time_ns)
        self.take()
