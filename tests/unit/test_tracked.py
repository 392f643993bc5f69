"""No built or downloaded file is part of the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LARGEST_BYTES = 500_000
BUILT = {".whl", ".gz", ".xz", ".zip", ".tar", ".ko", ".o", ".so", ".db", ".pyc", ".parquet"}


def test_the_repository_has_no_built_and_no_large_file() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    assert ROOT / "pyproject.toml" in files
    there = [file for file in files if file.is_file()]  # one may be removed and not yet committed
    assert [str(file) for file in there if file.suffix in BUILT] == []
    assert [str(file) for file in there if file.stat().st_size > LARGEST_BYTES] == []
