"""Traces with values that no program of ours stores, with checksums as a stranger would make."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import NotAStoreError, StoreError
from orchestrator.protocol.reports.trace_records import MOST_LIMIT_BYTES
from orchestrator.recording.trace import TABLES
from results.store.parts import integrity, traces
from results.store.parts.notes import sha256
from results.store.store import Store
from results.store.upkeep.merging import merge
from tests.support import traces as made
from tests.support.recordings import head
from tests.support.traces import ids_of

pytestmark = pytest.mark.slow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a run that has two traces, and another run with one."""
    return made.store(tmp_path / "runs.db")


def stored_head(path: Path, **values: Any) -> None:
    """Let trace 1 of the first run have other values, with the SHA-256 that fits."""
    (run_id, *_others) = ids_of(path)
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute(
            f"SELECT {traces._HEAD} FROM traces WHERE run = 1 AND number = 1"
        ).fetchone()
        names = traces._HEAD.split(", ")
        changed = dict(zip(names, row, strict=True)) | values
        changed["sha256"] = sha256(run_id, *[changed[name] for name in names[:-1]])
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("DELETE FROM traces WHERE run = 1 AND number = 1")
        places = ", ".join("?" * (1 + len(changed)))
        connection.execute(
            f"INSERT INTO traces (run, {traces._HEAD}) VALUES ({places})",
            (1, *changed.values()),
        )
        connection.commit()


def stored_table(
    path: Path, name: str, data: bytes, rows: object, size: object = None, content: object = None
) -> None:
    """Let a table of trace 1 of the first run have another content, with its SHA-256."""
    (run_id, *_others) = ids_of(path)
    packed = zlib.compress(data) if content is None else content
    values = (1, name, rows, len(data) if size is None else size)
    hashed = packed if isinstance(packed, bytes) else b""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "DELETE FROM trace_tables WHERE run = 1 AND number = 1 AND name = ?", (name,)
        )
        connection.execute(
            "INSERT INTO trace_tables VALUES (?, ?, ?, ?, ?, ?, ?)",
            (1, *values, packed, traces._content_sha256(run_id, values, hashed)),
        )
        connection.commit()


def refused(path: Path, tmp_path: Path) -> str:
    """Merge a store of two runs; return why the first is refused. Reading it fails in words."""
    first, second = ids_of(path)
    with Store.open_read_only(path) as store:
        for ask in (lambda: store.traces(first), lambda: store.trace(first, 1)):
            try:
                ask()
            except StoreError as error:
                assert first in str(error)  # noqa: PT017 - either may happen
    assert integrity.examine(path).ok
    (merged,) = merge(tmp_path / "target.db", [path])
    assert merged.taken == [second]
    return merged.refused[first]


@pytest.mark.parametrize(
    "values",
    [
        {"from_ns": -1}, {"from_ns": 2 * 10**9}, {"to_ns": 2**62}, {"to_ns": "soon"},
        {"from_ns": 0.5}, {"kinds": "[" * 100_000}, {"kinds": "{}"}, {"kinds": "7"},
        {"kinds": '["tcp", "acks"]'}, {"kinds": '["spin"]'}, {"kinds": '["tcp", "tcp"]'},
        {"kinds": "[[]]"}, {"kinds": "[NaN]"}, {"kinds": b"\xff"}, {"limit_bytes": -1},
        {"limit_bytes": MOST_LIMIT_BYTES + 1}, {"limit_bytes": "much"}, {"snap_bytes": 9217},
        {"snap_bytes": b"1"}, {"full_ns": "late"}, {"full_ns": 0.5}, {"full_ns": -(2**62)},
        {"full_ns": 2**63 - 1}, {"traced_utc": "now"}, {"version": "new"},
        {"version": b"1"}, {"flows": "{}"}, {"flows": "[7]"}, {"links": "["}, {"links": "7"},
    ],
)  # fmt: skip
def test_a_strangers_head_of_a_trace_is_refused(
    path: Path, tmp_path: Path, values: dict[str, Any]
) -> None:
    stored_head(path, **values)
    assert "traces: number 1 is malformed" in refused(path, tmp_path)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"to_ns": 11 * 10**9}, "traces: number 1 goes on after the end of the run"),
        ({"full_ns": 3 * 10**9}, "traces: number 1: the limit was reached after the window"),
        ({"to_ns": 10**9 + 1}, "has a row outside the window that was asked for"),
        ({"limit_bytes": 1}, "has a size that nothing has"),
        ({"version": 2}, "trace 1 has version 2, and this program reads version 1"),
    ],
)
def test_a_strangers_trace_of_another_thing_is_refused(
    path: Path, tmp_path: Path, values: dict[str, Any], why: str
) -> None:
    stored_head(path, **values)
    assert why in refused(path, tmp_path)


