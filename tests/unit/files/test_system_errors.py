"""What is said of errors of the system."""

from __future__ import annotations

import errno
import resource

import pytest

from orchestrator.errors import MachineError, UsageError
from orchestrator.files.system_errors import reason, unwritable


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "Error writing bytes to file. Detail: [errno 28] No space left on device"),
         "x.csv: cannot be written: No space left on device\n"
         "  fix: free some space on its file system"),
        (OSError(122, "Disk quota exceeded"),
         "x.csv: cannot be written: Disk quota exceeded\n"
         "  fix: this user's disk quota is used up: remove files"),
        (OSError(2, "No such file or directory", "/x/y"),
         "x.csv: cannot be written: No such file or directory\n"
         "  fix: make its folder first, or name another place"),
        (OSError("a library's own words"), "x.csv: cannot be written: a library's own words"),
        (MachineError("no folder", "make one"),
         "x.csv: cannot be written: no folder\n  fix: make one"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_written_is_named_with_the_fix(
    error: OSError | MachineError, said: str
) -> None:
    found = unwritable("x.csv", error)
    assert isinstance(found, UsageError)
    assert str(found) == said


def test_the_limit_on_open_files_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (12, 4096))
    said = "Too many open files: this process may have 12 files open"
    assert reason(OSError(errno.EMFILE, "")) == said


def test_a_limit_of_the_file_system_is_none_of_the_process() -> None:
    assert reason(OSError(27, "")) == (
        "File too large: its file system has a limit on the size of files"
    )
