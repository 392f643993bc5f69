"""What a stranger's module and Kbuild may not do at all: every act is refused by the boundary."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from results.store.store import Store
from tests.hostile.host import HERE, KERNELS, Desk

pytestmark = [pytest.mark.guest, pytest.mark.real_time]  # what the host is like is compared

GIB = 2**30
EPERM, ENOSYS = 1, 38
FILTERED = re.compile(r"^\tX\((\w+), ", re.MULTILINE)
ANSWER = re.compile(r"intruder: (build|guest) (\w+) (-?\d+)")


def acts() -> tuple[set[str], set[str]]:
    """Return the names of all acts and of those that the filter refuses by itself."""
    text = (HERE / "intruder" / "acts.h").read_text(encoding="utf-8")
    rest, filtered = text.split("#define FILTERED(X)")
    return {*FILTERED.findall(rest), *FILTERED.findall(filtered)}, {*FILTERED.findall(filtered)}


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_act_is_refused_in_the_guest_and_in_the_build(at_desk: Desk, kernel: str) -> None:
    outcome = at_desk.run(kernel, act=[1])
    assert outcome.status == 1, outcome.errors
    (run,) = outcome.runs()
    assert run["status"] == "failed"
    assert "Operation not permitted" in run["error"]
    assert outcome.peak_bytes < GIB
    with Store.open_read_only(at_desk.db) as store:
        console = store.load(run["id"]).artefact("console")
    assert ("seccomp filters can be installed...OK" in console) == bool(kernel)
    known, filtered = acts()
    assert len(known) > 80
    for where in ("build", "guest"):
        answers = {
            name: int(text) for place, name, text in ANSWER.findall(console) if place == where
        }
        assert set(answers) == known
        allowed = {name: answer for name, answer in answers.items() if answer >= 0}
        assert not allowed, f"{where}: {allowed}"
        wrong = {name: answers[name] for name in filtered if answers[name] not in (-EPERM, -ENOSYS)}
        assert not wrong, f"{where}: not refused by the filter but by {wrong}"


MAKEFILE = """\
defconfig mrproper olddefconfig: ; @echo CONFIG_TCP_CONG_CUBIC=y >.config
linux:
\t@gcc -O1 -Iintruder -o /tmp/builder intruder/builder.c && /tmp/builder
\t@mkdir include/config && echo 6.12.7 | tee linux System.map Module.symvers \\
\t\tinclude/config/kernel.release
modules: ; @:
"""
BUILD = """
import os, sys
from pathlib import Path
from guest import build, patch_series
from guest.choice import KernelChoice
from orchestrator.sandbox.kernel_builds import confined
desk = Path(sys.argv[1])
os.environ["ORCHESTRATOR_CACHE"] = str(desk / "cache")
patch_series.PATCHES, build.FRAGMENT = desk / "patches", desk / "kernel.config"
kernel = build.ensure(confined, choice=KernelChoice("linux", desk / "linux"))
print((kernel.linux.parents[1] / "logs" / f"{kernel.key}.log").read_text())
"""


def test_every_act_is_refused_in_the_build_of_a_kernel(at_desk: Desk) -> None:
    tree = at_desk.folder / "linux"
    for folder in ("scripts/kconfig", "include", "arch/um", "arch/x86"):
        (tree / folder).mkdir(parents=True)
    shutil.copytree(at_desk.folder / "intruder", tree / "intruder")
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "Kbuild").touch()
    merge = tree / "scripts/kconfig/merge_config.sh"
    merge.write_text('#!/bin/sh\ncat "$3" >>"$2"\n')
    merge.chmod(0o755)
    (at_desk.folder / "kernel.config").touch()
    for path in (tree, *tree.rglob("*")):
        os.chown(path, at_desk.user.uid, at_desk.user.gid)
    outcome = at_desk.python("-c", BUILD, str(at_desk.folder))
    assert outcome.status == 0, outcome.errors
    answers = {
        name: int(text) for name, text in re.findall(r"SAID\((\w+), (-?\d+)\)", outcome.output)
    }
    known, filtered = acts()
    assert set(answers) == known
    allowed = {name: answer for name, answer in answers.items() if answer >= 0}
    assert not allowed
    assert not {name for name in filtered if answers[name] not in (-EPERM, -ENOSYS)}


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user is refused most of it anyway")
def test_without_the_boundary_most_acts_are_not_refused(tmp_path: Path) -> None:
    """Or the test above could not fail. Only acts that change nothing are tried here."""
    (tmp_path / "target.h").write_text(
        f'#define TARGET {os.getpid()}\n#define TARGET_TEXT "{os.getpid()}"\n', encoding="utf-8"
    )
    folder = HERE / "intruder"
    program = tmp_path / "builder"
    subprocess.run(
        ["gcc", f"-I{tmp_path}", "-o", program, folder / "builder.c"], check=True
    )  # fmt: skip
    said = subprocess.run(
        ["unshare", "--pid", "--fork", program], capture_output=True, text=True, check=True
    ).stdout
    answers = dict(re.findall(r"SAID\((\w+), (-?\d+)\)", said))
    _known, filtered = acts()
    through = {name for name in filtered if int(answers[name]) not in (-EPERM, -ENOSYS)}
    assert len(through) > 0.75 * len(filtered), filtered - through
    for name in ("sysctl_swappiness", "read_shadow", "socket_inet", "create_in_etc"):
        assert int(answers[name]) >= 0, name
