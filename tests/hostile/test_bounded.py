"""What a stranger's code may begin and must not finish: each act is bounded, and fails its run.

The acts are numbered in intruder/tcp_intruder.c. A sweep goes on behind each of them, which its
last run shows: it attacks nothing and ends well.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from orchestrator.backends.kernels import ensure
from results.store.store import Store
from tests.hostile.host import HERE, KERNELS, Desk

pytestmark = [pytest.mark.guest, pytest.mark.real_time]  # what the host is like is compared

GIB = 2**30
FORK, MEMORY, DESCRIPTORS, TEMPORARY, DISK, FILES, CONSOLE, FOLDERS, NOTHING, PROGRESS = range(
    2, 12
)
RECORD, LOG, MALFORMED, ESCAPES, INIT = range(12, 17)

WHY = {
    FORK: "Operation not permitted",
    MEMORY: "Operation not permitted",
    DESCRIPTORS: "Operation not permitted|its limits: .* 16384 open files a process",
    TEMPORARY: "the test bed failed|its limits",
    DISK: r"filled has \d+ bytes; at most \d+ MiB are allowed",
    FILES: "more than 1000 files in the output folder",
    CONSOLE: "console output exceeds 16 MiB",
    FOLDERS: "closed is a folder; only regular files are allowed",
    NOTHING: "took longer than 8s of wall time, .* --timeout sets another bound",
    PROGRESS: "took longer than 8s of wall time, .* --timeout sets another bound",
    LOG: "bed.log is a symbolic link; only regular files are allowed",
    ESCAPES: "Operation not permitted",
    INIT: "Operation not permitted",
}
QUICK = (FORK, DISK, CONSOLE, LOG, ESCAPES)
REACHED = {FORK: ("forked", 200, 270), MEMORY: ("mapped", 1024, 4096),
           DESCRIPTORS: ("opened", 15000, 16384), TEMPORARY: ("temporary", 10, 17)}  # fmt: skip
RECORDS = ("tcp.bin", "queue.bin", "facts.jsonl", "progress", "failure")
REPLACED = {
    0: "is a FIFO",
    10: "is a symbolic link",
    20: "is a symbolic link",
    30: "is a folder",
    40: r"its limits: .* \d\.\d GiB a file",
}
TEXTS = 8


def sweep(at_desk: Desk, acts: list[int], kernel: str = "") -> None:
    """Run each act and then none; each is bounded as WHY says."""
    outcome = at_desk.run(kernel, act=[*acts, 0])
    assert outcome.status == 1, outcome.errors
    assert outcome.peak_bytes < GIB
    *failed, last = outcome.runs()
    assert last["status"] == "ok", last["error"]
    for act, run in zip(acts, failed, strict=True):
        assert run["status"] == "failed"
        assert re.search(WHY[act], run["error"]), run["error"]
        if act in REACHED:
            what, least, most = REACHED[act]
            with Store.open_read_only(at_desk.db) as store:
                console = store.load(run["id"]).artefact("console")
            match = re.search(rf"intruder: {what} (\d+)", console)
            assert match, console
            assert least <= int(match[1]) <= most
    assert at_desk.db.stat().st_size < 64 * 2**20


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_worst_acts_are_bounded(at_desk: Desk, kernel: str) -> None:
    sweep(at_desk, list(QUICK), kernel)


@pytest.mark.long
def test_all_other_acts_are_bounded(at_desk: Desk) -> None:
    sweep(at_desk, [act for act in WHY if act not in QUICK])


def replaced(at_desk: Desk, variants: list[int]) -> None:
    """Put something else in a record's place, and see the run fail for it."""
    outcome = at_desk.run(act=[RECORD], variant=variants)
    assert outcome.status == 1, outcome.errors
    assert outcome.peak_bytes < GIB
    for variant, run in zip(variants, outcome.runs(), strict=True):
        assert run["status"] == "failed"
        kind, record = REPLACED[variant // 10 * 10], RECORDS[variant % 10]
        assert re.search(kind, run["error"]), run["error"]
        assert variant >= 40 or record in run["error"]


def test_no_record_is_read_unless_it_is_a_regular_file(at_desk: Desk) -> None:
    replaced(at_desk, [0, 3, 12, 23])


@pytest.mark.long
def test_each_record_is_refused_unless_it_is_a_regular_file(at_desk: Desk) -> None:
    records = {0: 4, 10: 5, 20: 5, 30: 5, 40: 4}
    replaced(at_desk, [kind + record for kind, many in records.items() for record in range(many)])


@pytest.mark.long
def test_malformed_records_fail_their_runs(at_desk: Desk) -> None:
    outcome = at_desk.run(act=[MALFORMED], variant=list(range(TEXTS)))
    assert outcome.status == 1, outcome.errors
    runs = outcome.runs()
    assert [run["status"] for run in runs] == ["failed"] * TEXTS
    for run in runs:
        assert "unexpected" not in run["error"]
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", run["error"])


def test_no_control_character_reaches_the_terminal(at_desk: Desk) -> None:
    words = ["--set", f"flows.mine.congestion.parameters.act={ESCAPES}", "--timeout", "8s"]
    outcome = at_desk.orchestrator("run", str(at_desk.scenario), *words)
    shown = at_desk.orchestrator("show", "last")
    for text in (outcome.output + outcome.errors, shown.output):
        assert "owned" in text
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text.replace("\r", ""))


