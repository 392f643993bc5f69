"""Leaves in its folder what a hostile program might, for a bed that keeps files of it.

It is run in a guest as the program of a flow; the standard library is all that it has. The
beginning of a name says what it is, so that a test asks for it by a glob.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import socket
import sys
import time
from pathlib import Path

MANY = 10_100
FULL = 8 << 20
DEEP = "/".join(["deep"] * 60)


def links() -> None:
    """Leave links to what the program does not own, in several ways."""
    Path("folder").mkdir()
    for name, target in {
        "a-link-to-a-file": "/etc/shadow", "a-link-to-the-root": "/", "a-loop": "a-loop",
        "a-relative-link": "../../../../etc", "folder/a-link": "/etc",
    }.items():  # fmt: skip
        Path(name).symlink_to(target)
    Path("own").write_bytes(b"own\n")
    Path("a-hard-link").hardlink_to("own")


def kinds() -> None:
    """Leave what is no regular file."""
    os.mkfifo("b-fifo")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("b-socket")
    Path("b-folder").mkdir()
    for name, kind in (("b-character-device", 0o20666), ("b-block-device", 0o60666)):
        with contextlib.suppress(PermissionError):
            os.mknod(name, kind, os.makedev(1, 3))


def names() -> None:
    """Leave names that cannot be shown, or that lead elsewhere where they are believed."""
    for name in (
        b"c-line\nend", b"c-escape\x1b[2J", b"c-not-utf8-\xff\xfe", b"c-" + b"long" * 60,
        "c-backwards-\u202egpj".encode(), b"c-..", b"c-back\\slash", b"c-$(id)", b"c-<script>",
        b"c-sp ace", b".c-hidden",
    ):  # fmt: skip
        Path(os.fsdecode(name)).write_bytes(b"x")


def sizes() -> None:
    """Leave files that are larger than what may be kept."""
    for name, size_bytes in (("d-sparse", 1 << 40), ("d-largest", (1 << 63) - 4096)):
        with Path(name).open("wb") as file:
            file.truncate(size_bytes)
    # "own" has four bytes, and so has "a-hard-link".
    Path("d-whole").write_bytes(bytes(FULL - 4))
    Path("d-little").write_bytes(b"1")
    Path("d-unreadable").touch(0)


def many() -> None:
    """Leave a folder with more files than are looked at, and a deep one."""
    Path("many").mkdir()
    for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else MANY):
        os.close(os.open(f"many/{number}", os.O_CREAT | os.O_WRONLY))
    Path(DEEP).mkdir(parents=True)


def write_on() -> None:
    """Go on writing in a process of another session, by a mapping and by a descriptor."""
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    descriptor = os.open("e-written", os.O_CREAT | os.O_RDWR)
    os.write(descriptor, bytes(4096))
    mapped = mmap.mmap(descriptor, 4096)
    for number in range(1 << 30):
        mapped[:8] = number.to_bytes(8, "little")
        os.pwrite(descriptor, bytes([number % 256]), 100)
        Path("e-moved").unlink(missing_ok=True)
        Path("e-moved").symlink_to("/etc/shadow")
        time.sleep(0.001)


def main() -> None:
    """Leave all of it, and stay."""
    for act in (links, kinds, names, sizes, many, write_on):
        act()
    os.write(1, b"left\n")
    time.sleep(1000)


if __name__ == "__main__":
    main()
