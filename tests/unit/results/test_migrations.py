"""Migrations: from every earlier schema to the newest, each in one transaction with its record."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from orchestrator.errors import StoreError
from results import database
from results.database import MIGRATIONS, newest, open_writable
from results.samples import TABLES
from results.store import Store
from tests.unit.results.test_recordings import head, whole

SECOND = """\
CREATE TABLE remarks (run INTEGER PRIMARY KEY REFERENCES runs, text TEXT NOT NULL);
ALTER TABLE runs ADD COLUMN label TEXT;
"""

# A run as the schema of each version stored it, newest columns left out. A migration that changes
# the runs' own rows adds the statement that its program would have written.
STORED_AT = {
    1: """INSERT INTO runs (id, experiment, scenario, description, variant, repetition, seed,
    backend, duration_s, warmup_s, windows, scenario_text, scenario_sha256, resolved, links,
    git_commit, unconfined, started_utc, owner_pid, owner_start_ticks, owner_boot_id,
    owner_pid_namespace, status, error) VALUES ('20260101-000000-0000', 'e', 's', 'd',
    '{"a": 1}', 0, 7, 'guest', 10.0, 2.0, '[["quiet", 0.0, 5.0]]', 'version: 1', '5a', '{}', '[]',
    NULL, 0, '2026-01-01T00:00:00.000+00:00', 1, 1, 'b', 'n', 'failed', 'no kernel')""",
}


def schema(path: Path) -> set[tuple[str, str, str]]:
    """Everything the schema consists of, whatever the order of its making."""
    connection = sqlite3.connect(path)
    found = set()
    objects = connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
    for kind, name, sql in objects:
        if kind == "table":
            columns = connection.execute(
                f"SELECT group_concat(name || type || pk, ' ') FROM pragma_table_info('{name}')"
            )
            found.add((kind, name, columns.fetchone()[0]))
        else:
            found.add((kind, name, sql or ""))
    connection.close()
    return found


def up_to(folder: Path, version: int) -> Path:
    """A folder with the migrations up to a version only."""
    folder.mkdir()
    for file in sorted(MIGRATIONS.glob("*.sql"))[:version]:
        shutil.copy(file, folder)
    return folder


def pragma(path: Path, name: str) -> int:
    connection = sqlite3.connect(path)
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    connection.close()
    return int(value)


def test_queues_stored_before_statistics_were_keep_all_they_had(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    connection = open_writable(path, up_to(tmp_path / "migrations", 1))
    connection.execute(STORED_AT[1])
    connection.execute(
        "INSERT INTO queues VALUES (1, 0, 'b:forward:queue', 'b', 'forward', 'queue', 'droptail', "
        "1, 8000, 100, NULL, NULL, NULL)"
    )
    connection.execute("INSERT INTO queue_samples VALUES (1, 0, 5, 1514, 1, 0, 0, 0, 3028, 2)")
    connection.close()
    with Store(path) as store:
        run = store.load("20260101-000000-0000")
        (queue,) = run.queues
        assert (queue.name, queue.limit_packets, queue.bottleneck) == ("b:forward:queue", 100, True)
        assert queue.statistics == ()
        columns = run.queue_samples(0)
        assert (columns["backlog_bytes"].tolist(), columns["statistic_3"].tolist()) == ([3028], [0])


@pytest.mark.parametrize("version", range(1, newest() + 1))
def test_every_earlier_schema_becomes_the_newest(tmp_path: Path, version: int) -> None:
    path, fresh = tmp_path / "old.db", tmp_path / "new.db"
    connection = open_writable(path, up_to(tmp_path / "migrations", version))
    connection.execute(STORED_AT[max(stored for stored in STORED_AT if stored <= version)])
    connection.close()
    with Store(path) as store:
        row = store.load("20260101-000000-0000").row
        assert (row.seed, row.variant, row.status, row.error) == (
            7,
            {"a": 1},
            "failed",
            "no kernel",
        )
        store.finish(store.begin(head()), whole(), 1.0)
    Store(fresh).close()
    assert schema(path) == schema(fresh)
    assert pragma(path, "user_version") == newest()


def test_the_schema_has_a_column_for_every_field(tmp_path: Path) -> None:
    connection = open_writable(tmp_path / "new.db")
    stored = connection.execute('SELECT "table", position, name FROM sample_columns').fetchall()
    assert {table for table, _position, _name in stored} == set(TABLES)
    for table, (dtype, keys, *_) in TABLES.items():
        columns = connection.execute(f"SELECT name FROM pragma_table_info('{table}')").fetchall()
        assert {name for (name,) in columns} == {
            "run", *keys, "part", "rows", "first_ns", "last_ns", "block",
        }  # fmt: skip
        positions = {name: position for owner, position, name in stored if owner == table}
        assert sorted(positions.values()) == list(range(len(positions)))
        assert {*positions, *keys} == set(dtype.names or ())
    connection.close()


def test_a_migration_is_recorded_with_its_name(tmp_path: Path) -> None:
    connection = open_writable(tmp_path / "new.db")
    records = connection.execute("SELECT version, name FROM migrations ORDER BY version").fetchall()
    connection.close()
    assert records == [
        (number, file.stem) for number, file in enumerate(sorted(MIGRATIONS.glob("*.sql")), 1)
    ]
    assert pragma(tmp_path / "new.db", "application_id") == database.APPLICATION_ID


def test_a_new_migration_is_applied_once(tmp_path: Path) -> None:
    path, migrations = tmp_path / "runs.db", up_to(tmp_path / "migrations", newest())
    Store(path).close()
    (migrations / f"{newest() + 1:04}_notes.sql").write_text(SECOND)
    for _ in range(2):
        open_writable(path, migrations).close()
    assert pragma(path, "user_version") == newest() + 1
    assert ("table", "remarks", "runINTEGER1 textTEXT0") in schema(path)


def test_a_migration_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    path, migrations = tmp_path / "runs.db", up_to(tmp_path / "migrations", newest())
    Store(path).close()
    before = schema(path)
    bad = migrations / f"{newest() + 1:04}_bad.sql"
    bad.write_text(SECOND + "INSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(StoreError, match="nowhere"):
        open_writable(path, migrations)
    assert schema(path) == before
    assert pragma(path, "user_version") == newest()
    bad.write_text(SECOND)
    open_writable(path, migrations).close()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (f"{newest() + 2:04}_gap.sql", SECOND, "numbered"),
        ("notes.sql", SECOND, "numbered"),
        (f"{newest() + 1:04}_open.sql", "CREATE TABLE remarks (run", "ends within a statement"),
    ],
)
def test_a_migration_that_is_not_well_formed_is_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    migrations = up_to(tmp_path / "migrations", newest())
    (migrations / name).write_text(text)
    with pytest.raises(StoreError, match=message):
        open_writable(tmp_path / "runs.db", migrations)
