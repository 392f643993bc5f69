"""Building modules with a fake make, and which of them a run loads with which parameters."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from guest.build import GuestKernel
from kmods import build, catalogue
from kmods.build import BuiltModules
from kmods.catalogue import Folder
from orchestrator.backends import modules
from orchestrator.backends.modules import ModuleBuilds
from orchestrator.decode.assemble import ProvidedModule
from orchestrator.errors import MachineError, ModuleError
from orchestrator.planning.plan import RunSpec, plan
from orchestrator.scenario import load

EXAMPLE = Path(__file__).resolve().parents[3] / "scenarios" / "own-module"
FAKE_MAKE = r"""#!/bin/bash
for word; do case "$word" in M=*) cd "${word#M=}" ;; esac; done
echo "$*" >>"$0.calls"
ls -R . .. >"$0.files"
if grep -q BROKEN *.c; then
  echo "make[1]: Entering directory"
  echo "  CC [M]  $PWD/tcp_mycc.o"
  echo "$PWD/tcp_mycc.c:7:3: error: no"
  exit 2
fi
if grep -q UNUSED *.c; then
  echo "  CC [M]  tcp_mycc.o"
  echo "$PWD/tcp_mycc.c:7:3: warning: unused variable 'x' [-Wunused-variable]"
  echo "    7 | int x;"
  echo "WARNING: modpost: missing MODULE_DESCRIPTION() in tcp_mycc.o"
fi
for source in *.c; do
  case $source in
    link_qdisc.c) name=sch_link ;;
    run_trace_main.c) name=run_trace ;;
    link_* | run_trace_*) continue ;;
    *) name=${source%.c} ;;
  esac
  printf 'ELF\0depends=\0parmtype=increase:uint\0name=%s\0' "$name" >"$name.ko"
  printf '\0mycc\0\0\0\0\0\0\0\0\0\0\0\0' >>"$name.ko"
