"""A kernel's build in its sandbox, with a tree of a few files whose Makefile attacks."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from guest import build, patch_series
from guest.build import GuestKernel
from guest.choice import DEFAULT, KernelChoice, PatchFile
from guest.confinement import Confine, unconfined
from orchestrator.errors import KernelBuildError, MachineError
from orchestrator.sandbox import kernel_builds, limits
from orchestrator.sandbox.kernel_builds import confined
from tests.support.kernel_source import PATCH, pack

pytestmark = pytest.mark.slow

MAKEFILE = """\
HZ = 100
mrproper olddefconfig: ; @:
defconfig: ; @echo CONFIG_BASE=y >.config
linux: ; @sh scripts/act.sh
modules: ; @:
"""
KERNEL = """\
mkdir -p include/config net
echo 6.12.7 >include/config/kernel.release
for file in linux System.map Module.symvers net/tcp_one.ko; do echo 1 >$file; done
"""
MERGE = '#!/bin/sh\ncat "$3" >>"$2"\n'


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel tree whose build runs scripts/act.sh, and a cache for kernels."""
    tree = tmp_path / "linux"
    for folder in ("scripts/kconfig", "include", "arch/um", "arch/x86"):
        (tree / folder).mkdir(parents=True)
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "Kbuild").touch()
    merge = tree / "scripts/kconfig/merge_config.sh"
    merge.write_text(MERGE)
    merge.chmod(0o755)
    patches = tmp_path / "patches"
    patches.mkdir()
    (patches / "0001-hz.patch").write_text(PATCH)
    (tmp_path / "kernel.config").write_text("CONFIG_ASKED=y\n")
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(patch_series, "PATCHES", patches)
    monkeypatch.setattr(build, "FRAGMENT", tmp_path / "kernel.config")
    monkeypatch.setattr(build, "FREE_BYTES_NEEDED", 0)
    monkeypatch.setattr(kernel_builds, "_TOOLS", ())
    return tree


def make(
    tree: Path, script: str, confine: Confine = confined, choice: KernelChoice | None = None
) -> GuestKernel:
    """Build the tree as a tarball, or a choice of it; ``script`` is what its compilation does."""
    (tree / "scripts/act.sh").write_text(f"{script}\n{KERNEL}")
    if choice is None:
        choice = KernelChoice("linux", pack(tree))
    return build.ensure(confine, choice=choice)


def log_of(kernel: GuestKernel) -> str:
    return (kernel.linux.parents[1] / "logs" / f"{kernel.key}.log").read_text()


def test_a_build_reaches_nothing_but_its_own_folders(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret").write_text("a canary\n")
    places = [
        home / "new",
        tmp_path / "new",
        Path("/var/tmp/new"),
        Path("/usr/new"),
        Path("/etc/new"),
    ]
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        script = f"""\
cat {home}/secret
for place in {" ".join(map(str, places[:2]))} ../new; do echo >$place; done
exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected
ls /proc | grep -c '^[0-9]*$' | sed 's/^/processes /'
echo as $(id -u)
for fd in /proc/self/fd/*; do echo open $(readlink $fd); done
"""
        wrapped = f"bash <<'END'\n{script}END"
        kernel = make(tree, wrapped)
        log = log_of(kernel)
        assert "a canary" not in log
        assert "connected" not in log
        with pytest.raises(BlockingIOError):
            server.accept()
        assert int(re.search(r"processes (\d+)", log)[1]) < 12  # type: ignore[index]
        assert not [place for place in places if place.exists()]
        assert not (tmp_path / "cache/guest/new").exists()
        assert "guest/lock" not in log
        if os.geteuid() == 0:
            assert int(re.search(r"^as (\d+)", log, re.MULTILINE)[1]) >= 0x70000000 - 1  # type: ignore[index]
        shutil.rmtree(tmp_path / "cache")
        log = log_of(make(tree, wrapped, unconfined))  # or this test could not fail
        assert "a canary" in log
        assert "connected" in log
        assert [place for place in places if place.exists()] == places[:2]


def test_what_a_build_leaves_belongs_to_the_builder(tree: Path, tmp_path: Path) -> None:
    kernel = make(tree, "chmod u+s scripts/act.sh; mkdir -m 700 include/closed; touch include/x")
    assert build.find(KernelChoice("linux", tree.parent / "linux.tar.xz")) == kernel
    for path in (tmp_path / "cache").rglob("*"):
        assert path.stat().st_uid == os.geteuid()
        assert not path.stat().st_mode & 0o6022, path


def test_a_confined_build_gives_what_an_unconfined_one_gives(tree: Path, tmp_path: Path) -> None:
    make(tree, "env | grep -v CCACHE_DIR= >System.map")
    choice = KernelChoice("linux", tree.parent / "linux.tar.xz")
    confined_one = build.find(choice)
    assert confined_one is not None
    shutil.move(tmp_path / "cache", tmp_path / "other")
    plain = build.ensure(unconfined, choice=choice)
    assert plain.key == confined_one.key
    for name in ("linux", "config", "modules/tcp_one.ko", "tree/Makefile"):
        other = tmp_path / "other/guest" / plain.key / name
        assert (plain.linux.parent / name).read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (
            "ln -sf /etc/shadow linux; trap 'rm linux; ln -s /etc/shadow linux' EXIT",
            "gave no linux",
        ),
        ("trap 'rm System.map; mkfifo System.map' EXIT", "gave no System.map: it is a FIFO"),
        ("trap 'mv arch/um away; ln -s /etc arch/um' EXIT", "gave no arch/um"),
        ("trap 'mv arch away; ln -s /etc arch' EXIT", "in the place of arch/"),
        ("trap 'mv include/config away; ln -s /etc include/config' EXIT", "include/config/"),
        ("trap 'echo two words >include/config/kernel.release' EXIT", "without a release"),
        ("trap 'rm .config; ln -s /etc/shadow .config' EXIT", "gave no .config"),
    ],
)
def test_something_else_in_the_place_of_a_result_is_refused(
    tree: Path, tmp_path: Path, act: str, said: str
) -> None:
    with pytest.raises(KernelBuildError, match=re.escape(said)):
        make(tree, act)
    assert not list((tmp_path / "cache/guest").glob("*/manifest.json"))
    assert not (tmp_path / "cache/guest/building").exists()


