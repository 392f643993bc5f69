"""Builds in kept trees: only what changed is compiled, and the result is that of a clean build."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from guest import build, cache, kept_trees, partial_copy
from guest.build import GuestKernel
from guest.choice import KernelChoice, PatchFile
from orchestrator.errors import KernelBuildError
from tests.support.kernel_source import ensure, pack

pytestmark = pytest.mark.slow

MAKEFILE = """\
HZ = 100
OBJECTS = net/one.o net/two.o
mrproper: ; @rm -f *.user
defconfig: ; @echo CONFIG_BASE=y >.config
olddefconfig: ; @:
linux: $(OBJECTS) release
	cat $(OBJECTS) >linux
release: ; @mkdir -p include/config; cat localversion-guest >include/config/kernel.release; \\
	touch System.map Module.symvers
modules: ; @:
%.o: %.c include/all.h ; @echo CC $@; cat $^ >$@
"""


@pytest.fixture
def real(machine: Path, tree: Path) -> Path:
    """The source as a git repository, and a real make that compiles by copying."""
    (machine.parent / "bin/make").unlink()
    (tree / "Makefile").write_text(MAKEFILE)
    (tree / "net").mkdir()
    for name in ("net/one.c", "net/two.c", "include/all.h", "arch/um/kern.c", "arch/x86/a.c",
                 "net/spare.c"):  # fmt: skip
        (tree / name).write_text(f"{name} 1\n")
    (machine.parent / "patches/0001-hz.patch").write_text(
        "Why.\n\n--- a/Makefile\n+++ b/Makefile\n@@ -1,2 +1,2 @@\n-HZ = 100\n+HZ = 250\n"
        " OBJECTS = net/one.o net/two.o\n"
    )
    git(tree, "init", "--quiet")
    commit(tree)
    return tree


def git(tree: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", tree, *identity, *words], check=True, capture_output=True)


def commit(tree: Path) -> None:
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--allow-empty", "-m", "change")


def log_of(kernel: GuestKernel) -> str:
    return (kernel.linux.parents[1] / f"logs/{kernel.key}.log").read_text()


def compiled(kernel: GuestKernel) -> list[str]:
    """Return what a build compiled, in the order of names."""
    return sorted(line[3:] for line in log_of(kernel).splitlines() if line.startswith("CC "))


def files(kernel: GuestKernel) -> dict[str, bytes]:
    """Return all that was kept of a kernel but its manifest."""
    folder = kernel.linux.parent
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in paths
        if path.name != "manifest.json"
    }


def require_equal_to_a_clean_build(
    kernel: GuestKernel, machine: Path, wanted: KernelChoice
) -> None:
    other = machine.parent / "other"
    shutil.move(machine, other)
    clean = ensure(choice=wanted)
    kept = replace(kernel, linux=other / "guest" / kernel.key / "linux")
    assert compiled(clean) == ["net/one.o", "net/two.o"]
    assert files(clean) == files(kept)
    shutil.rmtree(machine)
    shutil.move(other, machine)


ALL = ["net/one.o", "net/two.o"]


@pytest.mark.parametrize("revision", ["HEAD", None])
def test_only_what_changed_is_compiled_and_the_result_is_a_clean_builds(
    machine: Path, real: Path, revision: str | None
) -> None:
    choice = KernelChoice("linux", real, revision)
    (real / "left.user").write_text("of a build in this tree\n")
    commit(real)
    assert compiled(ensure(choice=choice)) == ALL
    (real / "net/one.c").write_text("net/one.c 2\n")
    commit(real)
    if revision is None:
        (real / "left.user").write_text("of another one\n")
    second = ensure(choice=choice)
    assert compiled(second) == ["net/one.o"]
    assert (
        second.linux.read_bytes() == b"net/one.c 2\ninclude/all.h 1\nnet/two.c 1\ninclude/all.h 1\n"
    )
    require_equal_to_a_clean_build(second, machine, choice)
    (real / "include/all.h").write_text("include/all.h 2\n")
    commit(real)
    third = ensure(choice=choice)
    assert compiled(third) == ALL
    assert "defconfig" not in log_of(third)
    (real / "net/one.c").write_text("net/one.c 1\n")  # back, and older than what is compiled
    os.utime(real / "net/one.c", (1, 1))
    commit(real)
    fourth = ensure(choice=choice)
    assert compiled(fourth) == ["net/one.o"]
    require_equal_to_a_clean_build(fourth, machine, choice)


@pytest.mark.parametrize(
    ("name", "revision"),
    [
        ("net/three.c", "HEAD"),
        *(
            pytest.param(name, revision, marks=pytest.mark.long)
            for revision in ("HEAD", None)
            for name in ("Makefile", "arch/um/kern.c", "scripts/kconfig/merge_config.sh")
        ),
        pytest.param("net/three.c", None, marks=pytest.mark.long),
    ],
)
def test_other_changes_are_built_in_a_new_tree(
    machine: Path, real: Path, name: str, revision: str | None
) -> None:
    choice = KernelChoice("linux", real, revision)
    ensure(choice=choice)
    with (real / name).open("a") as file:
        file.write("# more\n")
    commit(real)
    again = ensure(choice=choice)
    assert "make ARCH=um defconfig" in log_of(again)
    assert compiled(again) == ALL
    (real / "net/spare.c").unlink()
    commit(real)
    assert compiled(ensure(choice=choice)) == ALL


def patch(name: str, old: str, new: str) -> PatchFile:
    text = f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-{old}\n+{new}\n"
    return PatchFile(f"{new.replace(' ', '-').replace('/', '-')}.patch", text.encode())


def test_patches_are_built_on_a_copy_of_the_tree_without_them(machine: Path, real: Path) -> None:
    plain = KernelChoice("linux", pack(real))
    one = replace(plain, patches=(patch("net/one.c", "net/one.c 1", "mine"),))
    first = ensure(choice=one)
    assert compiled(first) == ["net/one.o", "net/one.o", "net/two.o"], "the base, and the patch"
    assert first.linux.read_bytes().startswith(b"mine\n")
    require_equal_to_a_clean_build_of_a_patch(first, machine, one)
    other = replace(plain, patches=(patch("net/two.c", "net/two.c 1", "others"),))
    second = ensure(choice=other)
    assert compiled(second) == ["net/two.o"]
    assert second.linux.read_bytes().startswith(b"net/one.c 1\n")
    require_equal_to_a_clean_build_of_a_patch(second, machine, other)
    back = replace(plain, reverts=(patch("net/two.c", "reverted", "net/two.c 1"),))
    assert compiled(ensure(choice=back)) == ["net/two.o"]


def test_of_a_kept_tree_what_a_build_needs_is_copied_and_all_of_it_where_that_is_too_little(
    machine: Path, real: Path
) -> None:
    (real / "Makefile").write_text(
        MAKEFILE.replace("cat $^", "cat $^ $$(sed -n 's/^use //p' $<)")
        + "\techo 'source := drivers/made.c' >net/.one.o.cmd\n"
    )
    for name in ("made.c", "Kconfig", "spare.c", "changed.c"):
        (real / "drivers" / name).write_text(f"{name}\n")
    (real / "net/one.c").write_text("use drivers/made.c\n")
    plain = KernelChoice("linux", pack(real))

    def built(new: str) -> tuple[bytes, str]:
        changes = [patch("net/one.c", "use drivers/made.c", new)]
        changes.append(patch("drivers/changed.c", "changed.c", "changed"))
        made = ensure(choice=replace(plain, patches=tuple(changes)))
        return made.linux.read_bytes(), log_of(made)

    in_part, log = built("use drivers/changed.c")
    assert in_part.startswith(b"use drivers/changed.c\ninclude/all.h 1\nchanged\n")
    assert "in a part of the tree" not in log
    whole, log = built("use drivers/spare.c")
    assert whole.startswith(b"use drivers/spare.c\ninclude/all.h 1\nspare.c\n")
    assert "in a part of the tree: " in log
    assert "drivers/spare.c: No such file" in log


def test_a_partial_copy_has_links_and_times_and_lacks_sources_that_nothing_names(
    tmp_path: Path,
) -> None:
    tree, target = tmp_path / "tree", tmp_path / "copy"
    needed = {
        "drivers/named.c": "", "drivers/Makefile": "", "drivers/\n odd": "", "net/any.c": "",
        "arch/x86/a.h": "", "net/.any.o.cmd": "deps := ./drivers/x/../named.c \\\n -c",
        "-n": "",
    }  # fmt: skip
    for name, text in {
        **needed,
        "drivers/other.c": "",
        "arch/arm/a.h": "",
        "sound/a.c": "",
    }.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
        os.utime(tree / name, ns=(7, 1_234_567_891))
    (tree / "away").symlink_to("/etc")
    (tree / "empty").mkdir()
    os.mkfifo(tree / "net/.pipe.cmd")
    os.link(tree / "sound/a.c", tree / "sound/asked.c")
    partial_copy.copy(tree, target, {"sound/asked.c"})
    found = {str(path.relative_to(target)) for path in target.rglob("*") if not path.is_dir()}
    assert found == {*needed, "sound/asked.c", "net/.pipe.cmd"}
    assert (target / "away").readlink() == Path("/etc")
    assert (target / "empty").is_dir()
    assert {(target / name).stat().st_mtime_ns for name in needed} == {1_234_567_891}


def require_equal_to_a_clean_build_of_a_patch(
    kernel: GuestKernel, machine: Path, wanted: KernelChoice
) -> None:
    before = kept_trees.touched_by_changes
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kept_trees, "touched_by_changes", lambda _changes: None)
        require_equal_to_a_clean_build(kernel, machine, wanted)
    assert kept_trees.touched_by_changes is before


@pytest.mark.parametrize(
    ("name", "in_kept"),
    [
        ("net/one.c", True),
        ("include/net/tcp.h", True),
        ("drivers/net/phy/a-b_c.c", True),
        ("net/Makefile", False),
        ("net/Kconfig", False),
        ("scripts/mod/modpost.c", False),
        ("arch/x86/um/os-Linux/registers.c", False),
        ("net/../../../one.c", False),
        ("net/./one.c", False),
        ("one.c", False),
    ],
)
def test_a_change_of_this_file_is_built_in_a_kept_tree(name: str, in_kept: bool) -> None:
    text = f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-old\n+new\n"
    found = kept_trees.touched_by_changes([PatchFile("a.patch", text.encode())])
    assert (found is not None) == in_kept
    assert bool(kept_trees._SAFE.fullmatch(name)) == in_kept


def test_a_patch_that_more_depends_on_is_built_in_a_new_tree(machine: Path, real: Path) -> None:
    plain = KernelChoice("linux", pack(real))
    for changed in (
        patch("arch/um/kern.c", "arch/um/kern.c 1", "arch"),
        PatchFile("new.patch", b"--- /dev/null\n+++ b/net/new.c\n@@ -0,0 +1 @@\n+new\n"),
    ):
        made = ensure(choice=replace(plain, patches=(changed,)))
        assert compiled(made) == ALL
        assert log_of(made).count("make ARCH=um defconfig") == 1
    assert not (machine / "guest/trees").exists()


def test_a_source_that_only_its_patch_mends_is_built(machine: Path, real: Path) -> None:
    (real / "include/all.h").unlink()
    (real / "net/all.c").write_text("all\n")
    (real / "Makefile").write_text(
        MAKEFILE.replace(
            "%.o: %.c include/all.h ; @echo", "%.o: %.c ; @! grep bad $< || exit 1; echo"
        )
    )
    (real / "net/one.c").write_text("bad\n")
    plain = KernelChoice("linux", pack(real))
    made = ensure(choice=replace(plain, patches=(patch("net/one.c", "bad", "good"),)))
    assert "without the changes: make ARCH=um" in log_of(made)
    assert made.linux.read_bytes() == b"good\nnet/two.c 1\n"


def test_a_failed_build_leaves_no_tree_and_the_next_one_is_clean(machine: Path, real: Path) -> None:
    choice = KernelChoice("linux", real)
    ensure(choice=choice)
    place = next((machine / "guest/trees").iterdir())
    shutil.rmtree(place / "tree/net")  # somebody did that
    (real / "net/one.c").write_text("net/one.c 2\n")
    with pytest.raises(KernelBuildError):
        ensure(choice=choice)
    assert not (machine / "guest/building").exists()
    assert compiled(ensure(choice=choice)) == ALL


@pytest.mark.parametrize("what", ["damaged", "of another form", "from the future"])
def test_a_state_that_cannot_be_believed_is_not_used(machine: Path, real: Path, what: str) -> None:
    choice = KernelChoice("linux", real)
    ensure(choice=choice)
    state = next((machine / "guest/trees").iterdir()) / "state.json"
    content = json.loads(state.read_text())
    if what == "of another form":
        content["form"] = 0
    elif what == "from the future":
        content["kept_s"] = time.time() + 100
    text = json.dumps(content)
    state.write_text(text[:-5] if what == "damaged" else text)
    (real / "net/one.c").write_text("net/one.c 2\n")
    assert compiled(ensure(choice=choice)) == ALL


@pytest.mark.long
def test_few_trees_are_kept_and_none_for_long(
    machine: Path, real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        other = machine.parent / f"linux{number}"
        shutil.copytree(real, other)
        (other / "net/one.c").touch()
        ensure(choice=KernelChoice("linux", other))
    kept = list((machine / "guest/trees").iterdir())
    assert len(kept) == kept_trees.MOST_KEPT
    long_ago = time.time() - cache.LONGEST_UNUSED_S - 10
    os.utime(kept[0], (long_ago, long_ago))
    cache.remove_abandoned_builds(machine)
    assert list((machine / "guest/trees").iterdir()) == kept[1:]
    monkeypatch.setattr(build, "FREE_BYTES_NEEDED", shutil.disk_usage(machine).free * 2 // 3)
    ensure(choice=KernelChoice("linux", real))
    assert not list((machine / "guest/trees").iterdir())


def test_the_default_kernels_tree_is_not_kept(machine: Path) -> None:
    ensure()
    assert not (machine / "guest/trees").exists()


def test_the_repositorys_filters_are_not_run(machine: Path, real: Path) -> None:
    ran = machine.parent / "ran"
    git(real, "config", "filter.evil.smudge", f"touch {ran}; cat")
    (real / ".gitattributes").write_text("*.c filter=evil\n")
    commit(real)
    ran.unlink(missing_ok=True)
    ensure(choice=KernelChoice("linux", real, "HEAD"))
    assert not ran.exists()
