"""Notes, tags, removal of runs and the file's size: what changes, and what stays as it was."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import StoreError, UsageError
from orchestrator.recording.model import TRANSFER_DTYPE, Check
from results.documents import run_document
from results.runs import listing
from results.samples import blocks
from results.schema.database import utc_now
from results.store import resolving
from results.store.parts import removal
from results.store.parts.integrity import examine
from results.store.parts.judgements import Judgement
from results.store.store import Store
from results.store.upkeep import housekeeping
from tests.support import traces
from tests.support.recordings import head, recording, whole
from tests.support.stores import restore

ROOT = Path(__file__).parents[4]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def finished(store: Store) -> str:
    run_id = store.begin(head())
    store.finish(run_id, whole(), 1.0, {"facts": {"a": 1}})
    return run_id


def rows_of(path: Path, key: int) -> dict[str, int]:
    """How many rows each table has of a run."""
    connection = sqlite3.connect(path)
    counts = {
        table: connection.execute(f"SELECT count(*) FROM {table} WHERE run = ?", (key,)).fetchone()
        for table in (*removal.TABLES, "runs")
    }
    connection.close()
    return {table: count for table, (count,) in counts.items() if count}


@pytest.mark.parametrize("named", ["its id", "last"])
def test_a_run_that_is_removed_while_it_is_looked_up_is_said_to_be(
    path: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look-up of its id and that of its row another process removes it."""
    with Store(path) as store, Store(path) as other:
        earlier, removed = finished(store), finished(store)
        resolve, waiting = resolving.resolve, [removed]

        def slowly(connection: sqlite3.Connection, file: Path, text: str) -> str:
            found = resolve(connection, file, text)
            while waiting:
                housekeeping.remove_runs(other, [waiting.pop()])
            return found

        monkeypatch.setattr(resolving, "resolve", slowly)
        if named == "last":
            assert store.load("last").row.id == earlier
        else:
            with pytest.raises(UsageError, match="was removed"):
                store.load(removed)


