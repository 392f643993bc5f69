"""Errors of a store that cannot be read or written: the cause, and the fix."""

from __future__ import annotations

import errno
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.errors import StoreError
from orchestrator.files.system_errors import FILE_SIZE_FIX, file_size_limit, reason

ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""Errors of operations on a file. The second occurs if SQLite's message has damaged text of it."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into StoreError naming the file."""
    try:
        yield
    except ERRORS as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> StoreError:
    """Return the error to raise when SQLite cannot read the file, with what to do about it."""
    damaged = isinstance(error, UnicodeDecodeError) or _is_damage(error)
    fix = "; `orchestrator doctor --store` lists the damage" if damaged else ""
    return StoreError(f"{path}: cannot read the results database: {error}{fix}")


def _is_damage(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    damage = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
    return isinstance(code, int) and code & 0xFF in damage


def unwritable(path: Path, error: Exception) -> StoreError:
    """Return the error to raise when SQLite or the system would not write, with the fix."""
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int) and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        fix = "another program holds it: end that one, or name another file with --db"
    elif isinstance(error, OSError) and error.errno == errno.EFBIG:
        fix = FILE_SIZE_FIX  # its reason names the limit
    elif _exceeds_file_size(error):
        fix = f"{file_size_limit()}: {FILE_SIZE_FIX}"
    elif isinstance(error, OSError | sqlite3.OperationalError):
        fix = f"make {path.absolute().parent} writable with room to spare, or use another --db"
    else:
        fix = (
            "`orchestrator doctor --store` lists the damage; "
            "put back a copy of the file, or name another with --db"
        )
    what = reason(error) if isinstance(error, OSError) else error
    return StoreError(f"{path}: cannot write the results database: {what}; {fix}")


def _exceeds_file_size(error: Exception) -> bool:
    """Tell whether a limit on the size of files explains the error; SQLite does not say why."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    code = getattr(error, "sqlite_errorcode", 0)
    codes = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN)
    return soft != resource.RLIM_INFINITY and code & 0xFF in codes
