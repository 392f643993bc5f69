"""What a hostile guest can reach of the host: its output folder, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from guest.build import GuestKernel
from tests.guest.conftest import Run

pytestmark = pytest.mark.guest

# Native code inside the kernel's own process: it asks the host directly, past all of the guest.
MODULE = r"""
#include <linux/init.h>
#include <linux/module.h>

static char *path = "";
module_param(path, charp, 0);

static long host_call(long number, long a, long b, long c)
{
    long result;

    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c)
             : "rcx", "r11", "memory");
    return result;
}

static int __init intruder_init(void)
{
    long fd = host_call(2, (long)path, 01 | 0100, 0644);    /* open, O_WRONLY | O_CREAT */

    pr_info("intruder: open says %ld\n", fd);
    if (fd >= 0)
        host_call(1, fd, (long)"module\n", 7);        /* write */
    return 0;
}
module_init(intruder_init);
static void __exit intruder_exit(void) { }
module_exit(intruder_exit);
MODULE_LICENSE("GPL");
"""

HOOK = """
import os
from orchestrator.testbed.kernel import system

said = []
system.mount("none", "/", "none", system.MS_REMOUNT)
os.makedirs("/run/host")
system.mount("none", "/run/host", "hostfs", 0, "/")
for root in ("", "/run/host"):
    for place in ({targets}):
        try:
            with open(root + place, "w") as file:
                file.write("guest\\n")
            said.append(place)
        except OSError as error:
            print("refused:", root + place, error)
libc = system._libc
descriptor = os.open("/run/bed/in/intruder.ko", os.O_RDONLY)
print("module:", libc.syscall(313, descriptor, b"path={module_target}", 0))
print("homes:", os.listdir("/run/host/home"), os.listdir("/run/host/root"))
print("processes:", sorted(name for name in os.listdir("/run/host/proc") if name.isdigit())[:9])
with open("/run/bed/out/allowed", "w") as file:
    file.write("yes")
"""


@pytest.fixture(scope="module")
def intruder(kernel: GuestKernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module for the guest kernel that writes a file of the host by a host system call."""
    folder = tmp_path_factory.mktemp("intruder")
    (folder / "intruder.c").write_text(MODULE, encoding="utf-8")
    (folder / "Kbuild").write_text("obj-m := intruder.o\n", encoding="utf-8")
    subprocess.run(
        ["make", "-C", str(kernel.tree), f"M={folder}", "ARCH=um", "modules"],
        check=True,
        capture_output=True,
    )
    return folder / "intruder.ko"


def test_a_hostile_guest_can_write_only_its_output_folder(
    run: Run,
    intruder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    canary, module_canary = tmp_path / "canary", tmp_path / "module_canary"
    targets = [canary, Path("/etc/intruder"), Path("/usr/intruder"), Path("/home/intruder")]
    hook = tmp_path / "hook.py"
    listed = "".join(f"{str(target)!r}, " for target in targets)
    text = HOOK.replace("{targets}", listed).replace("{module_target}", str(module_canary))
    hook.write_text(text, encoding="utf-8")

    from orchestrator.backends import guest

    prepared = guest._prepare

    def with_module(*arguments: object) -> object:
        paths = prepared(*arguments)  # type: ignore[arg-type]
        shutil.copy(intruder, paths.input / "intruder.ko")
        return paths

    monkeypatch.setattr(guest, "_prepare", with_module)
    document = run("duration=12s", "warmup=2s", hook=hook)
    assert document["status"] == "ok", document["error"]
    for target in (*targets, module_canary):
        assert not target.exists(), f"the guest wrote {target}"
    # The same without the boundary, or this test could not fail.
    document = run("duration=12s", "warmup=2s", hook=hook, unconfined=True)
    assert module_canary.read_text(encoding="utf-8") == "module\n"
    assert canary.read_text(encoding="utf-8") == "guest\n"
    for target in targets[1:]:
        target.unlink(missing_ok=True)
