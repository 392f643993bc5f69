"""A module of the user's own, by its folder: built, loaded, verified and recorded, or refused."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

import kmods.build
from guest.build import GuestKernel
from guest.cache import make_root
from kmods import catalogue
from orchestrator.backends.modules import ensure_ours
from orchestrator.errors import ModuleError
from orchestrator.sandbox.building import compile_confined
from results.store.store import Store
from tests.guest.conftest import Run

pytestmark = pytest.mark.guest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "scenarios" / "own-module"
SHORT = ("duration=12s", "warmup=2s")
REGISTERS = "return tcp_register_congestion_control(&mycc);"
OURS = """\
#define CC_TRACE_SYSTEM tcp_mycc
#include "cc.h"
CC_PARAM(speed, 3, 1, 9, "how fast");
CC_SHOWS(mycc, "x [bytes/s]", "y [us]", "five", "six [segments]");
static struct cc_shown mycc_shown(const struct sock *sk)
{
	return (struct cc_shown){ .rtt_min_us = 7, .first = 5, .second = READ_ONCE(speed) };
}
static void mycc_in_ack_event(struct sock *sk, u32 flags)
{
	mycc_trace(sk);
}
"""


@pytest.fixture(autouse=True)
def own_cache(kernel: GuestKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build into a cache of this test alone, which has this project's modules and no others."""
    ours = ensure_ours(kernel).folder
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path / "cache"))
    shutil.copytree(ours, make_root() / "guest" / ours.name)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A copy of the shipped example; its scenario file."""
    shutil.copytree(EXAMPLE, tmp_path / "example")
    return tmp_path / "example" / "own-module.yaml"


def change(scenario: Path, *changes: tuple[str, str]) -> None:
    """Replace texts of the example's source; each must be there."""
    source = scenario.parent / "mycc" / "tcp_mycc.c"
    text = source.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    source.write_text(text, encoding="utf-8")


def cached(tmp_path: Path) -> set[Path]:
    """Return the files of a test's cache."""
    return {path for path in (tmp_path / "cache").rglob("*") if path.is_file()}


def growth(db: Path, run_id: str) -> float:
    """Return the segments that the window grew by between two samples, 1 s apart, of a climb."""
    with Store.open_read_only(db) as store:
        cwnd = store.load(run_id).tcp("mine", 0, ["snd_cwnd_segments"])["snd_cwnd_segments"]
    steps = cwnd[10:] - cwnd[:-10]
    return float(np.median(steps[steps > 0]))


def test_the_example_is_built_loaded_and_recorded(run: Run, db: Path, kernel: GuestKernel) -> None:
    document = run(scenario=EXAMPLE / "own-module.yaml")
    assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
    assert document["flows"][0]["congestion_control"] == "mycc"
    folder = catalogue.read(EXAMPLE / "mycc")
    built = kmods.build.ensure_folder(kernel, folder, compile_confined).folder
    with Store.open_read_only(db) as store:
        assert store.load(document["id"]).provenance["modules"]["tcp_mycc"] == {
            "sha256": hashlib.sha256((built / "tcp_mycc.ko").read_bytes()).hexdigest(),
            "parameters": "increase=2",
            "folder": "mycc",
            "sources_sha256": folder.sha256,
        }
    assert [path.name for path in (EXAMPLE / "mycc").iterdir()] == ["tcp_mycc.c"]


@pytest.mark.long
def test_its_parameter_sets_the_growth_of_the_window(run: Run, db: Path) -> None:
    grown = []
    for increase in (1, 8):
        document = run(
            f"flows.mine.congestion.parameters.increase={increase}",
            "topology.bottleneck.queue.limit=500p",
            *SHORT,
            scenario=EXAMPLE / "own-module.yaml",
        )
        assert document["fidelity"]["verdict"] == "faithful", document["fidelity"]
        grown.append(growth(db, document["id"]))
    assert 4 < grown[1] / grown[0] < 12


