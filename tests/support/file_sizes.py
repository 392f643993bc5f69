"""A limit on the size of files, and what is said of files that it keeps from being written."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator

TOO_LARGE = (
    " be written: File too large: this process may write {} bytes to a file\n"
    "  fix: raise the limit on the size of files, which `ulimit -f` shows"
)


@contextlib.contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    """Let this process write no larger files. Python ignores the signal of the kernel."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
