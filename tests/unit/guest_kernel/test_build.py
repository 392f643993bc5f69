"""The guest kernel's build, with a kernel source of a few lines and a make that pretends."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from guest import build, build_steps, cache, patch_series, source
from guest.choice import (
    DEFAULT,
)
from guest.confinement import unconfined
from orchestrator.errors import MachineError
from tests.support.kernel_source import PATCH, ensure, pack


def make_calls(machine: Path) -> list[str]:
    calls = machine.parent / "bin/make.calls"
    return calls.read_text().splitlines() if calls.exists() else []


@pytest.mark.slow
def test_a_kernel_is_built_once_and_then_found(machine: Path) -> None:
    assert build.find() is None
    steps: list[tuple[str, float | None]] = []
    kernel = ensure(lambda step, fraction: steps.append((step, fraction)))
    assert kernel.linux == machine / "guest" / kernel.key / "linux"
    assert kernel.release == "6.12.7"
    assert os.access(kernel.linux, os.X_OK)
    assert [path.name for path in kernel.modules_dir.iterdir()] == ["tcp_one.ko"]
    assert ("applying 0001-hz", None) in steps
    fractions = [fraction for _, fraction in steps if fraction is not None]
    assert fractions == sorted(fractions)
    assert fractions

    count = len(make_calls(machine))
    assert ensure() == kernel == build.find()
    assert len(make_calls(machine)) == count


@pytest.mark.slow
def test_a_build_keeps_kernel_modules_and_tree(machine: Path) -> None:
    kernel = ensure()
    folder = kernel.linux.parent
    assert sorted(path.name for path in folder.iterdir()) == [
        "System.map", "config", "linux", "manifest.json", "modules", "tree",
    ]  # fmt: skip
    assert kernel.tree == folder / "tree"
    assert (kernel.tree / "Makefile").read_text() == "HZ = 250\n"
    assert not list(kernel.tree.rglob("*.o"))
    assert not (kernel.tree / "drivers").exists()
    assert kernel.manifest["linux_sha256"] == cache.sha256(kernel.linux)
    assert kernel.manifest["modules_sha256"] == {
        "tcp_one": cache.sha256(kernel.modules_dir / "tcp_one.ko")
    }
    assert kernel.manifest["compiler"] == "gcc (Fake) 12.2.0"
    assert "make ARCH=um olddefconfig" in (machine / f"guest/logs/{kernel.key}.log").read_text()
    assert not (machine / "guest/building").exists()


@pytest.mark.slow
def test_a_build_is_readable_by_all_and_writable_by_its_owner_only(machine: Path) -> None:
    before = os.umask(0o077)
    try:
        folder = ensure().linux.parent
    finally:
        os.umask(before)
    for path in (folder, *folder.rglob("*")):
        assert path.stat().st_mode & 0o077 in (0o044, 0o055)


def test_the_key_depends_on_every_input(machine: Path, tmp_path: Path) -> None:
    inputs = build.current_inputs()
    assert len(inputs.key) == 16
    changed = [
        replace(inputs, source="x"),
        replace(inputs, compiler="x"),
        replace(inputs, fragment="x"),
        replace(inputs, patches="x"),
        replace(inputs, recipe=inputs.recipe + 1),
    ]
    assert len({inputs.key, *(each.key for each in changed)}) == 6

    fragment = tmp_path / "kernel.config"
    fragment.write_text("# a better reason\n" + fragment.read_text())
    assert build.current_inputs() == inputs
    fragment.write_text(fragment.read_text() + "CONFIG_MORE=y\n")
    assert build.current_inputs() != inputs


def test_a_tarball_is_hashed_by_content_once(
    machine: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = source.locate().identity()
    with monkeypatch.context() as patched:
        patched.setattr(cache, "sha256", lambda path: pytest.fail(f"{path} was read again"))
        assert source.locate().identity() == first
    (tree / "Kbuild").write_text("new")
    assert source.Source(pack(tree)).identity() != first


@pytest.mark.slow
def test_a_tree_is_hashed_by_its_files_and_not_changed(
    machine: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SOURCE", str(tree))
    (tree / ".git").mkdir()
    (tree / ".config").write_text("CONFIG_OF_THE_USER=y\n")
    first = source.locate().identity()
    kernel = ensure()
    assert source.locate().identity() == first
    assert (tree / "Makefile").read_text() == "HZ = 100\n"
    assert "OF_THE_USER" not in (kernel.linux.parent / "config").read_text()
    (tree / ".git/index").touch()
    assert source.locate().identity() == first
    os.utime(tree / "Makefile", ns=(0, 0))
    assert source.locate().identity() != first


def test_a_patch_that_does_not_apply_is_named(machine: Path, tree: Path) -> None:
    (tree / "Makefile").write_text("HZ = 1000\n")
    tarball = pack(tree)
    with pytest.raises(MachineError, match="0001-hz does not apply to") as caught:
        ensure()
    assert str(tarball) in str(caught.value)
    assert "ORCHESTRATOR_KERNEL_SOURCE" in caught.value.fix
    assert build.find() is None
    assert not (machine / "guest/building").exists()


@pytest.mark.slow
def test_an_unavailable_option_is_named(machine: Path, tree: Path) -> None:
    (tree / "scripts/kconfig/merge_config.sh").write_text("#!/bin/sh\necho CONFIG_OLD=m >>$2\n")
    pack(tree)
    with pytest.raises(MachineError, match="CONFIG_ASKED=y, # CONFIG_OLD is not set"):
        ensure()


@pytest.mark.slow
def test_a_failing_compilation_shows_the_end_of_its_log(machine: Path, tree: Path) -> None:
    (tree / "broken.c").touch()
    pack(tree)
    with pytest.raises(MachineError, match=r"broken\.c:1: error: no") as caught:
        ensure()
    assert "file40.o" in str(caught.value)
    assert "file20.o" not in str(caught.value)
    log = Path(caught.value.fix.split()[1])
    assert "file20.o" in log.read_text()


@pytest.mark.slow
def test_an_interrupted_build_leaves_only_its_log(machine: Path) -> None:
    def interrupt(step: str, fraction: float | None) -> None:
        if fraction is not None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure(interrupt)
    assert sorted(path.name for path in (machine / "guest").iterdir()) == [
        "compiled", "lock", "logs",
    ]  # fmt: skip


@pytest.mark.slow
def test_leftovers_of_a_killed_builder_are_removed(machine: Path) -> None:
    (machine / "guest/building/tree/old").mkdir(parents=True)
    ensure()
    assert not (machine / "guest/building").exists()


@pytest.mark.slow
def test_a_second_builder_waits_and_uses_the_first_ones_build(machine: Path) -> None:
    waiting = threading.Event()

    def watch(step: str, fraction: float | None) -> None:
        if step.startswith("waiting"):
            waiting.set()

    root = cache.make_root()
    with ThreadPoolExecutor(1) as pool:
        with cache.builder_lock(root, waiting.set) as lock:
            assert not waiting.is_set()
            second = pool.submit(ensure, watch)
            assert waiting.wait(10)
            inputs = build.current_inputs()
            wanted = build._Wanted(source.locate(), DEFAULT, inputs, unconfined)
            first = build._build(wanted, root, build_steps.silent, lock)
            count = len(make_calls(machine))
        assert second.result(10) == first
    assert len(make_calls(machine)) == count


def test_a_missing_tool_names_its_package(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    have = {"gcc", "make", "tar", "patch", "bison"}
    monkeypatch.setattr("guest.build.shutil.which", lambda tool: tool if tool in have else None)
    with pytest.raises(MachineError, match="needs flex, bc, xz") as caught:
        ensure()
    assert caught.value.fix == "apt-get install flex bc xz-utils"
    assert not make_calls(machine)


def test_another_processor_is_refused(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guest.build.platform.machine", lambda: "aarch64")
    with pytest.raises(MachineError, match="x86-64"):
        ensure()


def test_a_missing_source_names_its_package(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ORCHESTRATOR_KERNEL_SOURCE")
    monkeypatch.setattr(source, "DEBIAN_SOURCE", tmp_path / "none")
    with pytest.raises(MachineError) as caught:
        ensure()
    assert "apt-get install linux-source-6.12" in caught.value.fix
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SOURCE", str(tmp_path))
    with pytest.raises(MachineError, match="neither a kernel tree nor a tarball"):
        ensure()


def test_too_little_disk_space_is_an_error_before_the_start(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "FREE_BYTES_NEEDED", 10**18)
    with pytest.raises(MachineError, match="GB free; a build needs"):
        ensure()
    assert not make_calls(machine)


@pytest.mark.slow
def test_without_source_the_newest_kernel_of_the_other_inputs_is_used(
    machine: Path, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = ensure()
    (tree / "Kbuild").write_text("a newer source")
    pack(tree)
    newer = ensure()
    assert newer.key != older.key
    stamp = time.time() - 100
    os.utime(older.linux.parent / "manifest.json", (stamp, stamp))
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SOURCE", str(tmp_path / "gone"))
    assert build.find() == newer
    fragment = tmp_path / "kernel.config"
    fragment.write_text(fragment.read_text() + "CONFIG_MORE=y\n")
    assert build.find() is None


@pytest.mark.slow
def test_a_kernel_that_others_could_have_changed_is_refused(machine: Path) -> None:
    kernel = ensure()
    kernel.linux.parent.chmod(0o777)
    with pytest.raises(MachineError, match="other users can write") as caught:
        build.find()
    assert caught.value.fix == f"chmod go-w {kernel.linux.parent}"


def test_caches_are_searched_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORCHESTRATOR_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("guest.cache.os.geteuid", lambda: 1000)
    assert cache.search_roots() == (tmp_path / "orchestrator", cache.SHARED_ROOT)
    monkeypatch.setattr("guest.cache.os.geteuid", lambda: 0)
    assert cache.search_roots() == (cache.SHARED_ROOT,)
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "mine"))
    assert cache.search_roots() == (tmp_path / "mine",)


def test_a_damaged_file_of_hashes_is_replaced(machine: Path) -> None:
    first = source.locate().identity()
    (machine / "sources.json").write_text("{")
    assert source.locate().identity() == first
    assert json.loads((machine / "sources.json").read_text())


@pytest.mark.parametrize(
    ("config", "lost"),
    [
        ("CONFIG_A=y\nCONFIG_B=m\n", []),
        ("CONFIG_A=m\nCONFIG_B=m\n# CONFIG_C is not set\n", ["CONFIG_A=y"]),
        ("CONFIG_A=y\nCONFIG_C=y\n", ["CONFIG_B=m", "# CONFIG_C is not set"]),
        ("CONFIG_A=y\nCONFIG_B=m\nCONFIG_C_LONGER=y\n", []),
    ],
)
def test_options_missing_in_the_final_configuration_are_found(config: str, lost: list[str]) -> None:
    fragment = "# A comment about CONFIG_A\nCONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\n"
    assert build_steps.lost_options(fragment, config) == lost


@pytest.mark.slow
def test_a_kernel_that_lacks_an_option_gets_the_other_or_is_refused(
    machine: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fragment = machine.parent / "kernel.config"
    fragment.write_text("CONFIG_ASKED=y\n# or CONFIG_OTHER=y\n# CONFIG_OLD is not set\n")
    assert build_steps.alternatives(fragment.read_text()) == {"CONFIG_ASKED=y": "CONFIG_OTHER=y"}
    (tree / "lacking").write_text("/^CONFIG_ASKED=/d\n")
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SOURCE", str(pack(tree)))
    config = (ensure().linux.parent / "config").read_text()
    assert "CONFIG_OTHER=y" in config
    assert "CONFIG_ASKED" not in config
    (tree / "lacking").write_text("/^CONFIG_ASKED=/d\n/^CONFIG_OTHER=/d\n")
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SOURCE", str(pack(tree)))
    with pytest.raises(MachineError, match=r"lacks options of kernel\.config: CONFIG_OTHER=y"):
        ensure()


def test_every_patch_says_why_and_is_applied_in_order() -> None:
    patches = patch_series.of_series(None)
    numbers = [patch.name[:5] for patch in patches]
    assert numbers == [f"{number:04}-" for number in range(1, len(patches) + 1)]
    names = {patch.name for patch in patches}
    for file in patch_series.PATCHES.rglob("*.patch"):
        header, _, change = file.read_text().partition("\n--- a/")
        assert len(header.split()) > 20
        assert change
        kind = r"(required|optional, for .+|on request)"
        assert re.search(rf"^From: .+\nKind: {kind}$", header, re.MULTILINE)
        on_request = file.parent.name == "on-request"
        assert on_request or file.stem in names, "a series can only replace what 6.12 has"


def test_a_series_has_its_own_patch_or_that_of_the_nearest_series(machine: Path) -> None:
    folder = machine.parent / "patches"
    for name in ("6.1", "7.2"):
        (folder / name).mkdir()
        (folder / name / "0001-hz.patch").write_text(PATCH)
    for series, tried in {
        None: ["6.12"],
        (6, 12): ["6.12"],
        (6, 1): ["6.1"],
        (7, 3): ["7.2", "6.12", "6.1"],
        (6, 6): ["6.1", "6.12", "7.2"],
    }.items():
        (patch,) = patch_series.of_series(series)
        assert [patch_series.series_text(file) for file in patch.files] == tried


@pytest.mark.slow
@pytest.mark.parametrize("packed", [True, False])
def test_a_kernel_of_another_series_gets_the_patches_that_fit_it(
    machine: Path, tree: Path, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = machine.parent / "patches"
    (folder / "7.2").mkdir()
    fits = PATCH.replace("100", "300").replace("@@ -1 +1 @@", "@@ -3 +3 @@")
    (folder / "7.2" / "0001-hz.patch").write_text(fits)
    (folder / "0002-fast.patch").write_text(f"Kind: optional, for speed\n{PATCH}")
    (tree / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 3\nHZ = 300\n")
    (tree / "drivers" / "Makefile").write_text("VERSION = 1\nPATCHLEVEL = 1\n")
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SOURCE", str(pack(tree) if packed else tree))
    kernel = ensure()
    assert (kernel.tree / "Makefile").read_text().endswith("HZ = 250\n")
    assert kernel.manifest["patches"] == {"0001-hz": "7.2", "0002-fast": None}


@pytest.mark.slow
def test_a_required_patch_of_no_series_that_applies_is_named_with_its_hunks(
    machine: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine.parent / "patches" / "7.2").mkdir()
    (machine.parent / "patches" / "7.2" / "0001-hz.patch").write_text(PATCH)
    (tree / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 3\nHZ = 1000\n")
    monkeypatch.setenv("ORCHESTRATOR_KERNEL_SOURCE", str(pack(tree)))
    with pytest.raises(MachineError, match="0001-hz does not apply to") as caught:
        ensure()
    for said in ("for 7.2:", "for 6.12:", "Hunk #1 FAILED", "file Makefile"):
        assert said in str(caught.value)
    assert "SERIES/0001-hz.patch for this one" in caught.value.fix
