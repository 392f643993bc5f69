"""Reads the dashboard's token from a file that other users cannot read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from orchestrator.errors import UsageError

MOST_BYTES = 1024


def read_token(path: Path) -> str:
    """Return the only line of a file.

    Raises:
        UsageError: it is not a regular file of this user (or root) that others cannot read,
            or it has not exactly one line.
    """
    try:
        # No wait for a FIFO's other end, and no links, because a link could be changed.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"--token-file {path}: cannot be read: {error.strerror}") from error
    try:
        _require_private(path, os.fstat(descriptor))
        content = os.read(descriptor, MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    lines = content.decode("ascii", "replace").splitlines()
    if len(lines) != 1 or len(content) > MOST_BYTES:
        raise UsageError(f"--token-file {path}: must hold one line, the token")
    return lines[0].strip()


def _require_private(path: Path, about: os.stat_result) -> None:
    if not stat.S_ISREG(about.st_mode):
        raise UsageError(f"--token-file {path}: not a regular file")
    if about.st_uid not in (os.geteuid(), 0):
        raise UsageError(f"--token-file {path}: the file belongs to another user")
    if about.st_mode & 0o077:
        mode = stat.S_IMODE(about.st_mode)
        raise UsageError(
            f"--token-file {path}: others have access to it (mode {mode:04o}); chmod 600 {path}"
        )