def test_an_id_that_an_index_has_and_no_row_is_damage(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(path) as store:
        finished(store)
        monkeypatch.setattr(resolving, "resolve", lambda *_of: "20260101-000000-abcd")
        with pytest.raises(StoreError, match="20260101-000000-abcd is damaged: table runs: an in"):
            store.load("last")


def test_notes_and_tags_are_added_and_removed_beside_the_run(path: Path) -> None:
    with Store(path) as store:
        one, two = finished(store), finished(store)
        housekeeping.add_note(store, [one, two], "  short\n\tqueue ")
        housekeeping.add_note(store, [one], "say more: é")
        for tags in ([one, two], [one]):
            housekeeping.add_tag(store, tags, "paper")
        housekeeping.add_tag(store, ["last"], "a-1.0_b:c+d")
        (found,) = run_document.of_ids(store, [one])["runs"]
        assert [(each["number"], each["text"]) for each in found["notes"]] == [
            (1, "short\n\tqueue"), (2, "say more: é"),
        ]  # fmt: skip
        assert found["tags"] == ["paper"]
        listed = run_document.list_document(listing.read(store))["runs"]
        assert [run["tags"] for run in listed] == [["paper"], ["a-1.0_b:c+d", "paper"]]
        assert [len(run["notes"]) for run in listed] == [2, 1]
        assert listed[0]["notes"] == found["notes"]
        housekeeping.remove_note(store, [one], 1)
        housekeeping.remove_tag(store, [one, two], "paper")
        assert [note.text for note in store.load(one).remarks.notes] == ["say more: é"]
        assert store.load(one).remarks.tags == []
    assert examine(path).counts["ok"] == 2
    assert examine(path).ok


def test_every_kind_of_run_may_have_notes(path: Path) -> None:
    with Store(path) as store:
        running, failed = store.begin(head()), store.begin(head())
        store.fail(failed, "the guest hung")
        housekeeping.add_note(store, [running, failed], "why?")
        store.finish(running, whole(), 1.0)
        assert {
            len(run["notes"]) for run in run_document.list_document(listing.read(store))["runs"]
        } == {1}
    assert examine(path).ok


@pytest.mark.parametrize("text", ["", " \n", "x" * 10_001, "bell\x07", "\x1b[2J", "\udcff"])
def test_notes_that_cannot_be_shown_are_refused(path: Path, text: str) -> None:
    with Store(path) as store:
        run_id = finished(store)
        with pytest.raises(UsageError, match="a note has"):
            housekeeping.add_note(store, [run_id], text)
        assert store.remarks() == {}


@pytest.mark.parametrize("tag", ["", "two words", "none", "and", "-x", "é", "x" * 65, "a=b", "a\n"])
def test_tags_are_words_that_conditions_can_name(path: Path, tag: str) -> None:
    with Store(path) as store:
        run_id = finished(store)
        with pytest.raises(UsageError, match="is no tag"):
            housekeeping.add_tag(store, [run_id], tag)


def test_all_runs_are_changed_or_none(path: Path) -> None:
    with Store(path) as store:
        one, two, running = finished(store), finished(store), store.begin(head())
        housekeeping.add_tag(store, [one], "paper")
        housekeeping.add_note(store, [one], "x")
        with pytest.raises(UsageError, match=f"run {two} has no tag paper; nothing was removed"):
            housekeeping.remove_tag(store, [one, two], "paper")
        with pytest.raises(UsageError, match=f"run {two} has no note 1; nothing was removed"):
            housekeeping.remove_note(store, [one, two], 1)
        with pytest.raises(UsageError, match="there is no run nosuch"):
            housekeeping.add_note(store, [one, "nosuch"], "y")
        with pytest.raises(UsageError, match=f"run {running} is running; .* Nothing was removed"):
            housekeeping.remove_runs(store, [one, running])
        remarks = store.remarks()
        assert list(remarks) == [one]
        assert (remarks[one].tags, len(remarks[one].notes)) == (["paper"], 1)
        assert len(store.list_runs()) == 3


def test_a_removed_run_leaves_nothing_and_the_others_stay_whole(path: Path) -> None:
    path = restore(path)
    with Store(path) as store:
        rows = store.list_runs()
        ids = [row.id for row in rows]
        for run_id in ids[:3]:
            housekeeping.add_note(store, [run_id], "x")
            housekeeping.add_tag(store, [run_id], "y")
            check = Check("base_rtt", "s", 0.1, 0.1, 0.001, True)
            store.add_judgement(run_id, Judgement("faithful", [check], "7", utc_now()))
            store.add_trace(run_id, traces.small())
        others = run_document.of_ids(store, [ids[1]])
    before = {key: rows_of(path, key) for key in (1, 2, 3)}
    # Every table has rows of one of the runs, or removing them would show nothing.
    assert set(before[1]) | set(before[3]) == {*removal.TABLES, "runs"}
    with Store(path) as store:
        housekeeping.remove_runs(store, [ids[0], ids[2], ids[0]])
        assert [row.id for row in store.list_runs()] == [ids[1], ids[3]]
        assert run_document.of_ids(store, [ids[1]]) == others
        with pytest.raises(UsageError, match=f"run {ids[0]} was removed from .* at 20"):
            store.load(ids[0])
        with pytest.raises(UsageError, match=f"run {ids[2]} was removed"):
            store.resolve(ids[2][:-1])
    assert (rows_of(path, 1), rows_of(path, 2), rows_of(path, 3)) == ({}, before[2], {})
    examination = examine(path)
    assert examination.ok, examination
    assert examination.counts["ok"] == 2


def test_no_run_gets_the_key_of_a_removed_one(path: Path) -> None:
    with Store(path) as store:
        for _ in range(3):
            housekeeping.remove_runs(store, [finished(store)])
        finished(store)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT run FROM removed ORDER BY run").fetchall() == [
        (1,), (2,), (3,),
    ]  # fmt: skip
    assert connection.execute("SELECT run FROM runs").fetchall() == [(4,)]
    connection.close()
    assert examine(path).ok


def test_the_database_itself_refuses_to_change_what_is_stored(path: Path) -> None:
    with Store(path) as store:
        one, two = finished(store), finished(store)
        housekeeping.add_note(store, [one], "x")
        housekeeping.add_tag(store, [one], "y")
        check = Check("base_rtt", "s", 0.1, 0.1, 0.001, True)
        store.add_judgement(one, Judgement("faithful", [check], "7", utc_now()))
        housekeeping.remove_runs(store, [two])
    connection = sqlite3.connect(path)
    for statement in (
        "UPDATE notes SET text = 'z'", "UPDATE tags SET tag = 'z'", "UPDATE removed SET id = 'z'",
        "DELETE FROM judgements",
    ):  # fmt: skip
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("change", "table"),
    [
        ("UPDATE notes SET text = 'z'", "notes"),
        ("UPDATE notes SET number = 9", "notes"),
        ("UPDATE notes SET text = x'00'", "notes"),
        ("UPDATE tags SET tag = 'z'", "tags"),
        ("UPDATE tags SET run = 2", "tags"),
        ("UPDATE removed SET id = 'z'", "removed"),
        ("UPDATE removed SET run = 99", "removed"),
    ],
)
def test_damage_to_notes_tags_and_removals_is_found(path: Path, change: str, table: str) -> None:
    with Store(path) as store:
        one, _two, three = finished(store), finished(store), finished(store)
        housekeeping.add_note(store, [one], "x")
        housekeeping.add_tag(store, [one], "y")
        housekeeping.remove_runs(store, [three])
    assert examine(path).ok
    connection = sqlite3.connect(path)
    triggers = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '%final'"
    ).fetchall()
    for name, _sql in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    assert connection.execute(change).rowcount == 1
    for _name, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.close()
    examination = examine(path)
    assert any(f"table {table}" in problem for problem in examination.problems), examination
    if table != "removed":
        with Store.open_read_only(path) as store, pytest.raises(StoreError, match="is damaged"):
            run_document.list_document(listing.read(store))


