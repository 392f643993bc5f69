"""What to say of errors of the system: a full disk, a limit, few rights."""

from __future__ import annotations

import errno
import os
import resource

from orchestrator.errors import MachineError, UsageError

FILE_SIZE_FIX = "raise the limit on the size of files, which `ulimit -f` shows"

OPEN_FILES_FIX = "raise the limit on open files, which `ulimit -n` shows"

NO_FOLDER_FIX = "make its folder first, or name another place"

FIXES = {
    errno.ENOSPC: "free some space on its file system",
    errno.EDQUOT: "this user's disk quota is used up: remove files",
    errno.EFBIG: FILE_SIZE_FIX,
    errno.EROFS: "its file system is read-only: name another place",
    errno.EACCES: "give this user access, or name another place",
    errno.EPERM: "give this user access, or name another place",
    errno.EMFILE: OPEN_FILES_FIX,
    errno.ENFILE: "close other programs: the system has no free file descriptor",
    errno.ENOMEM: "end other programs, or raise the limit that `ulimit -v` shows",
    errno.EAGAIN: "end other programs, or raise the limit that `ulimit -u` shows",
    errno.ENAMETOOLONG: "give it a shorter path",
    errno.ELOOP: "its path goes round by symbolic links: name another place",
    errno.ENOTDIR: "a folder of its path is a file: name another place",
    errno.EIO: "its disk cannot be read or written: see the kernel's log",
    errno.ESTALE: "its network file system has lost it: mount it again",
}
"""What to do about an error number; other numbers say nothing of the machine."""


def file_size_limit() -> str:
    """Return what this process's limit on the size of files is, in words."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if soft == resource.RLIM_INFINITY:
        return "its file system has a limit on the size of files"
    return f"this process may write {soft} bytes to a file"


def open_files_limit() -> str:
    """Return what this process's limit on open files is, in words."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return f"this process may have {soft} files open"


def reason(error: OSError) -> str:
    """Return what the system says, with the limit where a file is too large, or one too many."""
    if error.errno is None:
        return str(error)
    message = os.strerror(error.errno)  # libraries replace strerror by texts of their own
    limit = {errno.EFBIG: file_size_limit, errno.EMFILE: open_files_limit}.get(error.errno)
    return message if limit is None else f"{message}: {limit()}"


def unwritable(what: object, error: OSError | MachineError) -> UsageError:
    """Return the error to raise when a file that a user named cannot be written, with the fix."""
    if isinstance(error, MachineError):
        return UsageError(f"{what}: cannot be written: {error}")
    fix = {**FIXES, errno.ENOENT: NO_FOLDER_FIX}.get(error.errno or 0)
    return UsageError(
        f"{what}: cannot be written: {reason(error)}" + (f"\n  fix: {fix}" if fix else "")
    )