@pytest.mark.long
def test_a_module_may_use_our_headers_and_a_kbuild_of_its_own(
    run: Run, db: Path, scenario: Path
) -> None:
    change(
        scenario,
        ("#include <linux/module.h>", OURS),
        (
            "static unsigned int increase __read_mostly = 2;\nmodule_param(increase, uint, 0644);",
            "",
        ),
        ('MODULE_PARM_DESC(increase, "segments that the window grows by in a round trip");', ""),
        ("READ_ONCE(increase)", "READ_ONCE(speed)"),
        (".owner", ".get_info = mycc_get_info,\n\t.in_ack_event = mycc_in_ack_event,\n\t.owner"),
    )
    (scenario.parent / "mycc" / "part.c").write_text("int part;\n", encoding="utf-8")
    kbuild = scenario.parent / "mycc" / "Kbuild"
    kbuild.write_text("obj-m := both.o\nboth-y := tcp_mycc.o part.o\n", encoding="utf-8")
    document = run("flows.mine.congestion.parameters={speed: 4}", *SHORT, scenario=scenario)
    assert document["fidelity"]["verdict"] == "faithful", document["error"]
    with Store.open_read_only(db) as store:
        stored = store.load(document["id"])
        assert stored.provenance["modules"]["both"]["parameters"] == "speed=4"
        assert stored.flows[0].congestion_fields == (
            ("x", "bytes/s"), ("y", "us"), ("five", ""), ("six", "segments"),
        )  # fmt: skip
        shown = stored.tcp(0, 0, [f"congestion_{slot}" for slot in range(4)])
    assert [int(column[-1]) for column in shown.values()] == [0, 7, 5, 4]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            [("READ_ONCE(increase));", "READ_ONCE(increase))")],
            "mycc/tcp_mycc.c:24:77: error: expected ';' before '}' token",
        ),
        pytest.param(
            [("tcp_in_slow_start(", "no_such_function(")], "implicit declaration of function",
            marks=pytest.mark.long,
        ),
        pytest.param(
            [("tcp_reno_undo_cwnd,", "undo,"),
             ("static struct tcp", "u32 undo(struct sock *sk);\nstatic struct tcp")],
            'modpost: "undo" [',
            marks=pytest.mark.long,
        ),
        (
            [("static struct tcp", "#if 0\nstatic struct tcp"), (REGISTERS, "return 0;"),
             ("tcp_unregister_congestion_control(&mycc);", ""), ("};\n", "};\n#endif\n")],
            "no module built of",
        ),
    ],
)  # fmt: skip
def test_a_module_that_does_not_compile_is_an_error_before_any_run(
    run: Run, db: Path, scenario: Path, changes: list[tuple[str, str]], said: str
) -> None:
    change(scenario, *changes)
    with pytest.raises(ModuleError) as caught:
        run(*SHORT, scenario=scenario)
    assert said in str(caught.value)
    with Store.open_read_only(db) as store:
        assert store.list_runs() == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            [(REGISTERS, "return 0;"),
             ("static struct tcp", "extern struct tcp_congestion_ops mycc;\nstruct tcp"),
             ("tcp_unregister_congestion_control(&mycc);", "")],
            "no congestion control mycc after loading tcp_mycc; the kernel has: reno, cubic",
        ),
        pytest.param(
            [(REGISTERS, "return -EINVAL;")], "tcp_mycc.ko increase=2: Invalid argument",
            marks=pytest.mark.long,
        ),
        pytest.param(
            [(REGISTERS, f"increase = 7;\n\t{REGISTERS}")],
            "tcp_mycc: increase is 7, requested was 2",
            marks=pytest.mark.long,
        ),
    ],
)  # fmt: skip
def test_a_module_without_its_control_or_parameter_fails_the_run(
    run: Run, scenario: Path, changes: list[tuple[str, str]], said: str
) -> None:
    change(scenario, *changes)
    document = run(*SHORT, scenario=scenario)
    assert document["status"] == "failed"
    assert said in document["error"]


