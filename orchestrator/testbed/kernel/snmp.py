"""The kernel's tables of SNMP counters, /proc/net/snmp and others of their form.

A file of /proc/net shows the namespace in which it was opened, from whatever namespace it is read
later. So a reading of a file that stays open takes one system call.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Collection

_MOST_BYTES = 1 << 16


def opened(table: str) -> int:
    """Return a descriptor of that table of the thread's namespace."""
    return os.open(path(table), os.O_RDONLY | os.O_CLOEXEC)


def path(table: str) -> str:
    """Return where that table of the thread's namespace is."""
    return f"/proc/thread-self/net/{table}"


def text(file: int) -> bytes:
    """Return an open table as it is now: lines of names, each with a line of values after it."""
    return os.pread(file, _MOST_BYTES, 0)


def values(file: int, protocols: Collection[str]) -> dict[str, int]:
    """Return {"Protocol:Counter": value} of some protocols of an open table."""
    lines = text(file).decode().splitlines()
    return {
        f"{protocol}:{name}": int(value)
        for head, row in zip(lines[::2], lines[1::2], strict=True)
        for protocol, _colon, names in [head.partition(":")]
        if protocol in protocols
        for name, value in zip(names.split(), row.split()[1:], strict=True)
    }
