"""Tells crates from scenario files, without what reads a crate."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def is_crate(path: Path) -> bool:
    """Tell whether an argument means a crate: a folder or a ZIP archive, and no scenario file."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            return True
        if not stat.S_ISREG(status.st_mode):
            return False
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return False
    try:
        return path.suffix == ".zip" or os.read(handle, 4) in (b"PK\3\4", b"PK\5\6")
    finally:
        os.close(handle)
