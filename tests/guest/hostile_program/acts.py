"""Tries what a hostile program might, and prints the name of each act that it could do.

It is run in a guest as the program of a flow; the standard library is all that it has.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

NAMESPACES = {
    "mounts": 0x20000, "control groups": 0x2000000, "names": 0x4000000, "IPC": 0x8000000,
    "users": 0x10000000, "processes": 0x20000000, "the network": 0x40000000,
}  # fmt: skip
WRITTEN = (
    "/x", "/bin/x", "/dev/x", "/etc/hosts", "/etc/passwd", "/etc/resolv.conf", "/lib/x",
    "/proc/1/oom_score_adj", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/modprobe", "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/net/core/rmem_max", "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/net/ipv4/tcp_congestion_control", "/proc/sys/net/ipv4/tcp_rmem",
    "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/run/x", "/sys/x", "/usr/bin/x", "/var/x",
)  # fmt: skip
READ = (
    "/dev/kmem", "/dev/kmsg", "/dev/mem", "/dev/port", "/dev/ubda", "/etc/gshadow", "/etc/shadow",
    "/proc/1/environ", "/proc/1/mem", "/proc/1/root/etc/passwd", "/proc/kcore", "/proc/kmsg",
    "/proc/self/net/run_datagrams",
)  # fmt: skip
SYSTEM_CALLS: dict[str, tuple[int, tuple[object, ...]]] = {
    "trace the first process": (101, (16, 1, 0, 0)),
    "set the time of day": (164, (struct.pack("=qq", 1, 0), 0)),
    "turn on swap": (167, (b"/tmp/swap", 0)),
    "reboot": (169, (0xFEE1DEAD, 672274793, 0x4321FEDC, 0)),
    "set the host's name": (170, (b"x", 1)),
    "set the domain's name": (171, (b"x", 1)),
    "get the right to all ports of the processor": (172, (3,)),
    "get the right to a port of the processor": (173, (0x80, 1, 1)),
    "load a module": (175, (b"", 0, b"")),
    "unload a module": (176, (b"sch_link", 0)),
    "read the kernel's log": (103, (3, b" " * 64, 64)),
    "change quotas": (179, (0x800002 << 8, b"none", 0, 0)),
    "set a clock": (227, (0, struct.pack("=qq", 1, 0))),
    "load another kernel": (246, (0, 0, 0, 0)),
    "watch all files": (300, (0, 0)),
    "open a file by its handle": (304, (-100, struct.pack("=II8s", 8, 1, b"x" * 8), 0)),
    "read another process's memory": (
        310, (1, ctypes.create_string_buffer(16), 0, ctypes.create_string_buffer(16), 0, 1)
    ),
    "load a module by its file": (313, (0, b"", 0)),
    "load another kernel by its file": (320, (0, 0, 0, b"", 0)),
    "load a program of BPF": (
        321, (5, struct.pack("=IIQQIIQ", 2, 2, 0, 0, 0, 0, 0).ljust(128, b"\0"), 128)
    ),
    "count events of all processors": (
        298, (struct.pack("=IIQ", 0, 112, 0).ljust(112, b"\0"), -1, 0, -1, 0)
    ),
    "record what processes do": (163, (b"/tmp/account",)),
    "hang up the terminal": (153, ()),
    "set the kernel's clock": (159, (struct.pack("=Ixxxxq", 2, 1).ljust(208, b"\0"),)),
    "enter another root": (155, (b"/tmp", b"/tmp")),
    "mount": (165, (b"none", b"/tmp", b"tmpfs", 0, 0)),
    "mount a folder elsewhere": (165, (b"/etc", b"/tmp", b"", 4096, 0)),
    "unmount the processes": (166, (b"/proc", 2)),
    "unmount its folder": (166, (b"/tmp", 2)),
    "make all memory stay": (151, (3,)),
    "end the first process": (62, (1, signal.SIGKILL)),
}  # fmt: skip
OPTIONS = {
    "mark packets": (socket.SOL_SOCKET, 36, struct.pack("=I", 1)),
    "have a priority of the kernel's": (socket.SOL_SOCKET, 12, struct.pack("=I", 7)),
    "receive beyond the limit": (socket.SOL_SOCKET, 33, struct.pack("=I", 1 << 30)),
    "send beyond the limit": (socket.SOL_SOCKET, 32, struct.pack("=I", 1 << 30)),
    "debug": (socket.SOL_SOCKET, 1, struct.pack("=I", 1)),
    "take packets for others": (socket.IPPROTO_IP, 19, struct.pack("=I", 1)),
    "repair a connection": (socket.IPPROTO_TCP, 19, struct.pack("=I", 1)),
}
REQUESTS = {
    "take its interface down": (0x8914, struct.pack("16sH", b"eth0", 0)),
    "change its address": (0x8916, struct.pack("16sHH4s", b"eth0", 2, 0, b"\x0a\x09\x09\x09")),
    "change its MTU": (0x8922, struct.pack("16si", b"eth0", 600)),
    "change its hardware address": (0x8924, struct.pack("16sH6s", b"eth0", 1, b"\2\0\0\0\0\1")),
}


def _call(number: int, arguments: tuple[object, ...]) -> None:
    if _libc.syscall(ctypes.c_long(number), *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _option(level: int, name: int, value: bytes) -> None:
    with socket.socket() as tried:
        tried.setsockopt(level, name, value)


def _request(number: int, argument: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
        fcntl.ioctl(tried, number, argument.ljust(40, b"\0"))


def _write(path: str) -> None:
    with Path(path).open("a") as file:
        file.write("1\n")


def _read(path: str) -> None:
    with Path(path).open("rb") as file:
        file.read(1)


def _enter(namespace: str) -> None:
    with Path(f"/proc/1/ns/{namespace}").open() as file:
        _call(308, (file.fileno(), 0))


def _socket(*kind: int) -> None:
    socket.socket(*kind).close()


def _listen_below_1024() -> None:
    socket.create_server(("", 80)).close()


def _many_children() -> None:
    for _child in range(200):
        if not os.fork():
            signal.pause()


def _others() -> dict[str, Callable[[], object]]:
    return {
        "become root": lambda: os.setuid(0),
        "become root's group": lambda: os.setgid(0),
        "join root's groups": lambda: os.setgroups([0]),
        "own a file of root": lambda: os.chown("/etc/passwd", os.getuid(), -1),
        "change a file of root": lambda: Path("/etc/passwd").chmod(0o777),
        "remove a file of root": lambda: Path("/etc/passwd").unlink(),
        "rename a folder of root": lambda: Path("/etc").rename("/etc2"),
        "make a device": lambda: os.mknod("/tmp/null", 0o20666, os.makedev(1, 3)),
        "change the root": lambda: os.chroot("/tmp"),
        "run before all others": lambda: os.sched_setscheduler(
            0, os.SCHED_FIFO, os.sched_param(99)
        ),
        "be nicer than others to itself": lambda: os.setpriority(os.PRIO_PROCESS, 0, -20),
        "have more processes": lambda: resource.setrlimit(resource.RLIMIT_NPROC, (-1, -1)),
        "open more files": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20)),
        "dump its memory": lambda: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1)),
        "be killed last": lambda: _write_text("/proc/self/oom_score_adj", "-1000"),
        "send what it likes": lambda: _socket(socket.AF_INET, socket.SOCK_RAW, 1),
        "see all frames": lambda: _socket(socket.AF_PACKET, socket.SOCK_RAW, 0x300),
        "listen below port 1024": _listen_below_1024,
        "make an interface": lambda: os.open("/dev/net/tun", os.O_RDWR),
        "have 200 children": _many_children,
        "enter the bed's network": lambda: _enter("net"),
        "enter the bed's mounts": lambda: _enter("mnt"),
    }


def _write_text(path: str, text: str) -> None:
    with Path(path).open("w") as file:
        file.write(text)


def acts() -> dict[str, Callable[[], object]]:
    """Return what is tried, by its name; each raises OSError or ValueError where it is refused."""
    found: dict[str, Callable[[], object]] = {}
    for path in WRITTEN:
        found[f"write {path}"] = partial(_write, path)
    for path in READ:
        found[f"read {path}"] = partial(_read, path)
    for name, (number, arguments) in SYSTEM_CALLS.items():
        found[name] = partial(_call, number, arguments)
    for name, option in OPTIONS.items():
        found[name] = partial(_option, *option)
    for name, request in REQUESTS.items():
        found[name] = partial(_request, *request)
    for name, flag in NAMESPACES.items():
        found[f"have its own {name}"] = partial(_call, 272, (flag,))
    return {**found, **_others()}


def main() -> None:
    """Try each act, and print how many there are and which succeeded."""
    tried = acts()
    for name, act in tried.items():
        try:
            act()
        except (OSError, ValueError):
            continue
        os.write(1, f"did {name}\n".encode())
    os.write(1, f"tried {len(tried)}\n".encode())


if __name__ == "__main__":
    main()
