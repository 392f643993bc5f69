"""Reads and writes sysctls."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Sequence

_MOST_BYTES = 4096


def write_sysctl(name: str, value: str | int) -> None:
    """Write one sysctl, of the calling thread's network namespace where it is per namespace."""
    descriptor = _opened(name, os.O_WRONLY)
    try:
        os.write(descriptor, str(value).encode())
    finally:
        os.close(descriptor)


def read_sysctl(name: str) -> str | None:
    """Return a sysctl's value as text with single blanks, or None where the kernel has none."""
    try:
        descriptor = _opened(name, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        return _text(os.read(descriptor, _MOST_BYTES))
    finally:
        os.close(descriptor)


class OpenSysctls:
    """Sysctls of the network namespace in which the calling thread is, whose files stay open.

    A file of /proc/sys/net shows the namespace in which it was opened, from whatever namespace it
    is read later. So a reading takes one system call a sysctl.

    Raises:
        FileNotFoundError: the kernel has no sysctl of a name.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._files = {name: _opened(name, os.O_RDONLY) for name in names}

    def read(self) -> dict[str, str]:
        """Return {sysctl: text with single blanks} as the kernel has them now."""
        return {name: _text(os.pread(file, _MOST_BYTES, 0)) for name, file in self._files.items()}


def _opened(name: str, flags: int) -> int:
    try:
        return os.open("/proc/sys/" + name.replace(".", "/"), flags | os.O_CLOEXEC)
    except FileNotFoundError as error:
        text = f"Linux {os.uname().release} has no sysctl {name}"
        raise FileNotFoundError(error.errno, text) from None


def _text(value: bytes) -> str:
    return " ".join(value.decode().split())