@pytest.mark.long
def test_a_build_can_reach_only_its_own_folder(
    scenario: Path, tmp_path: Path, kernel: GuestKernel
) -> None:
    folder = scenario.parent / "mycc"
    own = [tmp_path / "canary", folder / "canary"]
    system = [Path("/var/cache/canary"), Path("/usr/canary"), Path.home() / "canary"]
    touched = " ".join(map(str, [*own, *system, "$(src)/../../canary"]))
    kbuild = f"$(shell touch {touched})\nobj-m := tcp_mycc.o\n"
    (folder / "Kbuild").write_text(kbuild, encoding="utf-8")
    sources = {path: path.read_bytes() for path in folder.iterdir()}
    before = cached(tmp_path)
    kmods.build.ensure_folder(kernel, catalogue.read(folder), compile_confined)
    assert [path.name for path in cached(tmp_path) - before] == ["tcp_mycc.ko"]
    assert not [path for path in (*own, *system) if path.exists()]
    assert {path: path.read_bytes() for path in folder.iterdir()} == sources
    # The same without the boundary, or this test could not fail.
    kbuild = f"$(shell touch {own[0]})\nobj-m := tcp_mycc.o\n"
    (folder / "Kbuild").write_text(kbuild, encoding="utf-8")
    kmods.build.ensure_folder(kernel, catalogue.read(folder), kmods.build.compile_plainly)
    assert own[0].exists()


def test_a_build_reads_a_kbuild_once(scenario: Path, kernel: GuestKernel) -> None:
    folder = scenario.parent / "mycc"
    count = "echo >> $(src)/count; wc -l < $(src)/count"
    again = "$(error this file is read again)"
    kbuild = f"obj-m := tcp_mycc.o\nifneq ($(shell {count}),1)\n{again}\nendif\n"
    (folder / "Kbuild").write_text(kbuild, encoding="utf-8")
    built = kmods.build.ensure_folder(kernel, catalogue.read(folder), compile_confined)
    assert list(built.sha256()) == ["tcp_mycc"]


@pytest.mark.long
def test_a_module_is_bit_identical_wherever_it_is_built(
    scenario: Path, tmp_path: Path, kernel: GuestKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(scenario, ("struct tcp_sock *tp = tcp_sk(sk);", "struct tcp_sock *tp = tcp_sk(sk);\n\n"
                      "\tWARN_ON_ONCE(!tp);"))  # fmt: skip
    folder = catalogue.read(scenario.parent / "mycc")
    hashes = []
    for cache in (tmp_path / "cache", tmp_path / "another" / "cache"):
        cache.mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv("ORCHESTRATOR_CACHE", str(cache))
        for compiler in (compile_confined, kmods.build.compile_plainly):
            hashes.append(kmods.build.ensure_folder(kernel, folder, compiler).sha256())
            shutil.rmtree(cache)
    assert hashes[0]
    assert hashes.count(hashes[0]) == len(hashes)


WARNS = {
    # A message for each ACK, and a WARN() with its dump for each hundredth.
    "messages": ('pr_warn("mycc: an ACK\\n");', "mycc: an ACK"),
    "dumps": (
        "static unsigned int count; WARN_ON(count++ % 100 == 0);",
        "WARNING: CPU: 0 PID: ",
    ),
}


@pytest.mark.parametrize(
    "what",
    [pytest.param(what, marks=pytest.mark.long) if what == "dumps" else what for what in WARNS],
)
def test_warnings_of_the_kernel_are_counted_and_leave_the_run_in_doubt(
    run: Run, scenario: Path, what: str
) -> None:
    plain = run(*SHORT, scenario=scenario)
    code, first = WARNS[what]
    hook = "static void mycc_cong_avoid(struct sock *sk, u32 ack, u32 acked)\n{\n"
    change(scenario, (hook, f"{hook}\t{code}\n"))
    document = run(*SHORT, scenario=scenario)
    assert (plain["kernel_warnings"], plain["fidelity"]["verdict"]) == (0, "faithful")
    assert document["digest"] == plain["digest"], "a warning takes no simulated time"
    acks = document["flows"][0]["goodput_bps"] * 10 / 8 / 1448
    assert acks / 2000 < document["kernel_warnings"] < 2 * acks
    assert document["fidelity"]["verdict"] == "doubtful"
    (check,) = [one for one in document["fidelity"]["checks"] if one["ok"] is not True]
    assert check["name"] == "kernel_warnings"
    assert check["measured"] == document["kernel_warnings"]
    assert check["detail"].startswith(f"the first one: {first}")
