"""Workers of a cluster that pretend."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path


def descendants(pid: int) -> Iterator[int]:
    """Yield a process and all below it."""
    yield pid
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from descendants(int(child))


def listening(pids: set[int]) -> set[tuple[str, int]]:
    """Return the IPv4 addresses (others as /proc/net has them) and ports where processes listen."""
    held = set()
    for pid in pids:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # it was closed
                found = re.fullmatch(r"socket:\[(\d+)\]", str(entry.readlink()))
                held |= {found[1]} if found else set()
    places = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in held:
                host, port = words[1].split(":")
                places.add(("127.0.0.1" if host == "0100007F" else host, int(port, 16)))
    return places
