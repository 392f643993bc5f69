"""Runs of other stores are taken whole and once, or not at all."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.errors import NotAStoreError, StoreError, UsageError
from orchestrator.recording.model import Check
from orchestrator.recording.verdicts import verdict_of
from results.documents import run_document
from results.schema import database
from results.schema.database import newest
from results.store.parts import checksum, integrity, removal
from results.store.parts.judgements import Judgement
from results.store.store import Store
from results.store.upkeep import housekeeping, merging
from results.store.upkeep.merging import merge
from tests.support.merging import orchestrator
from tests.support.recordings import head, whole
from tests.support.stores import restore


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A store with real runs, notes, tags, judgements, and a run that was removed."""
    path = restore(tmp_path / "source.db")
    with Store(path) as store:
        run_id = next(row.id for row in store.list_runs() if row.status == "ok")
        unknown = Check("base_rtt", "s", 0.1, None, 0.001, None)
        for checks in ([unknown], []):
            later = Judgement(verdict_of(checks), checks, "later", database.utc_now())
            store.add_judgement(run_id, later)
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """A store with a run of its own, and one that was removed."""
    path = tmp_path / "target.db"
    with Store(path) as store:
        gone = store.begin(head())
        store.fail(gone, "of no use")
        store.finish(store.begin(head()), whole(), 1.0)
        housekeeping.remove_runs(store, [gone])
    return path


def content(path: Path, ids: list[str]) -> list[object]:
    """Return all that the store has of some runs, but for their keys."""
    found: list[object] = []
    with closing(database.open_read_only(path)) as connection:
        for run_id in ids:
            (key,) = connection.execute("SELECT run FROM runs WHERE id = ?", (run_id,)).fetchone()
            for table in ("runs", *removal.TABLES):
                cursor = connection.execute(f"SELECT * FROM {table} WHERE run = ?", (key,))
                names = [column[0] for column in cursor.description]
                found.append((table, sorted(repr(row[names.index("run") + 1 :]) for row in cursor)))
    return found


def bytes_of(path: Path) -> bytes:
    """Return a store's file as it is without another process."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


def ids_of(path: Path) -> list[str]:
    with Store.open_read_only(path) as store:
        return [row.id for row in store.list_runs()]


def test_runs_are_taken_whole_and_only_once(source: Path, target: Path) -> None:
    before, own, theirs = bytes_of(source), ids_of(target), ids_of(source)
    assert len(theirs) > 1
    (merged,) = merge(target, [source])
    assert merged == merging.MergedSource(source, taken=theirs)
    assert ids_of(target) == [*own, *theirs]
    assert content(target, theirs) == content(source, theirs)
    assert integrity.examine(target).ok
    with Store.open_read_only(source) as there, Store.open_read_only(target) as here:
        assert run_document.of_ids(here, theirs) == run_document.of_ids(there, theirs)
        assert there.remarks().items() <= here.remarks().items()
        assert there.remarks(), "the source has notes"
        assert any(len(there.load(run_id).judgements) == 3 for run_id in theirs)
    (again,) = merge(target, [source])
    assert again.there == theirs
    assert not again.taken
    assert ids_of(target) == [*own, *theirs]
    assert bytes_of(source) == before


def test_a_run_that_was_removed_here_stays_away(source: Path, target: Path) -> None:
    merge(target, [source])
    first = ids_of(source)[0]
    with Store(target) as store:
        housekeeping.remove_runs(store, [first])
    (merged,) = merge(target, [source])
    assert merged.removed == [first]
    assert first not in ids_of(target)


def test_a_store_is_made_and_two_sources_may_overlap(source: Path, tmp_path: Path) -> None:
    other = Path(shutil.copy(source, tmp_path / "other.db"))
    with Store(other) as store:
        running = store.begin(head())
        more = store.begin(head())
        store.fail(more, "for a reason")
        merged = merge(tmp_path / "new.db", [source, other])
        assert store.load(running).status == "running"
    assert merged[0].taken == merged[1].there
    assert merged[1].taken == [more]
    assert merged[1].running == [running]
    assert integrity.examine(tmp_path / "new.db").ok


def sql(*statements: str) -> Callable[[Path], None]:
    def apply(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    return apply


def without_triggers(*statements: str) -> Callable[[Path], None]:
    """Change a store as only damage or a forger could: its triggers do not hold that back."""

    def apply(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            triggers = connection.execute(
                "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
            ).fetchall()
            for name, _sql in triggers:
                connection.execute(f"DROP TRIGGER {name}")
            changed = sum(connection.execute(statement).rowcount for statement in statements)
            assert changed > 0
            for _name, text in triggers:
                connection.execute(text)

    return apply


def seal_runs(path: Path) -> None:
    """Write the checksums of the table ``runs`` anew, as a forger would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        names = checksum.covered(newest())["runs"]
        for (key,) in connection.execute("SELECT run FROM runs").fetchall():
            total = checksum.of_rows(
                "runs", names, checksum.read_rows(connection, "runs", key, names)
            )
            connection.execute(
                "UPDATE checksums SET sha256 = ? WHERE run = ? AND \"table\" = 'runs'",
                (total.sha256, key),
            )