def big(rows: int) -> np.ndarray:
    """Transfers of equal times, whose order only their places in the store keep."""
    transfers = np.zeros(rows, TRANSFER_DTYPE)
    transfers["end_ns"] = -1
    transfers["bytes"] = np.random.default_rng(1).integers(1, 2**40, rows)
    return transfers


@pytest.mark.slow
def test_reclaiming_shrinks_the_file_and_keeps_every_run_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "ROWS", 4)  # many small rows of the table
    with Store(path) as store:
        ids = []
        for _ in range(3):
            ids.append(store.begin(head()))
            store.finish(ids[-1], recording(transfers=big(20_000)), 1.0)
        housekeeping.remove_runs(store, [ids[0], ids[2]])
        assert housekeeping.free_bytes(store) > 500_000
        kept = store.load(ids[1]).transfers(0)["bytes"].tolist()
        sizes = housekeeping.reclaim(store)
        assert sizes.complete
        assert sizes.after_bytes < sizes.before_bytes / 2
        assert housekeeping.free_bytes(store) == 0
        assert store.load(ids[1]).transfers(0)["bytes"].tolist() == kept
    assert path.stat().st_size == sizes.after_bytes
    assert examine(path).counts == {"ok": 1, "damaged": 0, "running": 0}


def test_reclaiming_waits_for_no_run_and_says_when_it_is_read(path: Path) -> None:
    with Store(path) as store:
        run_id = store.begin(head())
        with pytest.raises(UsageError, match=f"run {run_id} is running"):
            housekeeping.reclaim(store)
        store.fail(run_id, "x")
        reader = sqlite3.connect(path)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM runs").fetchall()
        store.connection.execute("PRAGMA busy_timeout = 100")
        assert not housekeeping.reclaim(store).complete
        reader.close()
        assert housekeeping.reclaim(store).complete


KILLED = """
import os, signal, sys
from pathlib import Path
from results.store.store import Store
from results.store.upkeep import housekeeping
with Store(Path(sys.argv[1])) as store:
    end = lambda: os.kill(os.getpid(), signal.SIGKILL)
    store.connection.set_progress_handler(end, int(sys.argv[3]))
    if sys.argv[2] == "rm":
        housekeeping.remove_runs(store, [row.id for row in store.list_runs()][:2])
    else:
        housekeeping.reclaim(store)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "steps"),
    [
        ("rm", 700),
        pytest.param("rm", 20_000, marks=pytest.mark.long),
        pytest.param("gc", 3_000, marks=pytest.mark.long),
        ("gc", 50_000),
    ],
)
def test_a_process_that_is_killed_removes_everything_or_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch, what: str, steps: int
) -> None:
    monkeypatch.setattr(blocks, "ROWS", 4)
    with Store(path) as store:
        for _ in range(3):
            store.finish(store.begin(head()), recording(transfers=big(20_000)), 1.0)
        if what == "gc":
            housekeeping.remove_runs(store, [store.list_runs()[0].id])
        left = len(store.list_runs())
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), what, str(steps)], cwd=ROOT, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    examination = examine(path)
    assert examination.ok, examination
    assert examination.counts["ok"] == left
    with Store(path) as store:
        assert housekeeping.reclaim(store).complete


def test_failed_runs_with_notes_or_tags_are_told_apart(path: Path) -> None:
    with Store(path) as store:
        finished(store)
        bad = [store.begin(head()) for _ in range(4)]
        for run_id in bad[:3]:
            store.fail(run_id, "x", "interrupted")
        housekeeping.add_tag(store, [bad[1]], "odd")
        assert housekeeping.ended_badly(store) == ([bad[0], bad[2]], [bad[1]])
