"""A module of the user's own: what is read of its folder, and what a scenario may say of it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from kmods import catalogue
from kmods.catalogue import FolderError
from orchestrator.errors import ScenarioError
from orchestrator.planning.plan import RunSpec, plan
from orchestrator.scenario import load
from orchestrator.scenario.loader import load_values

EXAMPLE = Path(__file__).resolve().parents[3] / "scenarios" / "own-module"
SOURCE = """\
#include <net/tcp.h>
static unsigned int pace; /* .name = "comment" */
module_param(pace, uint, 0644);
MODULE_PARM_DESC(pace, "how "
                 "fast");
module_param_named(low, lowest[0], short, 0);
module_param(text, charp, 0444);
static const struct miscdevice other = { .name = "device" };
static bool wants(const struct tcp_congestion_ops *ops) { return ops->name == "no"; }
static struct tcp_congestion_ops one __read_mostly = {
	.owner = THIS_MODULE, .name = "one",
};
struct tcp_congestion_ops two = { .name	= "two" };
MODULE_LICENSE("GPL");
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "tcp_one.c").write_text(SOURCE, encoding="utf-8")
    return tmp_path / "own"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of the shipped example, to be broken at will; its scenario file."""
    shutil.copytree(EXAMPLE, tmp_path / "example")
    return tmp_path / "example" / "own-module.yaml"


def run_of(file: Path, *overrides: str) -> RunSpec:
    (run,) = plan(load(file, overrides)).runs
    return run


def refused(file: Path, *overrides: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        plan(load(file, overrides))
    return str(caught.value)


def test_congestion_controls_and_plain_parameters_are_read(folder: Path) -> None:
    read = catalogue.read(folder)
    assert list(read.modules) == ["one", "two"]
    parameters = read.modules["one"].parameters
    assert {p.name: (p.text, p.low, p.high, p.scope) for p in parameters.values()} == {
        "pace": ("how fast", 0, 2**32 - 1, "kernel"),
        "low": ("", -(2**15), 2**15 - 1, "kernel"),
    }
    assert read.kbuild == "obj-m := tcp_one.o\nccflags-y := -I$(src)\n"
    assert not read.uses_ours


def test_only_sources_go_in_and_their_hash_is_of_them(folder: Path) -> None:
    before = catalogue.read(folder)
    (folder / "deep").mkdir()
    (folder / "deep" / "more.h").write_text("/* more */\n", encoding="utf-8")
    known = catalogue.read(folder)
    assert list(known.files) == ["deep/more.h", "tcp_one.c"]
    assert known.sha256 != before.sha256
    for left in ("tcp_one.ko", "tcp_one.mod.c", ".tcp_one.o.cmd", "Module.symvers", "notes.txt"):
        (folder / left).write_text('struct tcp_congestion_ops x = { .name = "x" };', "utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "hidden.c").write_text(SOURCE, encoding="utf-8")
    assert catalogue.read(folder) == known


@pytest.mark.parametrize(("name", "text"), [("Kbuild", "obj-m := x.o\n"), ("Makefile", "obj-m+=")])
def test_an_own_kbuild_is_left_to_say_what_is_built(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    (folder / "part.c").write_text(
        'struct tcp_congestion_ops x = { .name = "three" };\nmodule_param(part, int, 0);\n', "utf-8"
    )
    read = catalogue.read(folder)
    assert read.kbuild is None
    assert set(read.modules) == {"one", "two", "three"}
    assert set(read.modules["one"].parameters) == {"pace", "low", "part"}


def test_without_a_kbuild_files_that_are_no_modules_are_not_built(folder: Path) -> None:
    (folder / "Makefile").write_text("all:\n\techo nothing\n", encoding="utf-8")
    (folder / "part.c").write_text('struct tcp_congestion_ops x = { .name = "three" };', "utf-8")
    read = catalogue.read(folder)
    assert set(read.modules) == {"one", "two"}
    assert read.kbuild is not None
    assert "part" not in read.kbuild


def test_our_headers_bring_ranges_settings_and_meanings(folder: Path) -> None:
    (folder / "tcp_one.c").write_text(
        '#include "cc.h"\nCC_PARAM(count_acks, 0, 0, 1, CC_COUNT_ACKS_TEXT);\n'
        'CC_SHOWS(one, "a [bytes/s]", "b [us]", "c [us]", "d");\n'
        'CC_SETTING(one, rate_bps, 0, 9, "rate");\n'
        'struct tcp_congestion_ops one = { .name = "one" };\nMODULE_LICENSE("GPL");\n',
        "utf-8",
    )
    read = catalogue.read(folder)
    module = read.modules["one"]
    assert read.uses_ours
    assert module.parameters["count_acks"].text.startswith("1 counts ACKs when the window grows")
    assert module.parameters["one_rate_bps"].scope == "namespace"
    assert module.shown == (("a", "bytes/s"), ("b", "us"), ("c", "us"), ("d", ""))
    (folder / "cc.h").write_text("/* one of its own */\n", encoding="utf-8")
    assert not catalogue.read(folder).uses_ours


def test_a_folder_without_a_module_says_what_it_lacks(tmp_path: Path) -> None:
    for content, said in (
        (None, "there is no folder"),
        ({}, "holds no source: it has no *.c file"),
        ({"x.c": "int x;"}, "no *.c file in it has MODULE_LICENSE"),
        ({"x.c": 'MODULE_LICENSE("GPL");'}, "defines no congestion control"),
    ):
        shutil.rmtree(tmp_path / "own", ignore_errors=True)
        if content is not None:
            (tmp_path / "own").mkdir()
            for name, text in content.items():
                (tmp_path / "own" / name).write_text(text, encoding="utf-8")
        with pytest.raises(FolderError, match=r"own`") as caught:
            catalogue.read(tmp_path / "own")
        assert said in str(caught.value)


def test_a_folder_that_is_no_modules_is_not_searched_for_ever(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FolderError, match="is not a folder"):
        catalogue.read(folder / "tcp_one.c")
    monkeypatch.setattr(catalogue, "MOST_ENTRIES", 3)
    for number in range(5):
        (folder / f"{number}.txt").touch()
    with pytest.raises(FolderError, match="more than 3 files"):
        catalogue.read(folder)


def test_the_folder_starts_from_the_scenario_file_wherever_one_is(
    example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(example.parents[1])
    for file in (example, Path("example/own-module.yaml")):
        module = run_of(file).flows[0].module
        assert module is not None
        assert module.path == example.parent / "mycc"
    monkeypatch.chdir("/")
    again = f"flows.mine.congestion.module={os.path.relpath(EXAMPLE / 'mycc', example.parent)}"
    module = run_of(example, again).flows[0].module
    assert module is not None
    assert module.path == EXAMPLE / "mycc"
    module = run_of(example, f"flows.mine.congestion.module={EXAMPLE}/mycc").flows[0].module
    assert module is not None
    assert module.path == EXAMPLE / "mycc"


def test_what_was_resolved_makes_the_same_run_anywhere_and_keeps_to_its_sources(
    example: Path, tmp_path: Path
) -> None:
    run = run_of(example)
    congestion = run.resolved["flows"][0]["congestion"]
    assert congestion["module"] == "mycc"
    assert congestion["parameters"] == {"increase": 2}
    contents = {place: file.content for place, file in run.files.items()}
    (same,) = plan(load_values(run.resolved, contents)).runs
    assert same.resolved == run.resolved
    assert [flow.module and flow.module.files for flow in same.flows] == [
        flow.module and flow.module.files for flow in run.flows
    ]
    source = example.parent / "mycc" / "tcp_mycc.c"
    source.write_text(source.read_text("utf-8") + "/* changed */\n", encoding="utf-8")
    assert run_of(example).resolved != run.resolved
    again = example.with_name("again.yaml")
    again.write_text(json.dumps(run.resolved), encoding="utf-8")
    assert f"have the SHA-256 {catalogue.read(source.parent).sha256}, not" in refused(again)


PLACE = "own-module.yaml:19:"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("./mycc", "./nope", PLACE + "38: there is no folder `{folder}/nope`"),
        ("./mycc", "own-module.yaml", PLACE + "38: `{folder}/own-module.yaml` is not a folder"),
        ("./mycc", ".", "holds no module"),
        ("./mycc", '"a\\0b"', "is not a path"),
        ("./mycc", "[x]", PLACE + "38: must be text (put it in quotes), not a list"),
        (
            "name: mycc",
            "name: mycc2",
            PLACE + "24: `{folder}/mycc` defines no congestion control `mycc2` (did you mean "
            "`mycc`?); it defines: mycc",
        ),
        (
            "name: mycc, module: ./mycc",
            "name: mycc",
            "or your own as `{{name: NAME, mod",
        ),
        ("increase: 2", "increas: 2", "has no parameter `increas` (did you mean `increase`?)"),
        ("increase: 2", "increase: -1", "increase must be from 0 to 4294967295, not -1"),
        ("increase: 2", "increase: two", "increase must be a whole number, not `two`"),
        ("./mycc,", "./mycc, sources: abc,", PLACE + "55: the sources in `{folder}/mycc` have"),
        ("name: mycc, module: ./mycc", "name: reno, sources: abc", "needs `module`"),
        (
            "congestion: reno",
            "congestion: {name: mycc, module: ./mycc}",
            "own-module.yaml:21:40: parameters of mycc hold for the whole kernel, and flow "
            "`mine` sets increase=2, not none",
        ),
        (
            "congestion: reno",
            "congestion: {name: mycc, module: ./again, parameters: {increase: 2}}",
            "own-module.yaml:21:40: a kernel has only one mycc, and flow `mine` uses that of "
            "{folder}/mycc/tcp_mycc.c, not of {folder}/again/tcp_mycc.c",
        ),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(
    example: Path, old: str, new: str, said: str
) -> None:
    text = example.read_text("utf-8")
    assert text.count(old) == 1
    shutil.copytree(example.parent / "mycc", example.parent / "again")
    example.parent.joinpath("x.c").write_text("int x;", encoding="utf-8")
    example.write_text(text.replace(old, new), encoding="utf-8")
    assert said.format(folder=example.parent) in refused(example)


def test_what_is_built_into_the_kernel_cannot_be_replaced(example: Path) -> None:
    source = example.parent / "mycc" / "tcp_mycc.c"
    source.write_text(source.read_text("utf-8").replace('"mycc"', '"reno"'), encoding="utf-8")
    said = refused(example, "flows.mine.congestion.name=reno")
    assert "`reno` is built into the guest kernel" in said
    source.write_text(source.read_text("utf-8").replace('"reno"', '"vegas"'), encoding="utf-8")
    flow = run_of(example, "flows.mine.congestion.name=vegas").flows[0]
    assert (flow.congestion, flow.module is not None) == ("vegas", True)