def turned_into_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n)"
HOSTILE: dict[str, Callable[[Path], object]] = {
    "no database": lambda path: path.write_bytes(b"not a database"),
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "a folder": turned_into_a_folder,
    "nothing": lambda path: path.unlink(),
    "newer": sql(f"PRAGMA user_version = {newest() + 1}"),
    "none of ours": sql("PRAGMA application_id = 1"),
    "version 0": sql("PRAGMA user_version = 0"),
    "negative version": sql("PRAGMA user_version = -1"),
    "a view in place of a table": sql(
        "DROP TABLE notes", f"CREATE VIEW notes AS {ENDLESS} SELECT x AS run FROM n"
    ),
    "a view in place of migrations": sql(
        "DROP TABLE migrations", f"CREATE VIEW migrations AS {ENDLESS} SELECT x FROM n"
    ),
    "one trigger more": sql("CREATE TRIGGER t AFTER INSERT ON tags BEGIN DELETE FROM runs; END"),
    "one table less": sql("DROP TABLE tags"),
    "a changed value": sql("UPDATE flows SET base_rtt_s = base_rtt_s + 1"),
    "a changed metric": sql("UPDATE metrics SET value = 0"),
    "a changed note": without_triggers("UPDATE notes SET text = 'other'"),
    "a lost judgement": without_triggers("DELETE FROM judgements"),
    "a changed sample": sql("UPDATE checksums SET rows = rows + 1 WHERE \"table\" = 'tcp_samples'"),
    "no checksums": sql("DELETE FROM checksums"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_malformed_store_is_refused_and_changes_nothing(
    kind: str, source: Path, target: Path, tmp_path: Path
) -> None:
    good = Path(shutil.copy(source, tmp_path / "good.db"))
    HOSTILE[kind](source)
    before = bytes_of(target)
    ended = orchestrator("merge", str(good), str(source), "--db", str(target))
    assert ended.exit_code == NotAStoreError.exit_status == 2, ended.output
    assert str(source) in ended.output
    assert bytes_of(target) == before


@pytest.mark.slow
def test_hostile_values_with_right_checksums_are_refused(source: Path, target: Path) -> None:
    for value in ("[1", "17", '"text"'):
        without_triggers(f"UPDATE runs SET variant = '{value}'")(source)
        seal_runs(source)
        (merged,) = merge(target, [source])
        assert not merged.taken
        assert len(merged.refused) == 4
    without_triggers("UPDATE runs SET variant = '{}', id = '../' || run")(source)
    seal_runs(source)
    with pytest.raises(NotAStoreError, match="nothing was merged"):
        merge(target, [source])


def test_another_run_with_the_same_id_is_no_copy(target: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with Store(other) as store:
        store.finish(store.begin(head()), whole(), 2.0)
    (taken,) = ids_of(target)
    without_triggers(f"UPDATE runs SET id = '{taken}'")(other)
    seal_runs(other)
    before = bytes_of(target)
    with pytest.raises(UsageError, match=f"run {taken} is another run"):
        merge(target, [other])
    assert bytes_of(target) == before


def test_a_merge_that_breaks_off_changes_nothing(
    source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, calls = bytes_of(target), 0
    copied = merging._copy

    def broken(*words: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        copied(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(merging, "_copy", broken)
    with pytest.raises(KeyboardInterrupt):
        merge(target, [source])
    assert bytes_of(target) == before


def test_the_command_reports_counts(source: Path, target: Path) -> None:
    number = len(ids_of(source))
    ended = orchestrator("merge", str(source), "--db", str(target))
    assert ended.output == f"{source}: {number} runs taken\n"
    ended = orchestrator("merge", str(source), "--db", str(target))
    assert ended.output == f"{source}: 0 runs taken, {number} there already\n"
    ended = orchestrator("merge", str(source), "--db", str(target), "--json")
    document = json.loads(ended.stdout)
    assert document["stores"][0]["there"] == ids_of(source)


def test_a_source_that_is_missing_is_named(target: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file to take runs from"):
        merging.merge(target, [tmp_path / "nope.db"])


def test_no_store_is_merged_into_itself(source: Path) -> None:
    for words in ([], [str(source), "--db", str(source)]):
        assert orchestrator("merge", *words).exit_code == UsageError.exit_status


def test_a_target_of_a_newer_program_is_left_alone(source: Path, target: Path) -> None:
    sql(f"PRAGMA user_version = {newest() + 1}")(target)
    with pytest.raises(StoreError, match="newer than this program"):
        merge(target, [source])
