"""The system calls that a sandbox may make, as a seccomp filter in BPF; all others are denied.

The list has what User Mode Linux, its launcher and a build with make, gcc and a shell need. A
denied call fails with EPERM. Calls that change the user are allowed, because posix_spawn makes
them; without a capability they cannot change it. Some calls depend on their arguments:

- ``clone`` without any flag that creates a namespace; ``clone3``, whose flags a filter cannot see,
  fails with ENOSYS, and the C library then uses ``clone``;
- ``socket`` and ``socketpair`` for AF_UNIX only;
- ``ioctl`` for the requests of ``IOCTLS``, without TIOCSTI and TIOCLINUX, which could insert input
  into the terminal that the sandbox was started from;
- ``prctl`` without PR_SET_SECCOMP, and ``seccomp`` not at all, unless the sandbox's programs may
  have filters of their own. Then ``seccomp`` adds a filter to all threads of a process
  (SECCOMP_FILTER_FLAG_TSYNC), as User Mode Linux does, and takes no other operation and no other
  flag. That only narrows what a process may do: of all its filters the most restrictive answer
  counts, and this one stays. A filter's answers SECCOMP_RET_USER_NOTIF and SECCOMP_RET_TRACE could
  hand a call to another process: without the flag NEW_LISTENER there is nobody to be notified, so
  the call fails, and what a tracer changes is filtered again.

Source: seccomp(2), seccomp_rule_add(3), linux/sched.h, asm-generic/ioctls.h; of the last point
seccomp_run_filters() and __seccomp_filter() of Linux's kernel/seccomp.c.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import socket

from orchestrator.errors import MachineError

LIBRARY = "libseccomp.so.2"
PACKAGE = "libseccomp2"

PROCESSES = """
    alarm arch_prctl clock_getres clock_gettime clock_nanosleep execve execveat exit exit_group
    fork futex get_robust_list getcpu getegid geteuid getgid getgroups getitimer getpgid getpgrp
    getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid gettid
    gettimeofday getuid kill landlock_add_rule landlock_create_ruleset landlock_restrict_self
    membarrier modify_ldt nanosleep pause personality prlimit64 ptrace restart_syscall
    rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
    rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
    sched_getaffinity sched_getparam sched_getscheduler sched_setaffinity sched_yield
    set_robust_list set_tid_address setfsgid setfsuid setgid setitimer setpgid setpriority
    setregid setresgid setresuid setreuid setrlimit setsid setuid sigaltstack signalfd4 sysinfo
    tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_settime
    timerfd_create timerfd_gettime timerfd_settime times tkill umask uname vfork wait4 waitid
"""

MEMORY = """
    brk madvise mincore mlock mmap mprotect mremap msync munlock munmap
"""

FILES = """
    access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 epoll_create
    epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 faccessat
    faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl
    fdatasync fgetxattr flistxattr flock fstat fstatfs fsync ftruncate futimesat getcwd getdents
    getdents64 getxattr lchown lgetxattr link linkat listxattr llistxattr lseek lstat mkdir
    mkdirat mknod mknodat newfstatat open openat openat2 pipe pipe2 poll ppoll pread64 preadv
    preadv2 pselect6 pwrite64 pwritev pwritev2 read readlink readlinkat readv rename renameat
    renameat2 rmdir select sendfile stat statfs statx symlink symlinkat truncate unlink unlinkat
    utime utimensat utimes write writev
"""

LOCAL_SOCKETS = """
    accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmsg
    sendmsg sendto setsockopt shutdown
