"""Counts the warnings that a guest's kernel printed while traffic ran.

From the mark BEGINS to the mark ENDS the console shows only the kernel's warnings and worse. A
warning may have a dump of registers and stack, which counts once with its first line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from orchestrator import plaintext
from orchestrator.protocol.reports.console import BEGINS, ENDS

_MOST_CHARS = 200
_STAMP = re.compile(r"^\[ *\d+\.\d+\] ?")
_CUT, _END = "------------[ cut here ]", "---[ end trace"
"""What encloses the dump of WARN() and BUG() (include/linux/panic.h)."""
_OF_A_DUMP = re.compile(
    r"\s|Modules linked in:|CPU: \d|Tainted: |Hardware name:|Stack:|Call Trace:|Pid: |RIP: |RSP: |"
    r"R[A-Z0-9]{2}: |CR\d: |EIP: |[CDEFGS]S: |EFLAGS: |Code: |\[<[0-9a-f]+>\]|[0-9a-f]{8,16}\b"
)
"""Lines of a dump that is not enclosed, such as that of "BUG: scheduling while atomic"."""


class KernelWarnings(NamedTuple):
    """The number of warnings, and the first one; empty when there is none."""

    number: int
    first: str


def read(console: Path) -> KernelWarnings | None:
    """Return what a console has; None where traffic never began.

    The controller made that file, in a folder that no guest sees. Its size is bounded.
    """
    try:
        descriptor = os.open(console, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, encoding="utf-8", errors="replace", newline="\n") as text:
        return counted(text)


def counted(lines: Iterable[str]) -> KernelWarnings | None:
    """Return the warnings in the lines of a console."""
    begun = False
    first, count = "", 0
    for line in _warnings(lines):
        if line.endswith(BEGINS):
            begun, first, count = True, "", 0
        elif line.endswith(ENDS):
            break
        else:
            count += 1
            first = first or plaintext.visible(plaintext.shortened(line, _MOST_CHARS))
    return KernelWarnings(count, first) if begun else None


def _warnings(lines: Iterable[str]) -> Iterator[str]:
    """Yield the first line of each message, without its time."""
    enclosed = titled = False
    for raw in lines:
        line = _STAMP.sub("", raw.rstrip("\r\n"))
        if line.startswith(_CUT):
            enclosed, titled = True, False
        elif line.startswith(_END):
            enclosed = False
        elif enclosed and not titled:
            titled = True
            yield line
        elif line and not enclosed and not _OF_A_DUMP.match(line):
            yield line
