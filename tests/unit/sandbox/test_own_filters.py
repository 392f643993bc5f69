"""Which filters of system calls a sandboxed process may add, and that they only take away."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

FILTERED = Path(__file__).with_name("filtered.py")
PRCTL, GETPPID, UNSHARE, SECCOMP = 157, 110, 272, 317
STRICT, FILTER, AVAILABLE, SIZES = range(4)
TSYNC, LOG, SPEC_ALLOW, LISTENER, ESRCH = 1, 2, 4, 8, 16
SET_NAME, GET_SECCOMP, SET_SECCOMP = 15, 21, 22
NAMESPACE = f"{UNSHARE},0x20000"
ADDED = f"{SECCOMP},{FILTER},{TSYNC}"


def errors(own_filters: bool, *calls: str) -> list[int]:
    """Return the error number of each call in a process with the filter, 0 for success."""
    done = subprocess.run(
        [sys.executable, str(FILTERED), str(int(own_filters)), *calls],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return [int(line) for line in done.stdout.split()]


REFUSED = (
    f"{SECCOMP},{FILTER},0,allow",
    *(f"{SECCOMP},{FILTER},{TSYNC | flag},allow" for flag in (LOG, SPEC_ALLOW, LISTENER, ESRCH)),
    f"{SECCOMP},{FILTER},{LISTENER},allow",
    f"{SECCOMP},{STRICT},0,0",
    f"{SECCOMP},{AVAILABLE},0,0",
    f"{SECCOMP},{SIZES},0,0",
    f"{PRCTL},{SET_SECCOMP},2,allow",
    f"{PRCTL},0x100000016,2,allow",
    f"{PRCTL},{SET_SECCOMP},1,0",
)


@pytest.mark.parametrize("own_filters", [False, True])
def test_only_a_filter_for_all_threads_can_be_added_and_only_where_that_is_allowed(
    own_filters: bool,
) -> None:
    tried = [*REFUSED, f"{ADDED},allow", f"{PRCTL},{SET_NAME},allow", f"{PRCTL},{GET_SECCOMP}"]
    *refused, added, named, got = errors(own_filters, *tried)
    assert refused == [errno.EPERM] * len(REFUSED)
    assert added == (0 if own_filters else errno.EPERM)
    assert (named, got) == (0, 0)


def test_an_added_filter_allows_nothing_that_was_denied() -> None:
    assert errors(True, NAMESPACE, f"{ADDED},allow", NAMESPACE) == [errno.EPERM, 0, errno.EPERM]


@pytest.mark.parametrize("answer", ["notify", "trace"])
def test_an_added_filter_hands_no_call_to_another_process(answer: str) -> None:
    """Nobody can be notified, and nobody traces: the call fails."""
    calls = (f"{GETPPID}", f"{ADDED},{answer}", f"{GETPPID}", NAMESPACE)
    assert errors(True, *calls) == [0, 0, errno.ENOSYS, errno.EPERM]
