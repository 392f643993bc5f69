"""The schema and migrations of it: refused files, a made-up migration, and how it can fail."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.errors import NotAStoreError, StoreError
from results.samples.sample_tables import TABLES
from results.schema import database
from results.schema.database import MIGRATIONS, newest, open_read_only, open_writable
from results.store.store import Store
from tests.support.migrations import SECOND, pragma, with_another
from tests.support.run import FakeRunner, fake, orchestrator
from tests.support.stores import TINY, dump, restore

__all__ = ["fake"]

ROOT = Path(__file__).parents[4]
LAST_READER_OBJECTS = Path(__file__).with_name("last_reader.json")
"""The commit that reads unreleased stores, its tree, and those of `results` and its migrations."""


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


def unreleased(path: Path, version: int) -> Path:
    """Make a file with what tells a version that was never released, and return its path."""
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id = {database.APPLICATION_ID}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name, applied_utc)")
    connection.executemany(
        "INSERT INTO migrations VALUES (?, 'what', '2026-01-01T00:00:00.000+00:00')",
        [(number,) for number in range(1, version + 1)],
    )
    connection.execute("CREATE TABLE runs (run INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("version", range(1, 13))
def test_a_store_of_an_unreleased_version_is_refused_with_the_commit_that_reads_it(
    tmp_path: Path, fake: FakeRunner, version: int
) -> None:
    path = unreleased(tmp_path / "old.db", version)
    before = path.read_bytes()
    words = rf"has schema {version}, .* never released; this program reads schemas from 13 on"
    for opened in (Store, Store.open_read_only, Store.open_existing, open_read_only):
        with pytest.raises(NotAStoreError, match=words):
            opened(path)
    Path("tiny.yaml").write_text(TINY)
    merged = Path("new.db")
    for command in (
        ["runs", "--json"], ["show", "last"], ["doctor", "--store"], ["note", "last", "x"],
        ["gc"], ["run", "tiny.yaml"], ["run", "tiny.yaml", "--resume"],
        ["web", "--port", "0"], ["web", "--port", "0", "--edit"],
    ):  # fmt: skip
        refused = orchestrator(*command, "--db", str(path))
        assert refused.exit_code == 2, (command, refused.stderr)
        assert f"has schema {version}" in refused.stderr, command
        assert "fix: read it with the last version that can, `git checkout d8b3bc8`" in (
            refused.stderr
        )
    refused = orchestrator("merge", str(path), "--db", str(merged))
    assert (refused.exit_code, merged.exists()) == (2, False)
    assert "`git checkout d8b3bc8`" in refused.stderr
    assert not fake.asked
    assert path.read_bytes() == before


def entries(tree: bytes) -> dict[str, str]:
    """The id of each entry of one of Git's trees, by name."""
    found = {}
    while tree:
        head, _, rest = tree.partition(b"\0")
        found[head.split(b" ", 1)[1].decode()], tree = rest[:20].hex(), rest[20:]
    return found


def test_the_commit_that_reads_unreleased_stores_has_their_schemas() -> None:
    # A commit's id is the hash of its content: these objects of Git prove it without the history.
    objects: dict[str, bytes] = {}
    for each in json.loads(LAST_READER_OBJECTS.read_text()):
        content = base64.b64decode("".join(each["base64"]))
        whole = f"{each['type']} {len(content)}\0".encode() + content
        objects[hashlib.sha1(whole, usedforsecurity=False).hexdigest()] = content
    (commit,) = (key for key in objects if key.startswith(database.LAST_READER))
    root = objects[commit].split()[1].decode()
    migrations = objects[entries(objects[entries(objects[root])["results"]])["migrations"]]
    files = sorted(entries(migrations))
    assert [name[:4] for name in files] == [f"{number:04}" for number in range(1, database.FIRST)]


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
        (13, "0013_store"),
        (14, "0014_traces"),
        (15, "0015_counters"),
        (16, "0016_ecn"),
        (17, "0017_programs"),
        (18, "0018_ping"),
        (19, "0019_kept_files"),
    ]
    assert sorted(file.stem for file in MIGRATIONS.glob("*")) == [name for _, name in records]
    assert pragma(tmp_path / "new.db", "user_version") == newest() == 19
    assert pragma(tmp_path / "new.db", "application_id") == database.APPLICATION_ID