done
ln -s /etc/passwd link.ko
"""


def ko(name: str, *, holds: str = "", takes: tuple[str, ...] = (), depends: str = "") -> bytes:
    """Return bytes with what is searched for in a module."""
    lines = [f"depends={depends}", *(f"parmtype={each}:uint" for each in takes), f"name={name}"]
    info = b"\0".join(line.encode() for line in lines)
    return b"ELF\0" + info + b"\0\0" + holds.encode().ljust(16, b"\0") + b"\0"


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command lines of make, with a cache of this test alone."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("make", FAKE_MAKE), ("gcc", "#!/bin/sh\n")):
        (tools / name).write_text(text, encoding="utf-8")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    return tools / "make.calls"


@pytest.fixture
def kernel(tmp_path: Path) -> GuestKernel:
    (tmp_path / "kernel" / "modules").mkdir(parents=True)
    folder = tmp_path / "kernel"
    return GuestKernel("key", folder / "linux", folder / "modules", "6.12", {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE / "mycc", tmp_path / "mycc"))


def test_what_warns_is_told_and_nothing_is_kept(
    calls: Path, kernel: GuestKernel, folder: Path
) -> None:
    source = folder / "tcp_mycc.c"
    plain = catalogue.read(folder)
    assert build.warnings_of(kernel, plain, build.compile_plainly) == []
    source.write_text(source.read_text() + "/* UNUSED */\n")
    warned = build.warnings_of(kernel, catalogue.read(folder), build.compile_plainly)
    assert warned == [
        f"{folder}/tcp_mycc.c:7:3: warning: unused variable 'x' [-Wunused-variable]",
        "WARNING: modpost: missing MODULE_DESCRIPTION() in tcp_mycc.o",
    ]
    source.write_text(source.read_text() + "/* BROKEN */\n")
    with pytest.raises(ModuleError, match="does not compile"):
        build.warnings_of(kernel, catalogue.read(folder), build.compile_plainly)
    assert len(calls.read_text().splitlines()) == 3
    assert not list(folder.parent.glob("cache/guest/module-*"))


def test_a_folder_is_built_elsewhere_and_once(
    calls: Path, kernel: GuestKernel, folder: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in (folder, *folder.iterdir())}
    built = build.ensure_folder(kernel, catalogue.read(folder), build.compile_plainly)
    assert built.folder.parent == Path(calls.parents[1] / "cache" / "guest")
    # A link could lead to any file of whoever builds.
    assert [path.name for path in built.folder.iterdir()] == ["tcp_mycc.ko"]
    assert {path: path.stat().st_mtime_ns for path in (folder, *folder.iterdir())} == before
    assert "Kbuild" in calls.with_suffix(".files").read_text("utf-8")
    again = build.ensure_folder(kernel, catalogue.read(folder), build.compile_plainly)
    assert again == built
    assert len(calls.read_text("utf-8").splitlines()) == 1
    assert [path.name for path in built.folder.parent.iterdir()] == [built.folder.name]


def test_a_builds_place_depends_on_all_its_inputs(
    calls: Path, kernel: GuestKernel, folder: Path
) -> None:
    def place(kernel: GuestKernel = kernel) -> Path:
        return build.ensure_folder(kernel, catalogue.read(folder), build.compile_plainly).folder

    places = [place(), place(replace(kernel, key="other"))]
    (folder / "more.h").write_text("int more;\n", encoding="utf-8")
    places.append(place())
    (folder / "Kbuild").write_text("obj-m := tcp_mycc.o\n", encoding="utf-8")
    places.append(place())
    (folder / "more.h").write_text('#include "cc.h"\n', encoding="utf-8")
    places.append(place())
    assert "cc_netns.h" in calls.with_suffix(".files").read_text("utf-8")
    assert len(set(places)) == 5
    (folder / "notes.txt").touch()
    assert place() == places[-1]


def test_a_build_uses_the_given_compiler(calls: Path, kernel: GuestKernel, folder: Path) -> None:
    asked: list[tuple[Path, Path, Sequence[str]]] = []

    def compiler(tree: Path, workshop: Path, words: Sequence[str]) -> build.BuildOutput:
        asked.append((tree, workshop, words))
        return build.compile_plainly(tree, workshop, words)

    build.ensure_folder(kernel, catalogue.read(folder), compiler)
    ((tree, workshop, words),) = asked
    assert tree == kernel.tree
    assert f"M={workshop}/source" in words
    assert f"M={workshop}/source" in calls.read_text("utf-8")


def test_compiler_messages_name_the_users_file(
    calls: Path, kernel: GuestKernel, folder: Path
) -> None:
    (folder / "tcp_mycc.c").write_text(
        (folder / "tcp_mycc.c").read_text("utf-8") + "BROKEN\n", encoding="utf-8"
    )
    with pytest.raises(ModuleError) as caught:
        build.ensure_folder(kernel, catalogue.read(folder), build.compile_plainly)
    assert str(caught.value) == (
        f"`{folder}` does not compile:\n  {folder}/tcp_mycc.c:7:3: error: no\n"
        "  fix: correct the source and run again"
    )
    assert not list((calls.parents[1] / "cache" / "guest").iterdir())


def test_the_place_of_the_projects_modules_depends_on_their_sources(
    calls: Path, kernel: GuestKernel
) -> None:
    built = build.ensure(kernel, build.compile_plainly)
    assert {path.stem for path in built.folder.glob("*.ko")} == {
        "run_counts", "run_trace", "sch_link", *(f"tcp_{name}" for name in catalogue.modules()),
    }  # fmt: skip
    assert build.ensure(kernel, build.compile_plainly) == built
    assert build.ensure(replace(kernel, key="other"), build.compile_plainly) != built
    assert len(calls.read_text("utf-8").splitlines()) == 2


# ---- which modules a run loads ----


def spec(*overrides: str) -> RunSpec:
    (run,) = plan(load(EXAMPLE / "own-module.yaml", overrides)).runs
    return run


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The folder for modules that were built from the example's folder."""
    (tmp_path / "made").mkdir()
    return tmp_path / "made"


