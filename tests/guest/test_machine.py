"""Machines that lack something: each command works, or ends with the reason and what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from guest.build import GuestKernel
from tests.guest.conftest import QUICKSTART

pytestmark = pytest.mark.guest

SHORT = ("--set", "duration=3s", "--set", "warmup=1s")


def run_in(
    folder: Path, before: str, db: str = "runs.db", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the quickstart in a shell of its own mounts, after some commands of the shell."""
    program = [str(Path(sys.executable).with_name("orchestrator")), "run", str(QUICKSTART)]
    words = [*program, *SHORT, "--db", db]
    shell = ["sh", "-c", f'{before}\nexec "$@"', "sh", *words]
    return subprocess.run(
        ["unshare", "--mount", *shell] if "mount" in before else shell,
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def require_root(before: str) -> None:
    if "mount" in before and os.geteuid():
        pytest.skip("mounts need root")


NO_SHARED_MEMORY = """
mount -t tmpfs -o mode=755 none /dev
mknod -m 666 /dev/null c 1 3; mknod -m 666 /dev/zero c 1 5; mknod -m 666 /dev/full c 1 7
mknod -m 666 /dev/random c 1 8; mknod -m 666 /dev/urandom c 1 9; mknod -m 666 /dev/tty c 5 0
test ! -e /dev/shm || exit 99
"""


@pytest.mark.parametrize(
    ("before", "environment"),
    [
        pytest.param(
            "mkdir 'mit leer ü'; export TMPDIR=\"$PWD/mit leer ü\"", {}, marks=pytest.mark.long
        ),
        ("mkdir 'mit leer ü'; export TMPDIR=\"$PWD/mit leer ü\"", {"LC_ALL": "POSIX", "LANG": "C"}),
        pytest.param("exec <&-", {}, marks=pytest.mark.long),
        pytest.param("mount -t tmpfs -o ro,size=4k none /dev/shm", {}, marks=pytest.mark.long),
        (NO_SHARED_MEMORY, {}),
    ],
    ids=["odd TMPDIR", "POSIX", "no stdin", "read-only /dev/shm", "no /dev/shm"],
)
def test_it_runs(
    kernel: GuestKernel, tmp_path: Path, before: str, environment: dict[str, str]
) -> None:
    assert kernel
    require_root(before)
    done = run_in(tmp_path, before, **environment)
    assert done.returncode == 0, done.stderr


READ_ONLY = "mkdir ro; mount -t tmpfs -o ro none ro"
LIMITED, SOFTLY_LIMITED = "ulimit -f 1200", "ulimit -S -f 1200"
FULL = "mkdir ro; mount -t tmpfs -o size=64k none ro"


@pytest.mark.parametrize(
    ("before", "variable", "db", "status", "said"),
    [
        ("", "TMPDIR", "runs.db", 4, ["which is not a folder", "fix: unset TMPDIR"]),
        (READ_ONLY, "TMPDIR", "runs.db", 4,
         ["cannot make a temporary folder in", "Read-only file system", "fix: set TMPDIR"]),
        (FULL, "TMPDIR", "runs.db", 1,
         ["the temporary disk is full", "free some space there, or set TMPDIR",
          "with enough\n  it ended with: [Errno 28] No space left on device\n"]),
        (READ_ONLY, "ORCHESTRATOR_CACHE", "runs.db", 4,
         ["cannot create the cache", "Read-only file system", "fix: set ORCHESTRATOR_CACHE"]),
        (READ_ONLY, "", "ro/runs.db", 1, ["cannot write the results database", "make "]),
        (FULL, "", "ro/runs.db", 1,
         ["cannot write the results database: No space left on device; make ", " with room"]),
        (LIMITED, "", "runs.db", 4,
         ["a guest's memory is a file of", "this process may write 614400 bytes to a file",
          "fix: raise the limit on the size of files, which `ulimit -f` shows"]),
        (SOFTLY_LIMITED, "", "runs.db", 4,
         ["/0: File too large: this process may write 614400 bytes to a file",
          "fix: raise the limit on the size of files, which `ulimit -f` shows"]),
        ("ulimit -f 200", "", "runs.db", 1,
         ["runs.db: cannot write the results database", "may write 102400 bytes to a file"]),
    ],
    ids=["no TMPDIR", "read-only TMPDIR", "full TMPDIR", "read-only cache", "read-only store",
         "full store", "limit of files", "soft limit of files", "limit below a store"],
)  # fmt: skip
def test_it_ends_with_the_reason(
    kernel: GuestKernel,
    tmp_path: Path,
    before: str,
    variable: str,
    db: str,
    status: int,
    said: list[str],
) -> None:
    assert kernel
    require_root(before)
    environment = {variable: str(tmp_path / "ro")} if variable else {}
    done = run_in(tmp_path, before, db, **environment)
    text = done.stdout + done.stderr
    assert done.returncode == status, text
    assert [part for part in said if part not in text] == [], text
    assert "this is a bug" not in text
    assert done.stderr.count("error:") <= 1