BUILD = """
import sys
from pathlib import Path
from orchestrator.backends.kernels import ensure
from orchestrator.errors import ModuleError
from orchestrator.sandbox.building import compile_confined

tree, workshop = ensure().tree, Path(sys.argv[1])
words = ["make", "-C", str(tree), f"M={workshop}/source", "ARCH=um", "modules"]
try:
    done = compile_confined(tree, workshop, words, time_limit_s=float(sys.argv[2]))
    print(f"ended with {done.status}", done.output)
except ModuleError as error:
    print(error)
"""
KBUILD = """\
$(info $(shell gcc -O1 -I$(src) -o /tmp/builder $(src)/builder.c && /tmp/builder {act} $(src)))
obj-m := tcp_intruder.o
"""


@pytest.mark.parametrize(
    ("act", "limit_s", "why"),
    [
        pytest.param(1, 6, "took more than 6 s|forked [1-9][0-9]{1,2}\n", marks=pytest.mark.long),
        pytest.param(2, 6, r"took more than 6 s|mapped [1-4]\d{3} MiB", marks=pytest.mark.long),
        pytest.param(3, 6, r"opened 16\d{3}\n", marks=pytest.mark.long),
        pytest.param(4, 6, r"temporary 25\d MiB", marks=pytest.mark.long),
        (5, 60, "wrote more than 1024 MiB"),  # a slow disk takes longer than 6 s
        pytest.param(6, 6, "printed more than 16 MiB", marks=pytest.mark.long),
        pytest.param(7, 6, "took more than 6 s", marks=pytest.mark.long),
    ],
)
def test_a_build_is_bounded(at_desk: Desk, act: int, limit_s: int, why: str) -> None:
    ensure()
    workshop = at_desk.temporary / "build" / "workshop"
    source = workshop / "source"
    source.mkdir(parents=True)
    for file in (HERE / "intruder").iterdir():
        (source / file.name).write_bytes(file.read_bytes())
    (source / "target.h").write_bytes((at_desk.folder / "intruder" / "target.h").read_bytes())
    (source / "Kbuild").write_text(KBUILD.format(act=act), encoding="utf-8")
    for path in (workshop.parent, *workshop.parent.rglob("*")):
        os.chown(path, at_desk.user.uid, at_desk.user.gid)
    try:
        outcome = at_desk.python("-c", BUILD, str(workshop), str(limit_s))
    finally:
        _remove(workshop.parent)
    assert outcome.status == 0, outcome.errors
    assert re.search(why, outcome.output), outcome.output[-2000:]
    assert outcome.peak_bytes < GIB


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
