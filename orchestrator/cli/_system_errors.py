"""What to say of errors of the system that a command could not foresee: a full disk, few rights.

A command that knows the file says more by an error of its own. This is what all commands have in
common, so that a limit or a full disk is never taken for a bug of this program.
"""

from __future__ import annotations

import errno
import os

from orchestrator.errors import MachineError
from orchestrator.files.system_errors import FIXES, reason
from orchestrator.files.user_files import named

_NEW_THREAD = "can't start new thread"
"""Python's RuntimeError where the system makes no further thread."""


def explained(error: BaseException) -> MachineError | None:
    """Return the error to show for one of the system, None if it may be a bug of this program."""
    if isinstance(error, MemoryError):
        return MachineError("this process gets no more memory", FIXES[errno.ENOMEM])
    if isinstance(error, RuntimeError) and str(error) == _NEW_THREAD:
        return MachineError("this process cannot start a thread", FIXES[errno.EAGAIN])
    if not isinstance(error, OSError):
        return None
    if error.errno == errno.ENOENT and error.filename is None and _folder_is_gone():
        return MachineError("the current folder was removed", "change to a folder that exists")
    if error.errno not in FIXES:
        return None
    what = f"{named(os.fsdecode(error.filename))}: " if error.filename else ""
    return MachineError(f"{what}{reason(error)}", FIXES[error.errno])


def _folder_is_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109 - pathlib's calls this
    except FileNotFoundError:
        return True
    return False
