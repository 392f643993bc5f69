"""The modules' style, and their build for the guest's kernel. test_dkms.py has other kernels."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kmods import build, catalogue
from orchestrator.backends.kernels import ensure
from tests.kmods.conftest import KMODS
from tools.passed_before import Check

# Out of the kernel's tree one source serves several versions, a trace event's layout is given, and
# struct Qdisc has that name.
PASSED_OVER = "CAMELCASE,LINUX_VERSION_CODE,CONSTANT_COMPARISON,OPEN_ENDED_LINE,MACRO_ARG_REUSE"

pytestmark = pytest.mark.kmods


def make(*words: str) -> str:
    """Run make; return what it says, or fail with that."""
    done = subprocess.run(
        ["make", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def check_of_sources(name: str, *tools: str) -> Check:
    """Return a check of the modules' sources by this file, the kernel's tree and these tools."""
    versions = [subprocess.check_output([tool, "--version"], text=True) for tool in tools]
    return Check(name, [KMODS, Path(__file__)], [ensure().key, *versions])


def test_modules_build_without_warnings(tmp_path: Path) -> None:
    check = check_of_sources("modules-without-warnings", "gcc", "sparse", "make")
    if check.has_passed():
        return
    tree = ensure().tree
    for path in build.sources():
        target = tmp_path / path.relative_to(KMODS)
        target.parent.mkdir(exist_ok=True)
        shutil.copy(path, target)
    (tmp_path / "tcp_reno.mod.c").write_text("#error left from a build\n", encoding="utf-8")
    said = make("-C", str(tree), f"M={tmp_path}", "-j2", "W=1", "C=2", "ARCH=um", "modules")
    assert not re.search("warning|error", said, re.IGNORECASE), said[-4000:]
    built = {path.stem for path in tmp_path.glob("*.ko")}
    assert built == {
        "sch_link",
        "run_trace",
        "run_counts",
        *(f"tcp_{name}" for name in catalogue.modules()),
    }
    check.remember()


def test_sources_are_in_kernel_style(tmp_path: Path) -> None:
    check = check_of_sources("modules-in-kernel-style", "perl")
    if check.has_passed():
        return
    script = ensure().tree / "scripts" / "checkpatch.pl"
    sources = [path for path in build.sources() if path.suffix in (".c", ".h")]
    command = ["perl", str(script), "--no-tree", "--strict", "--terse", "--ignore", PASSED_OVER]
    done = subprocess.run(
        [*command, "-f", *map(str, sources)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,  # it leaves a file there
    )
    assert done.returncode == 0, done.stdout
    check.remember()