ACKS_BYTES = TABLES["acks"].itemsize


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (("acks", bytes(ACKS_BYTES), 2), "acks has not 2 rows"),
        (("acks", bytes(ACKS_BYTES + 1), 1), "acks has not 1 rows"),
        (("acks", bytes(ACKS_BYTES), 1, ACKS_BYTES - 1), "must not have more than"),
        (("acks", bytes(ACKS_BYTES), 1, ACKS_BYTES + 1), "has not"),
        (("acks", b"", 0, 2**21 + 1), "acks of trace 1 has a size that nothing has"),
        (("acks", b"", 0, 2**63 - 1), "acks of trace 1 has a size that nothing has"),
        (("acks", b"", 0, -1), "acks of trace 1 has a size that nothing has"),
        (("acks", b"", 0, "much"), "acks of trace 1 has a size that nothing has"),
        (("acks", b"", -1), "is malformed"),
        (("acks", b"", "many"), "is malformed"),
        (("acks", bytes(2**20), 7000, None, zlib.compress(bytes(2**24))), "must not have more"),
        (("acks", b"", 0, 0, b"no zlib"), "cannot be read"),
        (("links", bytes(TABLES["links"].itemsize), 1), "links has a row of an unknown sort"),
        (("ends", b"", 0), "acks has a row of a connection that was not told of"),
        (("frame_bytes", b"abcd", 4), "frames has a row with bytes that are not there"),
    ],
)
def test_a_strangers_table_of_a_trace_is_refused(
    path: Path, tmp_path: Path, table: tuple[Any, ...], why: str
) -> None:
    stored_table(path, *table)
    assert why in refused(path, tmp_path)


def test_a_table_that_is_no_blob_is_damage(path: Path, tmp_path: Path) -> None:
    stored_table(path, "acks", b"", 0, 0, "text")
    (problem,) = integrity.examine(path).problems
    assert "acks of trace 1 is not what was stored" in problem
    with pytest.raises(NotAStoreError, match="nothing was merged"):
        merge(tmp_path / "target.db", [path])


def test_a_strangers_failed_run_has_no_trace(path: Path, tmp_path: Path) -> None:
    with Store(path) as store:
        failed = store.begin(head())
        store.fail(failed, "no kernel")
        with store.writing() as connection:
            traces.insert(connection, 3, failed, made.small())
    (merged,) = merge(tmp_path / "target.db", [path])
    assert merged.refused == {failed: "traces: the run is failed; only an ok run has traces"}


def test_a_trace_of_another_version_is_listed_and_does_not_hinder_a_new_one(path: Path) -> None:
    (first, *_others) = ids_of(path)
    stored_head(path, version=2)
    with Store(path) as store:
        assert [trace.number for trace in store.traces(first)] == [1, 2]
        with pytest.raises(StoreError, match=r"version 2, and this .*\n  fix: make another one"):
            store.trace(first, 1)
        assert store.add_trace(first, made.small()) == 3
        assert made.same(store.trace(first, 3), made.small())
    assert integrity.examine(path).ok
