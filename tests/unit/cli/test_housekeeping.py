"""``rm``, ``gc``, ``note`` and ``tag``: what they say, ask and refuse."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli import commands
from orchestrator.files.temporary import TemporaryFolder, bytes_on_disk
from results.database import newest
from results.store import Store
from tests.unit.cli.test_run import FakeRunner, fake, orchestrator, run_ids
from tests.unit.results.test_recordings import head
from tests.unit.stores import restore

__all__ = ["fake"]


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


def test_notes_and_tags_are_shown_and_found(ids: list[str]) -> None:
    result = orchestrator("note", ids[1], ids[2], "too short")
    assert result.stdout == "note added to 2 runs\n"
    assert orchestrator("tag", ids[1], "last", "paper").stdout == "tag paper added to 2 runs\n"
    shown = orchestrator("show", "last").stdout.splitlines()
    assert shown[1] == "tags: paper"
    assert shown[2].startswith("note 1 (20")
    assert shown[2].endswith(" UTC): too short")
    assert [run["id"] for run in listed("--where", "tag=paper and repetition=1")] == [ids[1]]
    assert "tags" in orchestrator("runs").stdout.splitlines()[0]
    assert orchestrator("tag", "last", "paper", "--remove").exit_code == 0
    assert orchestrator("note", "last", "--remove", "1").stdout == "note removed from 1 run\n"
    assert [(run["tags"], len(run["notes"])) for run in listed()] == [
        ([], 0),
        (["paper"], 1),
        ([], 0),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["note", "last"], "then give the note as one word in quotes"),
        (["note", "last", ""], "a note has 1 to 10000 characters"),
        (["note", "last", "--remove", "7"], "has no note 7"),
        (["note", "last", "--remove", "0"], "0 is not in the range"),
        (["note", "nosuch", "x"], "there is no run nosuch"),
        (["tag", "last"], "name one or more runs, and then the tag"),
        (["tag", "last", "a b"], "`a b` is no tag"),
        (["tag", "last", "paper", "--remove"], "has no tag paper"),
        (["rm"], "name runs, or an experiment"),
        (["rm", "last", "--experiment", "pair"], "name runs, or an experiment"),
        (["rm", "last"], "this is no terminal: give --yes"),
        (["rm", "nosuch", "--yes"], "there is no run nosuch"),
        (["rm", "--experiment", "nosuch", "--yes"], "there is no experiment nosuch"),
    ],
)
def test_what_is_refused_changes_nothing(ids: list[str], words: list[str], said: str) -> None:
    before = listed()
    result = orchestrator(*words)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr
    assert listed() == before


def test_a_note_that_is_a_run_is_a_mistake(ids: list[str]) -> None:
    result = orchestrator("note", ids[0], ids[1])
    assert result.exit_code == 2
    assert f"the last word is the note, and {ids[1]} is a run" in result.stderr


def test_rm_asks_on_a_terminal(ids: list[str], terminal: None) -> None:
    orchestrator("tag", ids[0], "odd")
    refused = answer("n\n", "rm", *ids[:2])
    assert (refused.exit_code, refused.stdout) == (0, "")
    assert f"{ids[0]}  pair  failed (has notes or tags)\n" in refused.stderr
    assert "remove 2 runs (1 failed, 1 ok, 1 with notes or tags) for ever? [y/N]" in refused.stderr
    assert refused.stderr.endswith("nothing was removed\n")
    assert run_ids() == ids
    assert answer("", "rm", ids[0]).exit_code == 130  # the end of input is no answer
    assert run_ids() == ids
    assert answer("y\n", "rm", *ids[:2]).stdout == "2 runs removed\n"
    assert run_ids() == ids[2:]


def test_rm_removes_an_experiment(ids: list[str], fake: FakeRunner) -> None:
    orchestrator("run", "pair.yaml", "--set", "name=other", "--set", "seed=5", "--quiet")
    other = run_ids()[-1]
    assert orchestrator("rm", "--experiment", "pair", "--yes").stdout == "3 runs removed\n"
    assert run_ids() == [other]
    gone = orchestrator("show", ids[0])
    assert gone.exit_code == 2
    assert f"run {ids[0]} was removed from results/runs.db at 20" in gone.stderr
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
    result = orchestrator("gc", "--failed")
    assert "failed and interrupted: 0 runs removed; 1 with notes or tags stay\n" in result.stdout
    assert run_ids() == ids


@pytest.mark.parametrize(
    "words", [["rm", "x", "--yes"], ["gc"], ["note", "a", "b"], ["tag", "a", "b"]]
)
def test_without_a_store_nothing_is_made(fake: FakeRunner, words: list[str]) -> None:
    result = orchestrator(*words)
    assert result.exit_code == 2
    assert "there is no results database" in result.stderr
    assert not Path("results").exists()


@pytest.mark.parametrize("version", range(1, newest() + 1))
def test_older_stores_are_migrated_when_they_are_changed(
    tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = restore(f"schema-{version}.sql", tmp_path / "runs.db")
    monkeypatch.setenv("ORCHESTRATOR_DB", str(path))
    before = path.read_bytes()
    assert orchestrator("gc", "--dry-run").exit_code == 0
    assert path.read_bytes() == before
    first = listed()[0]["id"]
    assert orchestrator("note", first, "old").exit_code == 0
    assert orchestrator("rm", first, "--yes").exit_code == 0
    assert orchestrator("gc", "--failed").exit_code == 0
    assert orchestrator("doctor", "--store").exit_code == 0
    assert first not in [run["id"] for run in listed()]


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