def example() -> Folder:
    return catalogue.read(EXAMPLE / "mycc")


def hand_in(run: RunSpec, made: Path, kernel: GuestKernel) -> list[ProvidedModule]:
    ours = made.parent / "ours"
    ours.mkdir(exist_ok=True)
    for name in ("sch_link", "run_counts"):
        (ours / f"{name}.ko").write_bytes(ko(name))
    built = ModuleBuilds(BuiltModules(ours), {example().sha256: BuiltModules(made)})
    target = made.parent / "handed" / "modules"
    return modules.provide(run, built, kernel, target)


def test_a_module_is_found_by_its_control_and_loaded_after_its_dependencies(
    kernel: GuestKernel, made: Path
) -> None:
    (kernel.modules_dir / "tcp_vegas.ko").write_bytes(ko("tcp_vegas"))
    (made / "anything.ko").write_bytes(
        ko("anything", holds="mycc", takes=("increase", "more"), depends="tcp_vegas,helper")
    )
    (made / "helper.ko").write_bytes(ko("helper", holds="mycc2"))
    (made / "tcp_mycc.ko").write_bytes(ko("tcp_mycc", holds="not_mycc"))
    handed = hand_in(spec(), made, kernel)
    assert [(each.name, each.parameters) for each in handed] == [
        ("sch_link", ""),
        ("run_counts", ""),
        ("tcp_vegas", ""),
        ("helper", ""),
        ("anything", "increase=2"),
    ]
    assert not any("folder" in each.provenance for each in handed[:3])
    assert handed[4].provenance["folder"] == "mycc"
    assert handed[4].provenance["sources_sha256"] == example().sha256
    target = made.parent / "handed" / "modules"
    assert (target / "anything.ko").read_bytes() == (made / "anything.ko").read_bytes()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no module built of `{folder}` holds the congestion control mycc: none was built"),
        ({"a": ko("a")}, "no module built of `{folder}` holds the congestion control mycc: a"),
        (
            {"a": ko("a", holds="mycc"), "b": ko("b", holds="mycc")},
            "several modules built of `{folder}` hold the congestion control mycc: a.ko, b.ko",
        ),
        (
            {"a": ko("a", holds="mycc", takes=("other",))},
            "a.ko of `{folder}` takes no parameter increase; it takes: other",
        ),
    ],
)
def test_a_build_without_the_requested_control_is_an_error(
    kernel: GuestKernel, made: Path, files: dict[str, bytes], said: str
) -> None:
    for name, content in files.items():
        (made / f"{name}.ko").write_bytes(content)
    with pytest.raises(ModuleError) as caught:
        hand_in(spec(), made, kernel)
    assert said.format(folder=EXAMPLE / "mycc") in str(caught.value)


def test_two_modules_of_one_name_cannot_share_a_kernel(kernel: GuestKernel, made: Path) -> None:
    (made / "tcp_vegas.ko").write_bytes(ko("tcp_vegas", holds="mycc", takes=("increase",)))
    (kernel.modules_dir / "tcp_vegas.ko").write_bytes(ko("tcp_vegas", holds="vegas"))
    names = [each.name for each in hand_in(spec(), made, kernel)]
    assert names == ["sch_link", "run_counts", "tcp_vegas"]
    shutil.rmtree(made.parent / "handed")
    with pytest.raises(ModuleError, match="needs another module tcp_vegas"):
        hand_in(spec("flows.reno.congestion=vegas"), made, kernel)


def test_a_missing_module_of_the_kernel_is_named(kernel: GuestKernel, made: Path) -> None:
    (made / "tcp_mycc.ko").write_bytes(ko("tcp_mycc", holds="mycc", takes=("increase",)))
    with pytest.raises(MachineError, match="no module tcp_yeah"):
        hand_in(spec("flows.reno.congestion=yeah"), made, kernel)
