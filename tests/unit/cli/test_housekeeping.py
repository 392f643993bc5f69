"""``rm``, ``gc``, ``note`` and ``tag``: what they say, ask and refuse."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli import commands
from orchestrator.files.temporary import TemporaryFolder, bytes_on_disk
from results.store.store import Store
from tests.support import golden, traces
from tests.support.recordings import head
from tests.support.run import KERNEL, FakeRunner, fake, orchestrator, recording, run_ids

__all__ = ["fake"]

GOLDEN = Path(__file__).parent / "golden"
DB = Path("results/runs.db")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the program take its input for a terminal."""
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _self: True)


def answer(text: str, *words: str) -> Result:
    return CliRunner().invoke(commands, words, input=text)


def listed(*words: str) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads(orchestrator("runs", *words, "--json").stdout)["runs"]
    return runs


@pytest.fixture
def ids(fake: FakeRunner) -> list[str]:
    """Three stored runs, the first one failed."""
    fake.failed = {1}
    orchestrator("run", "pair.yaml", "--set", "repetitions=3", "--quiet")
    return run_ids()


def test_housekeeping_reads_as_its_golden_file(
    ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: None
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    first, second, third = ids
    asked: list[tuple[tuple[str, ...], str]] = [
        (("note", second, third, "too short"), ""),
        (("note", second, third), ""),
        (("tag", first, "last", "paper"), ""),
        (("gc", "--failed", "--dry-run"), ""),
        (("rm", first, second), "n\n"),
        (("rm", first, second), "y\n"),
        (("tag", "last", "paper", "--remove"), ""),
        (("note", "last", "--remove", "1"), ""),
        (("show", first), ""),
    ]
    said = "".join(golden.transcript(words, answer(text, *words)) for words, text in asked)
    golden.check(GOLDEN / "housekeeping.txt", said.replace(str(tmp_path), "/tmp"))


def test_notes_and_tags_are_shown_and_found(ids: list[str]) -> None:
    assert orchestrator("note", ids[1], ids[2], "too short").exit_code == 0
    assert orchestrator("tag", ids[1], "last", "paper").exit_code == 0
    shown = orchestrator("show", "last").stdout.splitlines()
    tags = shown.index("tags: paper")
    assert shown[tags + 1].startswith("note 1 (20")
    assert shown[tags + 1].endswith(" UTC): too short")
    assert [run["id"] for run in listed("--where", "tag=paper and repetition=1")] == [ids[1]]
    assert "tags" in orchestrator("runs").stdout.splitlines()[0]
    assert orchestrator("tag", "last", "paper", "--remove").exit_code == 0
    assert orchestrator("note", "last", "--remove", "1").exit_code == 0
    assert [(run["tags"], len(run["notes"])) for run in listed()] == [
        ([], 0),
        (["paper"], 1),
        ([], 0),
    ]


REFUSED = [
    ("note", "last"),
    ("note", "last", ""),
    ("note", "last", "--remove", "7"),
    ("note", "last", "--remove", "0"),
    ("note", "nosuch", "x"),
    ("tag", "last"),
    ("tag", "last", "a b"),
    ("tag", "last", "paper", "--remove"),
    ("rm",),
    ("rm", "last", "--experiment", "pair"),
    ("rm", "last"),
    ("rm", "nosuch", "--yes"),
    ("rm", "--experiment", "nosuch", "--yes"),
]


def test_what_is_refused_changes_nothing_and_reads_as_its_golden_file(ids: list[str]) -> None:
    before = listed()
    results = [(words, orchestrator(*words)) for words in REFUSED]
    assert {result.exit_code for _words, result in results} == {2}
    assert listed() == before
    golden.check(
        GOLDEN / "housekeeping-refused.txt",
        "".join(golden.transcript(words, result) for words, result in results),
    )


def test_rm_asks_on_a_terminal(ids: list[str], terminal: None) -> None:
    orchestrator("tag", ids[0], "odd")
    refused = answer("n\n", "rm", *ids[:2])
    assert (refused.exit_code, refused.stdout) == (0, "")
    assert run_ids() == ids
    assert answer("", "rm", ids[0]).exit_code == 130  # the end of input is no answer
    assert run_ids() == ids
    assert answer("y\n", "rm", *ids[:2]).exit_code == 0
    assert run_ids() == ids[2:]


def test_rm_asks_for_the_hash_where_a_name_has_several(ids: list[str], fake: FakeRunner) -> None:
    orchestrator("run", "pair.yaml", "--set", "seed=5", "--quiet")
    refused = orchestrator("rm", "--experiment", "pair", "--yes")
    assert (refused.exit_code, len(run_ids())) == (2, len(ids) + 1)
    assert "pair: several experiments have this name; choose one of pair@" in refused.stderr
    assert "is taken" not in refused.stderr
    label = refused.stderr.split()[-1]
    assert orchestrator("rm", "--experiment", label, "--yes").stdout == "1 run removed\n"
    assert run_ids() == ids


def test_rm_removes_an_experiment(ids: list[str], fake: FakeRunner) -> None:
    orchestrator("run", "pair.yaml", "--set", "name=other", "--set", "seed=5", "--quiet")
    other = run_ids()[-1]
    assert orchestrator("rm", "--experiment", "pair", "--yes").stdout == "3 runs removed\n"
    assert run_ids() == [other]
    assert orchestrator("show", ids[0]).exit_code == 2
    # What was removed can be run again, with an id of its own.
    orchestrator("run", "pair.yaml", "--resume", "--quiet")
    assert len(run_ids()) == 2


def test_a_running_run_is_refused(ids: list[str]) -> None:
    with Store(Path("results/runs.db")) as store:
        running = store.begin(head())
    for words in (["rm", running, ids[1], "--yes"], ["gc"], ["gc", "--failed", "--dry-run"]):
        result = orchestrator(*words)
        assert result.exit_code == 2
        assert f"run {running} is running" in result.stderr
    assert len(run_ids()) == 4


def abandoned(root: Path) -> Path:
    """A folder as a killed process leaves it, of 40 kB."""
    folder = TemporaryFolder("run", root)
    (folder.path / "0").mkdir()
    (folder.path / "0" / "console").write_bytes(os.urandom(40_000))
    os.close(folder.lock)
    return folder.path


def test_gc_removes_what_no_run_needs(
    ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "temporary"
    root.mkdir()
    monkeypatch.setenv("TMPDIR", str(root))
    held = TemporaryFolder("shell", root)
    left = abandoned(root)
    before = Path("results/runs.db").read_bytes()
    dry = orchestrator("gc", "--failed", "--dry-run")
    assert dry.stdout.splitlines() == [
        f"temporary data in {root}: 1 folder, 0.0 MB would be removed",
        "failed and interrupted: 1 run would be removed",
        "results/runs.db: 0.0 MB would be given back, and what the removed runs take",
    ]
    assert left.exists()
    assert Path("results/runs.db").read_bytes() == before
    done = orchestrator("gc", "--failed").stdout.splitlines()
    assert done[:2] == [
        f"temporary data in {root}: 1 folder, 0.0 MB removed",
        "failed and interrupted: 1 run removed",
    ]
    assert done[2].startswith("results/runs.db: 0.")
    assert done[2].endswith(" MB given back")
    assert sorted(root.iterdir()) == [held.path]
    assert run_ids() == ids[1:]
    held.remove()


def test_gc_keeps_failed_runs_that_people_marked(ids: list[str]) -> None:
    orchestrator("note", ids[0], "look at this one")
    assert orchestrator("gc", "--failed").exit_code == 0
    assert run_ids() == ids


def test_gc_removes_traces_that_can_be_made_again(
    fake: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.trace = traces.small
    for _ in range(4):
        orchestrator("run", "pair.yaml")
        orchestrator("zoom", "last", "--window", "1s..2s")
    ids = run_ids()
    orchestrator("tag", ids[1], "keep")
    with Store(DB) as store:
        made = recording(fake.asked[0][0].runs[0], "faithful", "d")
        elsewhere = store.begin(store.load(ids[2]).head)
        store.finish(elsewhere, replace(made, kernel="6.1.0"), 1.0)
        store.add_trace(elsewhere, traces.small())
    monkeypatch.setattr("guest.build.built", list)
    assert "fix: orchestrator guest build" in orchestrator("gc", "--traces").stderr
    monkeypatch.setattr("guest.build.built", lambda: [KERNEL])
    monkeypatch.setattr("guest.build.find", lambda choice: KERNEL)
    before = DB.read_bytes()
    dry = orchestrator("gc", "--traces", "--dry-run")
    assert "; those of 2 stay, which have notes or tags or cannot be made again\n" in dry.stdout
    assert "traces: those of 3 runs, 0.0 MB would be removed" in dry.stdout
    assert DB.read_bytes() == before
    assert "traces: those of 3 runs, 0.0 MB removed" in orchestrator("gc", "--traces").stdout
    with Store.open_read_only(DB) as store:
        assert [run for run in run_ids() if store.traces(run)] == [ids[1], elsewhere]
        assert all(store.load(run).status == "ok" for run in run_ids())
    assert "0 damaged" in orchestrator("doctor", "--store").stdout
    assert orchestrator("zoom", ids[0], "--window", "1s..2s").exit_code == 0


@pytest.mark.parametrize(
    "words", [["rm", "x", "--yes"], ["gc"], ["note", "a", "b"], ["tag", "a", "b"]]
)
def test_without_a_store_nothing_is_made(fake: FakeRunner, words: list[str]) -> None:
    result = orchestrator(*words)
    assert result.exit_code == 2
    assert "there is no results database" in result.stderr
    assert not Path("results").exists()


def test_sizes_on_the_disk_are_those_of_du(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "sparse").write_bytes(b"")
    os.truncate(tmp_path / "a" / "sparse", 10**9)
    (tmp_path / "a" / "full").write_bytes(os.urandom(100_000))
    (tmp_path / "link").symlink_to("a/full")
    du = subprocess.run(
        ["du", "--block-size=1", "-s", str(tmp_path)], capture_output=True, text=True, check=True
    )
    here = tmp_path.lstat().st_blocks * 512
    assert bytes_on_disk(tmp_path) + here == int(du.stdout.split()[0])
