"""Builds of kernels that a user chose: patches, reverts, options, revisions, and those of runs."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from guest import build
from guest.choice import KernelChoice, KernelText, PatchFile, absolute, of_text, parts_of
from orchestrator.errors import MachineError
from orchestrator.execution import kernel_document
from results.contract.kernels import BuiltKernel
from tests.support import contract
from tests.support.kernel_source import ensure

CHANGE = b"--- a/drivers/a.c\n+++ b/drivers/a.c\n@@ -1 +1 @@\n-int a = 1;\n+int a = 2;\n"


@pytest.mark.slow
def test_a_choice_changes_its_source_before_our_patches(machine: Path, tree: Path) -> None:
    drivers = tree / "drivers" / "a.c"
    drivers.write_text("int a = 1;\n")
    fix = PatchFile("fix.patch", CHANGE)
    plain = KernelChoice("linux", tree)
    patched = replace(plain, patches=(fix,))
    keys = {build.current_inputs(choice).key for choice in (plain, patched)}
    assert len(keys) == 2
    kernel = ensure(choice=patched)
    assert build.find(patched) == kernel != ensure(choice=plain)
    assert kernel.manifest["added"] == ["fix.patch"]
    assert kernel.manifest["inputs"]["changes"] == patched.changes_sha256
    assert "changes" not in ensure(choice=plain).manifest["inputs"]
    drivers.write_text("int a = 2;\n")
    taken_out = ensure(choice=replace(plain, reverts=(fix,)))
    assert taken_out.manifest["taken_out"] == ["fix.patch"]
    with pytest.raises(MachineError, match=r"fix\.patch does not apply to (?s:.*) drivers/a\.c"):
        ensure(choice=patched)
    configured = ensure(choice=replace(plain, config=(("OTHER", "n"), ("NEW", "5"))))
    config = (configured.linux.parent / "config").read_text()
    assert config.endswith("# CONFIG_OTHER is not set\nCONFIG_NEW=5\n")
    release = configured.release
    assert re.fullmatch(r"6\.12\.7-t[0-9a-f]{8}-[0-9a-f]{8}", release)
    assert ensure(choice=plain).release == "-".join(release.split("-")[:2])
    assert configured.manifest["options"] == {"OTHER": "n", "NEW": "5"}
    for each in (kernel, taken_out, configured):
        place = {"key": each.key, "linux": str(each.linux), "stubs": "ptrace"}
        assert kernel_document.document(each) == {**place, **each.manifest}
        assert contract.faults(BuiltKernel, kernel_document.document(each)) == []


@pytest.mark.slow
def test_an_option_that_the_kernel_cannot_have_is_named(machine: Path, tree: Path) -> None:
    (tree / "lacking").write_text("/^CONFIG_ASKED=/d\n")
    choice = KernelChoice("linux", tree, config=(("ASKED", "5"),))
    with pytest.raises(MachineError, match=r"cannot have these options .*: CONFIG_ASKED=5\n"):
        ensure(choice=choice)


@pytest.mark.slow
def test_the_tick_gets_its_prompt_where_it_is_asked_for(machine: Path, tree: Path) -> None:
    kconfig = tree / "arch" / "um" / "Kconfig"
    kconfig.parent.mkdir(parents=True, exist_ok=True)
    kconfig.write_text("config HZ\n\tint\n\tdefault 250\n")
    asked = ensure(choice=KernelChoice("linux", tree, config=(("HZ", "1000"),)))
    assert "CONFIG_HZ=1000" in (asked.linux.parent / "config").read_text().splitlines()
    kconfig.write_text("config TICK\n\tbool\n")
    ensure(choice=KernelChoice("linux", tree))
    with pytest.raises(MachineError, match=r"hz-option\.patch does not apply"):
        ensure(choice=KernelChoice("linux", tree, config=(("HZ", "1000"),)))


@pytest.mark.slow
def test_a_revision_is_built_and_the_repository_stays(machine: Path, tree: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tree), *who, *words], check=True, capture_output=True)

    git("init", "--quiet")
    for path in ("include", "arch/um", "arch/x86", "drivers"):
        (tree / path / "keep").touch()
    git("add", "--all")
    git("commit", "--message", "first")
    git("tag", "v1")
    (tree / "Makefile").write_text("HZ = 50\n")
    git("commit", "--all", "--message", "second")
    (tree / "Makefile").write_text("not committed\n")
    choice = of_text(f"{tree}@v1")
    kernel = ensure(choice=choice)
    assert (kernel.tree / "Makefile").read_text() == "HZ = 250\n"
    assert kernel.manifest["source"].startswith(f"{tree}@")
    commit = kernel.manifest["source"].partition("@")[2]
    assert kernel.release == f"6.12.7-g{commit[:12]}"
    assert kernel.manifest["inputs"]["source"].startswith("git:")
    assert build.find(choice) == kernel
    assert (tree / "Makefile").read_text() == "not committed\n"
    with pytest.raises(MachineError, match="has no revision v9"):
        ensure(choice=of_text(f"{tree}@v9"))
    with pytest.raises(MachineError, match="no git repository"):
        ensure(choice=replace(choice, path=machine.parent / "bin"))


@pytest.mark.slow
def test_a_stored_runs_kernel_is_taken_from_the_cache_whatever_became_of_its_source(
    machine: Path, tree: Path
) -> None:
    kernel = ensure(choice=KernelChoice("linux", tree))
    of_run = KernelChoice(
        "outside-here/linux",
        built_from=build.inputs_without_compiler(kernel.manifest),
        is_foreign=True,
    )
    (tree / "Makefile").write_text("HZ = 1\n")
    assert ensure(choice=of_run) == build.find(of_run) == kernel
    unknown = replace(of_run, built_from="{}")
    with pytest.raises(MachineError, match="the place of its source is not known"):
        ensure(choice=unknown)
    changed = replace(unknown, patches=(PatchFile("fix.patch", CHANGE),))
    with pytest.raises(MachineError, match="a build would run what they have"):
        ensure(choice=changed)


def test_the_parts_of_a_kernels_name(tmp_path: Path) -> None:
    assert parts_of("6.12") == KernelText("6.12", None, ())
    assert parts_of("~/linux@v6.15+a.patch+b/c.diff") == KernelText(
        "~/linux", "v6.15", ("a.patch", "b/c.diff")
    )
    odd = tmp_path / "linux@home+x.patch"
    odd.mkdir()
    assert parts_of(str(odd)) == KernelText(str(odd), None, ())
    assert absolute("7.3+/x/fix.patch") == "7.3+/x/fix.patch"
    assert absolute("/l@v1") == "/l@v1"
    with pytest.raises(ValueError, match="no revision"):
        of_text("/linux@-x")
