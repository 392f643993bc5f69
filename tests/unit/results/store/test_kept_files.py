"""Files that runs keep of programs: how they are stored, removed, merged and found damaged."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.errors import StoreError
from orchestrator.files.scenario_files import NamedFile
from results.store.parts import checksum, integrity
from results.store.store import Store
from results.store.upkeep import housekeeping
from results.store.upkeep.merging import merge
from tests.support.kept_files import FILES, stored


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


def count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (rows,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(rows)


def test_files_are_stored_once_and_removed_with_their_last_run(path: Path) -> None:
    with Store(path) as store:
        first, second = stored(store), stored(store, NamedFile("page", b"page"))
        run = store.load(first)
        assert run.kept_files == FILES
        assert [run.kept_content(one) for one in FILES[:3]] == [b"page", b"page", b""]
        assert count(path, "files") == 2
        housekeeping.remove_runs(store, [first])
        assert (count(path, "files"), count(path, "kept_files")) == (2, len(FILES))
        assert store.load(second).kept_content(FILES[0]) == b"page"
        housekeeping.reclaim(store)
        assert integrity.examine(path).ok
        housekeeping.remove_runs(store, [second])
        assert (count(path, "files"), count(path, "kept_files")) == (0, 0)


def test_a_merge_takes_them(path: Path, tmp_path: Path) -> None:
    with Store(path) as store:
        run_id = stored(store)
    (merged,) = merge(tmp_path / "all.db", [path])
    assert merged.taken == [run_id], merged.refused
    with Store.open_read_only(tmp_path / "all.db") as store:
        run = store.load(run_id)
        assert run.kept_files == FILES
        assert run.kept_content(FILES[0]) == b"page"
    assert integrity.examine(tmp_path / "all.db").ok


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE kept_files SET name = 'other' WHERE position = 0",
        "DELETE FROM kept_files WHERE position = 4",
        "UPDATE files SET content = x'00' WHERE bytes = 4",
        "DELETE FROM files WHERE bytes = 4",
    ],
)
def test_damage_is_found(path: Path, change: str) -> None:
    with Store(path) as store:
        run_id = stored(store)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
    assert not integrity.examine(path).ok

    def read() -> bytes:
        with Store.open_read_only(path) as store:
            run = store.load(run_id)
            return run.kept_content(run.kept_files[0])

    with pytest.raises(StoreError, match="damaged"):
        read()


@pytest.mark.parametrize(
    "change",
    [
        "SET name = '../../etc/passwd' WHERE position = 0",
        "SET name = '/etc/passwd' WHERE position = 0",
        "SET name = 'a' || char(10) WHERE position = 0",
        "SET name = 'a' || char(27) || '[2J' WHERE position = 0",
        "SET name = 'log/a', role = 'server' WHERE position = 1",
        "SET flow = 7 WHERE position = 0",
        "SET flow = -1 WHERE position = 0",
        "SET flow = 'a' WHERE position = 0",
        "SET size_bytes = 5 WHERE position = 0",
        "SET size_bytes = NULL WHERE position = 0",
        "SET left_out = 'size' WHERE position = 0",
        "SET left_out = 'other' WHERE position = 3",
        "SET left_out = NULL WHERE position = 3",
        "SET position = 9 WHERE position = 0",
        "SET name = replace(hex(zeroblob(5000)), '0', 'a') WHERE position = 3",
    ],
)
def test_a_merge_refuses_files_that_no_run_keeps(
    path: Path, tmp_path: Path, change: str, reseal: Callable[[Path], None]
) -> None:
    with Store(path) as store:
        stored(store)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE kept_files {change}")
    reseal(path)
    (merged,) = merge(tmp_path / "all.db", [path])
    assert not merged.taken
    (reason,) = merged.refused.values()
    assert re.search("kept_files|table files", reason)


@pytest.fixture
def reseal() -> Callable[[Path], None]:
    """Write the checksum anew, as a stranger can."""

    def write(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            (schema,) = connection.execute("SELECT max(schema) FROM checksums").fetchone()
            columns = checksum.covered(schema)["kept_files"]
            rows = checksum.read_rows(connection, "kept_files", 1, columns)
            found = checksum.of_rows("kept_files", columns, rows)
            connection.execute(
                "UPDATE checksums SET rows = ?, sha256 = ? WHERE \"table\" = 'kept_files'", found
            )

    return write