"""

ALLOWED = tuple((PROCESSES + MEMORY + FILES + LOCAL_SOCKETS).split())

NAMESPACE_FLAGS = 0x7E020080
"""CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET."""

IOCTLS = (
    *range(0x5401, 0x5409),  # TCGETS TCSETS TCSETSW TCSETSF TCGETA TCSETA TCSETAW TCSETAF
    0x5409, 0x540A, 0x540B,  # TCSBRK TCXONC TCFLSH
    0x540E, 0x540F, 0x5410,  # TIOCSCTTY TIOCGPGRP TIOCSPGRP
    0x5411, 0x5413, 0x5414,  # TIOCOUTQ TIOCGWINSZ TIOCSWINSZ
    0x541B, 0x5421, 0x5422, 0x5429,  # FIONREAD FIONBIO TIOCNOTTY TIOCGSID
    0x5441, 0x5450, 0x5451, 0x5452,  # TIOCGPTPEER FIONCLEX FIOCLEX FIOASYNC
    0x80045430, 0x40045431,  # TIOCGPTN TIOCSPTLCK
    0x40049409, 0x80086601,  # FICLONE FS_IOC_GETFLAGS
)  # fmt: skip

_PR_SET_SECCOMP = 22
_SET_MODE_FILTER, _TSYNC = 1, 1

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EQUAL, _MASKED_EQUAL = 4, 7
_OPTIMISE, _BINARY_TREE = 8, 2
_UNKNOWN = -1
_LOW_HALF = 0xFFFFFFFF


class _Compare(ctypes.Structure):
    """struct scmp_arg_cmp of seccomp.h."""

    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    )


@functools.cache
def program(own_filters: bool = False) -> bytes:
    """Return the filter: an array of struct sock_filter, as ``bwrap --seccomp`` reads it.

    With ``own_filters`` what runs in the sandbox may add filters of its own.

    Raises:
        MachineError: libseccomp is not installed or fails.
    """
    library = _library()
    context = library.seccomp_init(_ERRNO | errno.EPERM)
    if not context:
        raise MachineError(
            f"{LIBRARY} cannot create a filter", f"apt-get install --reinstall {PACKAGE}"
        )
    try:
        filter_ = _Filter(library, context)
        for name in ALLOWED:
            filter_.add(_ALLOW, name)
        filter_.add(_ERRNO | errno.ENOSYS, "clone3")
        filter_.add(_ALLOW, "clone", _Compare(0, _MASKED_EQUAL, NAMESPACE_FLAGS, 0))
        for name in ("socket", "socketpair"):
            filter_.add(_ALLOW, name, _Compare(0, _MASKED_EQUAL, _LOW_HALF, socket.AF_UNIX))
        for request in IOCTLS:
            # The kernel reads only the lower half of the register, so the filter must too.
            filter_.add(_ALLOW, "ioctl", _Compare(1, _MASKED_EQUAL, _LOW_HALF, request))
        # An option is another one if one of its bits is: libseccomp compares unequal values whole.
        for bit in (1 << number for number in range(32)):
            other = bit & ~_PR_SET_SECCOMP
            filter_.add(_ALLOW, "prctl", _Compare(0, _MASKED_EQUAL, bit, other))
        if own_filters:
            filter_.add(
                _ALLOW,
                "seccomp",
                _Compare(0, _MASKED_EQUAL, _LOW_HALF, _SET_MODE_FILTER),
                _Compare(1, _MASKED_EQUAL, _LOW_HALF, _TSYNC),
            )
        return filter_.exported()
    finally:
        library.seccomp_release(context)


class _Filter:
    """A filter under construction; errors of libseccomp become MachineError."""

    def __init__(self, library: ctypes.CDLL, context: int) -> None:
        self._library, self._context = library, ctypes.c_void_p(context)
        # A linear list of about 250 comparisons would slow down each system call.
        library.seccomp_attr_set(self._context, _OPTIMISE, _BINARY_TREE)

    def add(self, action: int, name: str, *compared: _Compare) -> None:
        """Add a rule; a call that this libseccomp does not know stays denied."""
        number = self._library.seccomp_syscall_resolve_name(name.encode())
        if number == _UNKNOWN:
            return
        rules = (_Compare * max(1, len(compared)))(*compared)
        self._require(
            self._library.seccomp_rule_add_array(
                self._context, action, number, len(compared), rules
            ),
            f"a rule for {name}",
        )

    def exported(self) -> bytes:
        """Return the program that the kernel loads."""
        descriptor = os.memfd_create("seccomp", os.MFD_CLOEXEC)
        try:
            done = self._library.seccomp_export_bpf(self._context, descriptor)
            self._require(done, "the program")
            return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        finally:
            os.close(descriptor)

    @staticmethod
    def _require(result: int, what: str) -> None:
        if result:
            raise MachineError(
                f"{LIBRARY} refuses {what}: {os.strerror(-result)}",
                f"apt-get install --reinstall {PACKAGE}",
            )


def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        raise MachineError(
            f"{LIBRARY} is not installed: system calls of the guest cannot be filtered",
            f"apt-get install {PACKAGE}",
        ) from None
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_release.argtypes = [ctypes.c_void_p]
    library.seccomp_release.restype = None
    library.seccomp_attr_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32]
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(_Compare)
    ]  # fmt: skip
    library.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
    return library
