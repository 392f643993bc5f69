"""The licence of each file, as REUSE.toml and the files themselves say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.build

ROOT = Path(__file__).parents[2]
KERNEL_SUFFIXES = {".c", ".h", ".patch"}
KERNEL_NAMES = {"Kbuild", "dkms.conf", "kmods/Makefile", "kmods/tests/Makefile"}
LINKED_WITH_NS3 = "bench/ns3/dumbbell.cc"
UAPI = {"kmods/uapi/pkt_sch_link.h", "kmods/uapi/run_trace.h"}
"""Programs under any licence may include these."""


def test_code_of_the_kernel_is_gpl_and_all_else_apache() -> None:
    program = Path(sys.executable).with_name("reuse")
    done = subprocess.run(
        [program, "lint", "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = {
        entry["path"]: {each["value"] for each in entry["spdx_expressions"]}
        for entry in json.loads(done.stdout)["files"]
    }
    assert done.returncode == 0, done.stdout
    assert found.keys() >= {"kmods/catalogue.py", "kmods/core/arith.h", "README.md", *UAPI}
    for path, licences in found.items():
        assert licences == {expected(path)}, path


def expected(path: str) -> str:
    if path in UAPI:
        return "GPL-2.0-only WITH Linux-syscall-note"
    if path.startswith("web/static/vendor/uPlot"):
        return "MIT"
    name = Path(path).name
    kernel = Path(path).suffix in KERNEL_SUFFIXES or {path, name} & KERNEL_NAMES
    return "GPL-2.0-only" if kernel or path == LINKED_WITH_NS3 else "Apache-2.0"


def test_each_file_of_kernel_code_says_so_itself() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.c", "*.h", "*.cc"], cwd=ROOT, capture_output=True, text=True,
        check=True,
    ).stdout.split()  # fmt: skip
    assert len(listed) > 70
    for path in listed:
        first = (ROOT / path).read_text("utf-8").partition("\n")[0]
        assert f"SPDX-License-Identifier: {expected(path)}" in first, path
