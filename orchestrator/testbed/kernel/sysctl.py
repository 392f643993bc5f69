"""Reads and writes sysctls."""

from __future__ import annotations

import os

_MOST_BYTES = 4096


def write_sysctl(name: str, value: str | int) -> None:
    """Write one sysctl, of the calling thread's network namespace where it is per namespace."""
    descriptor = open_sysctl(name, os.O_WRONLY)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


def read_sysctl(name: str) -> str | None:
    """Return a sysctl's value as text with single blanks, or None where the kernel has none."""
    try:
        descriptor = open_sysctl(name)
    except FileNotFoundError:
        return None
    try:
        return sysctl_text(os.read(descriptor, _MOST_BYTES))
    finally:
        os.close(descriptor)


def open_sysctl(name: str, flags: int = os.O_RDONLY) -> int:
    """Return a descriptor of a sysctl of the thread's network namespace.

    A file of /proc/sys/net shows the namespace in which it was opened, from whatever namespace it
    is read later.

    Raises:
        FileNotFoundError: the kernel has no such sysctl.
    """
    try:
        return os.open("/proc/sys/" + name.replace(".", "/"), flags | os.O_CLOEXEC)
    except FileNotFoundError as error:
        text = f"Linux {os.uname().release} has no sysctl {name}"
        raise FileNotFoundError(error.errno, text) from None


def sysctl_text(content: bytes) -> str:
    """Return what a file of a sysctl has, as text with single blanks."""
    return " ".join(content.decode().split())