def test_a_migration_is_applied_once_and_says_what_it_does(tmp_path: Path) -> None:
    path, migrations = tmp_path / "runs.db", with_another(tmp_path / "more", "notes", SECOND)
    Store(path).close()
    told: list[str] = []
    for _ in range(2):
        open_writable(path, migrations, told.append).close()
    assert pragma(path, "user_version") == newest() + 1
    assert ("table", "remarks", "runINTEGER1 textTEXT0") in schema(path)
    begun, done = told
    assert begun.startswith(f"{path}: the schema 19 of the file becomes 20.")
    assert done == f"{path}: the schema is 20 now"
    open_writable(tmp_path / "new.db", migrations, told.append).close()
    assert len(told) == 2
    assert schema(path) == schema(tmp_path / "new.db")


def test_a_migration_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    path = restore(tmp_path / "runs.db")
    migrations = with_another(
        tmp_path / "more", "bad", SECOND + "INSERT INTO nowhere VALUES (1);\n"
    )
    before = dump(path)
    with pytest.raises(StoreError, match="nowhere"):
        open_writable(path, migrations)
    assert dump(path) == before
    (migrations / f"{newest() + 1:04}_bad.sql").write_text(SECOND)
    open_writable(path, migrations).close()


def test_a_second_migration_that_fails_undoes_the_first(tmp_path: Path) -> None:
    path, migrations = restore(tmp_path / "runs.db"), with_another(tmp_path / "more", "a", SECOND)
    (migrations / f"{newest() + 2:04}_b.sql").write_text("INSERT INTO nowhere VALUES (1);\n")
    before = dump(path)
    with pytest.raises(StoreError, match="nowhere"):
        open_writable(path, migrations)
    assert dump(path) == before


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (f"{newest() + 2:04}_gap.sql", SECOND, "numbered 0013_what.sql"),
        ("0001_initial.sql", SECOND, "numbered"),
        ("notes.sql", SECOND, "numbered"),
        (f"{newest() + 1:04}_open.sql", "CREATE TABLE remarks (run", "ends within a statement"),
    ],
)
def test_a_migration_that_is_not_well_formed_is_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    migrations = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS, migrations)
    (migrations / name).write_text(text)
    with pytest.raises(StoreError, match=message):
        open_writable(tmp_path / "runs.db", migrations)


OPENED = """
import os, resource, signal, sys
from pathlib import Path
from orchestrator.errors import StoreError
from results.schema import database

path, migrations, statement, count, room = *map(Path, sys.argv[1:3]), *sys.argv[3:]
count, connect = int(count), database._connect

def traced(sql):
    global count
    if statement and sql.lstrip().startswith(statement):
        count -= 1
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)

def watched(*words):
    connection = connect(*words)
    connection.execute("PRAGMA cache_size = 10")
    connection.set_trace_callback(traced)
    return connection

database._connect = watched
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
if int(room):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), resource.RLIM_INFINITY))
try:
    database.open_writable(path, migrations).close()
except StoreError as error:
    print(error)
"""


def opened(path: Path, migrations: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", OPENED, str(path), str(migrations), *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "count"), [("ALTER TABLE", 1), ("UPDATE metrics", 1), ("COMMIT", 1)]
)
def test_a_migration_that_is_killed_leaves_the_store_as_it_was(
    tmp_path: Path, statement: str, count: int
) -> None:
    path = restore(tmp_path / "runs.db")
    text = SECOND + "UPDATE metrics SET value = value;\n"
    migrations, before = with_another(tmp_path / "more", "notes", text), dump(path)
    done = opened(path, migrations, statement, str(count), "0")
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert dump(path) == before
    open_writable(path, migrations).close()
    assert pragma(path, "user_version") == newest() + 1


def test_a_migration_without_room_leaves_the_store_whole(tmp_path: Path) -> None:
    path = restore(tmp_path / "runs.db")
    text = SECOND + "CREATE TABLE copies AS SELECT * FROM artefacts, metrics;\n"
    migrations, before = with_another(tmp_path / "more", "notes", text), dump(path)
    # Beside the database there are a shared-memory file of 32 KiB and the log, which must grow.
    done = opened(path, migrations, "", "0", str(36 * 1024))
    assert "cannot write the results database" in done.stdout, done.stderr
    assert "raise the limit on the size of files" in done.stdout
    assert dump(path) == before
    with Store(path) as store:
        assert len(store.list_runs()) == 4


@pytest.mark.parametrize("room_kib", [4, 8, 40, 100])
def test_a_new_store_without_room_leaves_no_file(tmp_path: Path, room_kib: int) -> None:
    done = opened(tmp_path / "runs.db", MIGRATIONS, "", "0", str(room_kib * 1024))
    assert "cannot write the results database" in done.stdout, done.stderr
    assert "raise the limit on the size of files" in done.stdout
    assert list(tmp_path.iterdir()) == []