def test_links_to_modules_are_left_out(tree: Path) -> None:
    kernel = make(tree, "mkdir -p net; ln -s /etc/shadow net/tcp_two.ko; mkfifo include/pipe")
    assert [path.name for path in kernel.modules_dir.iterdir()] == ["tcp_one.ko"]
    assert not (kernel.tree / "include/pipe").exists()


@pytest.mark.long
def test_a_build_is_bounded(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KERNEL_BUILD_PRINTED_BYTES", limits.MIB)
    with pytest.raises(KernelBuildError, match="printed more than 1 MiB"):
        make(tree, "cat /dev/zero")
    monkeypatch.setattr(limits, "KERNEL_BUILD_TIME_S", 2.0)
    with pytest.raises(KernelBuildError, match="took more than 2 s"):
        make(tree, "sleep 60")
    monkeypatch.setattr(limits, "KERNEL_BUILD_TIME_S", 60.0)
    monkeypatch.setattr(limits, "KERNEL_BUILD_BYTES", 8 * limits.MIB)
    with pytest.raises(KernelBuildError, match="wrote more than 8 MiB"):
        make(tree, "head -c 64M /dev/urandom >large; sleep 60")


@pytest.mark.long
def test_nothing_is_left_of_a_killed_build(tree: Path, tmp_path: Path) -> None:
    odd = f"31{os.getpid()}"  # a time to sleep that tells its process
    builder = os.fork()
    if builder == 0:
        try:
            make(tree, f"touch started; (trap '' HUP TERM; sleep {odd}) & sleep {odd}")
        finally:
            os._exit(1)
    wait_for((tmp_path / "cache/guest/building/tree/started").exists)
    wait_for(lambda: len(processes(odd)) == 2)
    os.kill(builder, signal.SIGKILL)
    os.waitpid(builder, 0)
    wait_for(lambda: not processes(odd))
    make(tree, "")
    assert not (tmp_path / "cache/guest/building").exists()


def processes(word: str) -> list[Path]:
    """Return the processes whose last argument is a word."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes().endswith(f"\0{word}\0".encode()):
                found.append(path)
    return found


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.long
def test_what_a_build_compiled_reaches_only_builds_of_its_own_origin(
    tree: Path, tmp_path: Path
) -> None:
    poison = "echo here: $(cat $CCACHE_DIR/poison); echo $0-poison >$CCACHE_DIR/poison"
    assert "here:\n" in log_of(make(tree, poison))
    (tree / "drivers").mkdir()
    assert "here:\n" in log_of(make(tree, poison + " #")), "another tarball"
    plain = KernelChoice("linux", tree)
    first = make(tree, poison, choice=plain)
    assert "here:\n" in log_of(first), "a tree"
    change = PatchFile("evil.patch", b"--- a/Kbuild\n+++ b/Kbuild\n@@ -0,0 +1 @@\n+# evil\n")
    evil = KernelChoice("linux", tree, patches=(change,))
    log = log_of(make(tree, poison.replace("$0", "evil"), choice=evil))
    assert "here: scripts/act.sh-poison" in log, "its own tree's"
    assert "here: scripts/act.sh-poison" in log_of(make(tree, poison + " # again", choice=plain))


def test_a_tool_that_the_sandbox_does_not_show_is_an_error(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gcc = tmp_path / "gcc"
    gcc.write_text('#!/bin/sh\nexec /usr/bin/gcc "$@"\n')
    gcc.chmod(0o755)
    monkeypatch.setattr(kernel_builds, "_TOOLS", ("gcc",))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(MachineError, match=f"does not see {gcc}"):
        make(tree, "")


def test_a_machine_without_bubblewrap_is_refused(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    which = shutil.which
    monkeypatch.setattr(
        "orchestrator.sandbox.shutil.which",
        lambda name, **more: None if name == "bwrap" else which(name, **more),
    )
    with pytest.raises(MachineError, match="bubblewrap is not installed") as caught:
        make(tree, "")
    assert "apt-get install bubblewrap" in caught.value.fix


def test_the_default_choice_is_confined_too(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SOURCE", str(tree))
    assert make(tree, "test -d /bed/tree", choice=DEFAULT).release == "6.12.7"
