"""The modules as a DKMS package: added, built, installed and removed, as on a lab's host.

The build shows the warnings of W=1 and of sparse, so the modules are compiled once for a kernel.

DKMS works on fixed folders of the host. Here it runs as root of a sandbox in which those folders
are empty ones of the test's, so the host's stay as they are and no rights are needed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kmods import catalogue
from tests.kmods.conftest import KMODS, releases

NAME = "paper-congestion-controls"
ANOTHER = "tcp_another"
STRICT = {"KBUILD_EXTRA_WARN": "1", "KBUILD_CHECKSRC": "2", "KCFLAGS": ""}
"""What W=1 and C=2 set; no flags suppress warnings, as they do in a user's build."""

pytestmark = pytest.mark.kmods


class Machine:
    """A host with kernel headers and DKMS, and nothing installed by it."""

    def __init__(self, folder: Path) -> None:
        self.sources, self.dkms = folder / "src", folder / "dkms"
        self.modules = folder / "modules"
        self._binds: list[str] = []
        for path, place in (
            (self.sources, "/usr/src"),
            (self.dkms, "/var/lib/dkms"),
            (self.modules, "/lib/modules"),
        ):
            path.mkdir()
            self._binds += ["--bind", str(path), place]
        for tree in Path("/usr/src").glob("linux-*/"):
            if tree.is_symlink():
                (self.sources / tree.name).symlink_to(tree.readlink())
            else:
                self._binds += ["--ro-bind", str(tree), str(tree)]
        for release in releases():
            (self.modules / release).mkdir()
            build = self.modules / release / "build"
            build.symlink_to(f"/usr/src/linux-headers-{release}")
            # DKMS 3.2 calls depmod only for a kernel that is installed, which has this file.
            (self.modules / release / "modules.dep").touch()

    def run(self, *words: str, package: Path) -> str:
        """Run a command in the package's folder; return what it says, or fail with that."""
        command = ["bwrap", "--unshare-all", "--die-with-parent", "--uid", "0", "--gid", "0"]
        command += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
        command += [*self._binds, "--ro-bind", str(package), "/mnt", "--chdir", "/mnt", *words]
        environment = {**os.environ, **STRICT}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        logs = "".join(log[-3000:] for log in self.logs())
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:] + logs
        return done.stdout

    def logs(self) -> list[str]:
        """Return the output of each build."""
        return [path.read_text(encoding="utf-8") for path in self.dkms.rglob("make.log")]

    def left(self) -> set[str]:
        """Return the names of what DKMS keeps, other than the key that it signs with."""
        kept = [
            *self.dkms.iterdir(),
            *self.sources.glob(f"{NAME}*"),
            *self.modules.glob("*/updates"),
        ]
        return {path.name for path in kept} - {"mok.key", "mok.pub"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    assert shutil.which("dkms"), "no DKMS here: tools/setup test installs it"
    return Machine(tmp_path)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the modules with one more, in a folder where something was built before."""
    package = tmp_path / "kmods"
    shutil.copytree(KMODS, package, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    source = (package / "tcp_newreno_ns2.c").read_text(encoding="utf-8")
    another = source.replace("newreno_ns2", ANOTHER.removeprefix("tcp_"))
    another = another.replace(f'#include "core/{ANOTHER[4:]}.h"', '#include "core/newreno_ns2.h"')
    (package / f"{ANOTHER}.c").write_text(another, encoding="utf-8")
    (package / "tcp_fast.mod.c").write_text("#error left from a build\n", encoding="utf-8")
    return package


def modinfo(module: Path, field: str) -> str:
    command = ["modinfo", "-F", field, str(module)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.long  # test_kmods.py builds the modules for the same kernels, without DKMS
def test_dkms_installs_every_module_for_each_kernel_without_warnings_and_removes_all(
    machine: Machine, package: Path
) -> None:
    chosen = releases()
    header = package / "cc.h"
    current = header.read_text(encoding="utf-8")
    (version,) = re.findall(r'MODULE_VERSION\("(.+)"\)', current)
    header.write_text(current.replace(f'"{version}"', '"0.1"'), encoding="utf-8")
    machine.run("dkms", "add", ".", package=package)
    assert machine.run("dkms", "status", package=package) == f"{NAME}/0.1: added\n"
    header.write_text(current, encoding="utf-8")

    # An older version gives way.
    machine.run("make", "dkms", f"KERNEL={' '.join(chosen)}", package=package)
    status = machine.run("dkms", "status", package=package).splitlines()
    assert sorted(status) == sorted(
        f"{NAME}/{version}, {release}, x86_64: installed" for release in chosen
    )
    logs = machine.logs()
    assert len(logs) == len(chosen)
    for log in logs:
        assert log.count("CHECK ") >= len(catalogue.modules()), "sparse did not run"
        assert not re.search("warning|error", log, re.IGNORECASE), log[-4000:]
    wanted = {f"tcp_{name}" for name in catalogue.modules()} | {
        "sch_link",
        "run_trace",
        "run_counts",
        ANOTHER,
    }
    for release in chosen:
        built = {path.stem: path for path in machine.modules.glob(f"{release}/updates/dkms/*.ko")}
        assert set(built) == wanted
        for name, module in built.items():
            assert modinfo(module, "vermagic").split()[0] == release
            assert modinfo(module, "license") == "GPL"
            assert modinfo(module, "version") == version
            assert modinfo(module, "description")
            assert modinfo(module, "author")
            # What the kernel asks for when a socket wants a congestion control by its name.
            asked = ["modprobe", "-S", release, "--show-depends", name]
            assert f"updates/dkms/{name}.ko" in machine.run(*asked, package=package)

    machine.run("make", "dkms-remove", package=package)
    assert machine.run("dkms", "status", package=package) == ""
    assert machine.left() == set()
