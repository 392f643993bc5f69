"""Reads and writes sysctls, one by one."""

from __future__ import annotations

import os


def write_sysctl(name: str, value: str | int) -> None:
    """Write one sysctl, of the calling thread's network namespace where it is per namespace."""
    path = "/proc/sys/" + name.replace(".", "/")
    try:
        descriptor = os.open(path, os.O_WRONLY)
    except FileNotFoundError as error:
        raise OSError(error.errno, f"Linux {os.uname().release} has no sysctl {name}") from None
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


def read_sysctl(name: str) -> str | None:
    """Return a sysctl's value as text with single blanks, or None where the kernel has none."""
    try:
        descriptor = os.open("/proc/sys/" + name.replace(".", "/"), os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return " ".join(os.read(descriptor, 4096).decode().split())
    finally:
        os.close(descriptor)
