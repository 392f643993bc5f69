"""Checksums of runs: equal when written and read, and no damage goes unseen."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from orchestrator.cli import commands
from orchestrator.errors import StoreError
from orchestrator.recording.model import DATAGRAM_DTYPE, TCP_DTYPE, TRANSFER_DTYPE
from results.documents import run_document
from results.samples import blocks, sample_blocks
from results.samples.sample_tables import TABLES
from results.schema import database
from results.schema.database import newest, open_writable
from results.store.parts import checksum, removal
from results.store.parts.checksum import ALL_TABLES
from results.store.parts.integrity import examine
from results.store.store import Store
from tests.support.integrity import held, overwritten
from tests.support.migrations import with_another
from tests.support.recordings import head, whole
from tests.support.stores import restore
from web import create_app

ASKED = 4
"""Of so many overwritten stores every command and page is asked."""


def orchestrator(*words: str) -> Result:
    return CliRunner().invoke(commands, ["--debug", *words])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with rows of real runs in every table."""
    return restore(tmp_path / "runs.db")


def change(path: Path, *statements: str) -> None:
    """Change the file as only damage could: triggers and foreign keys do not hold it back."""
    connection = sqlite3.connect(path, isolation_level=None)
    ((trigger,),) = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE name = 'runs_are_final'"
    ).fetchall()
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute("DROP TRIGGER runs_are_final")
    changed = sum(connection.execute(statement).rowcount for statement in statements)
    connection.execute(trigger)
    connection.close()
    assert changed > 0


def logical(path: Path) -> list[Any]:
    """Everything that SQL can tell of a file; why it cannot be read, if so."""
    connection = sqlite3.connect(path)
    try:
        objects = connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name")
        found: list[Any] = objects.fetchall()
        tables = [name for kind, name, _ in found if kind == "table"]
        found += [
            sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'))) for name in tables
        ]
        pragmas = ("user_version", "application_id")
        return found + [connection.execute(f"PRAGMA {name}").fetchone() for name in pragmas]
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return [str(error)]
    finally:
        connection.close()


def test_a_store_without_damage(path: Path) -> None:
    examination = examine(path)
    assert examination.ok
    assert examination.counts == {"ok": 4, "damaged": 0, "running": 0}
    connection = sqlite3.connect(path)
    for table in ALL_TABLES:  # or what follows would show nothing
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 0
    connection.close()


def test_what_is_hashed_when_stored_is_hashed_when_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksum, "BLOCK_ROWS", 7)
    monkeypatch.setattr(blocks, "ROWS", 5)
    draw = np.random.default_rng(1)
    for rows in (0, 1, 6, 7, 8, 14, 50):
        recording = whole()
        flows = [replace(recording.flows[0], name=f"f{flow}") for flow in range(3)]
        tcp, udp, transfers = (
            np.zeros(rows, dtype) for dtype in (TCP_DTYPE, DATAGRAM_DTYPE, TRANSFER_DTYPE)
        )
        for array in (tcp, udp, transfers):
            array["flow"] = draw.integers(0, 3, rows)
            for name in array.dtype.names or ():
                if name not in ("flow", "endpoint") and draw.integers(0, 2):
                    array[name] = draw.integers(0, 100, rows) // 20
        for array in (tcp, udp):
            array["time_ns"] = np.arange(rows)
        tcp["snd_ssthresh_segments"] = np.where(draw.integers(0, 2, rows), 0x7FFFFFFF, 5)
        tcp["pacing_rate_bytes_per_s"] = 2**64 - 1
        transfers["end_ns"] = -1
        changed = replace(recording, flows=flows, tcp=tcp, datagrams=udp, transfers=transfers)
        path = tmp_path / f"{rows}.db"
        with Store(path) as store:
            store.finish(store.begin(head(duration_s=1e-6, warmup_s=0.0, windows=())), changed, 1.0)
        examination = examine(path)
        assert examination.counts["ok"] == 1, examination


def test_runs_that_did_not_end_well_have_checksums_too(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with Store(path) as store:
        store.fail(store.begin(head()), "no kernel", console="a console")
        store.fail(store.begin(head()), "interrupted by the user", "interrupted")
        orphan, alive = store.begin(head()), store.begin(head())
    connection = sqlite3.connect(path)
    connection.execute("UPDATE runs SET owner_boot_id = 'another' WHERE id = ?", (orphan,))
    connection.commit()
    connection.close()
    assert examine(path).counts["running"] == 2
    with Store(path) as store:  # marks the one whose owner is gone
        assert store.load(orphan).status == "interrupted"
    examination = examine(path)
    assert examination.ok
    assert examination.counts == {"ok": 3, "damaged": 0, "running": 1}
    assert {run.id: run.state for run in examination.runs}[alive] == "running"


@pytest.mark.slow
@pytest.mark.parametrize("table", ALL_TABLES)
def test_a_changed_a_lost_and_a_moved_row_are_found(tmp_path: Path, path: Path, table: str) -> None:
    whole_file = path.read_bytes()
    column = {
        "runs": "wall_s", "flows": "base_rtt_s", "queues": "kind", "checks": "detail",
        "provenance": "value", "artefacts": "text", "metrics": "value", "evidence": "json",
        "run_files": "place", "kept_files": "name",
    }.get(table, "block")  # fmt: skip
    one = f"(SELECT run FROM {table} ORDER BY run LIMIT 1)"
    changes = [
        f"UPDATE {table} SET {column} = 987654321 WHERE run = {one}",
        f"DELETE FROM {table} WHERE run = {one}",
    ]
    if table in TABLES:
        changes += [
            f"UPDATE {table} SET {column} = 0.5 WHERE run = {one}",
            f"UPDATE {table} SET {column} = 'x' || {column} WHERE run = {one}",
            f"UPDATE {table} SET run = 77 WHERE run = {one}",
            f"UPDATE {table} SET part = part + 1 WHERE run = {one}",
            f"UPDATE {table} SET rows = rows + 1 WHERE run = {one}",
            f"UPDATE {table} SET rows = 'many' WHERE run = {one}",
            f"UPDATE {table} SET last_ns = last_ns + 1 WHERE run = {one}",
        ]
    for statement in changes:
        path.write_bytes(whole_file)
        change(path, statement)
        examination = examine(path)
        assert not examination.ok, statement
        names = {damage.table for run in examination.runs for damage in run.damage}
        assert table in names, statement


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM checksums WHERE run = 1",
        "DELETE FROM checksums WHERE run = 1 AND \"table\" = 'flows'",
        "UPDATE checksums SET schema = 99 WHERE run = 1",
        "UPDATE checksums SET rows = rows + 1 WHERE run = 2",
        "UPDATE runs SET run = 9 WHERE run = 1",
        "UPDATE sample_columns SET name = 'other' WHERE position = 3",
        "UPDATE migrations SET name = 'other' WHERE version = 13",
    ],
)
def test_changes_beside_the_rows_are_found(path: Path, statement: str) -> None:
    change(path, statement)
    assert not examine(path).ok


def test_a_column_that_a_later_version_adds_keeps_checksums_valid(tmp_path: Path) -> None:
    path = restore(tmp_path / "runs.db")
    migrations = with_another(
        tmp_path / "migrations", "more",
        "ALTER TABLE runs ADD COLUMN label TEXT;\n"
        "ALTER TABLE flows ADD COLUMN colour TEXT NOT NULL DEFAULT 'red';\n"
        "INSERT INTO sample_columns VALUES ('tcp_samples', 200, 'more', 5);\n"
        "CREATE TABLE remarks (run INTEGER PRIMARY KEY REFERENCES runs, text TEXT NOT NULL);\n",
    )  # fmt: skip
    open_writable(path, migrations).close()
    assert examine(path, migrations).counts["ok"] == 4
    change(path, "UPDATE flows SET name = 'other' WHERE run = 1")
    assert examine(path, migrations).counts == {"ok": 3, "damaged": 1, "running": 0}


def test_the_doctor_names_what_is_damaged(path: Path) -> None:
    with Store.open_read_only(path) as store:
        first = store.list_runs()[0].id
    where = "WHERE run = 1 AND flow = 0 AND endpoint = 0"
    with sqlite3.connect(path) as connection:  # a valid block of other values
        ((rows,),) = connection.execute(f"SELECT rows FROM tcp_samples {where}").fetchall()
        connection.execute(f"DELETE FROM tcp_samples {where}")
        columns = [np.arange(rows) for _name in sample_blocks.sample_columns()["tcp_samples"]]
        sample_blocks.write(connection, "tcp_samples", 1, (0, 0), 0, columns)
    connection.close()
    said = orchestrator("doctor", "--store", "--db", str(path))
    assert said.exit_code == 1
    line = f"DAMAGED run {first}, table tcp_samples: the rows are not those that were stored"
    assert line in said.stdout.splitlines()
    assert "fix: restore a copy" in said.stderr
    answer = json.loads(orchestrator("doctor", "--store", "--json", "--db", str(path)).stdout)
    assert (answer["ok"], answer["counts"]["damaged"], answer["problems"]) == (False, 1, [])
    assert answer["runs"][0]["damage"][0]["table"] == "tcp_samples"


def test_the_doctor_needs_a_store(tmp_path: Path) -> None:
    missing = orchestrator("doctor", "--store", "--db", str(tmp_path / "none.db"))
    assert (missing.exit_code, "there is no results database" in missing.stderr) == (2, True)
    both = orchestrator("doctor", "--store", "--backend", "guest", "--db", str(tmp_path / "x.db"))
    assert both.exit_code == 2


@pytest.mark.parametrize(
    ("statement", "table"),
    [
        ("UPDATE flows SET start_s = start_s + 1 WHERE run = 1", "flows"),
        ("UPDATE metrics SET value = value + 1 WHERE run = 1", "metrics"),
        ("UPDATE provenance SET value = '1' WHERE run = 1", "provenance"),
        ("UPDATE runs SET resolved = '{}' WHERE run = 1", "runs"),
    ],
)
def test_damaged_rows_are_refused_when_they_are_read(
    path: Path, statement: str, table: str
) -> None:
    change(path, statement)
    with Store.open_read_only(path) as store:
        run = store.load(store.list_runs()[0].id)
        with pytest.raises(StoreError, match=rf"run {run.id} is damaged: table {table}: .*doctor"):
            _ = (run.head, run_document.of_ids(store, [run.id]))


def test_a_mistake_of_the_program_is_not_blamed_on_the_store(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Store.open_read_only(path) as store:
        _ = store.load("last").duration_s / 0


def questions(ids: list[str]) -> list[list[str]]:
    one, other = ids[0], ids[2]
    return [
        ["runs"], ["show", one], ["show", other, "--json"], ["show", one, "--console"],
        ["compare", *ids], ["export", other, "-o", "o.json", "--force"],
        ["export", one, "-o", "o.csv", "--force"], ["doctor", "--store"],
    ]  # fmt: skip


def ask_everything(path: Path, ids: list[str]) -> None:
    """Every command and page answers with what there is, or with what is wrong."""
    for words in questions(ids):
        result = orchestrator(*words, "--db", str(path))
        assert result.exit_code in (0, 1, 2), words
        assert "unexpected" not in result.stderr, (words, result.stderr)
    app = create_app(path)
    app.config["PROPAGATE_EXCEPTIONS"] = False
    pages = ["/", "/api/runs", f"/runs/{ids[2]}/document.json", f"/runs/{ids[0]}/console.txt"]
    parts = ("tcp", "queues", "goodput")
    pages += [*(f"/runs/{run}" for run in ids), *(f"/api/runs/{ids[2]}/{part}" for part in parts)]
    for page in pages:
        with app.test_client().get(page) as answer:
            assert answer.status_code in (200, 302, 404, 503), page


def classified(
    tmp_path: Path, see: Callable[[Path], bool], overwrites: int
) -> Counter[tuple[str, str]]:
    """Overwrite 64 random bytes again and again; count (what changed, whether it was seen)."""
    whole_file = restore(tmp_path / "whole.db")
    before, content = logical(whole_file), whole_file.read_bytes()
    with Store.open_read_only(whole_file) as store:
        ids = [row.id for row in store.list_runs()]
    found: Counter[tuple[str, str]] = Counter()
    places = held(content)
    for number in range(overwrites):
        path = tmp_path / f"{number}.db"
        path.write_bytes(overwritten(content, places, number))
        changed = "changed" if logical(path) != before else "unchanged"
        found[changed, "seen" if see(path) else "unseen"] += 1
        if number < ASKED:
            ask_everything(path, ids)
        for left in tmp_path.glob(f"{number}.db*"):
            left.unlink()
    return found


def seen(path: Path) -> bool:
    try:
        return not examine(path).ok
    except StoreError:
        return True


@pytest.mark.slow
@pytest.mark.parametrize("overwrites", [20, pytest.param(80, marks=pytest.mark.long)])
def test_64_random_bytes_are_found_wherever_they_change_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overwrites: int
) -> None:
    # Some bytes are in no row, as the pointers of a page to its cells: they may change nothing.
    monkeypatch.chdir(tmp_path)
    found = classified(tmp_path, seen, overwrites)
    assert found["changed", "unseen"] == 0, found
    assert found["changed", "seen"] > overwrites / 3, found
    assert found.total() == overwrites


def test_every_table_of_a_run_is_covered() -> None:
    connection = database.in_memory(newest())
    named = {
        table
        for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        if "run" in {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    }
    connection.close()
    # What comes after the run was sealed has checksums of its own.
    later = {"judgements", "notes", "tags", "removed", "traces", "trace_tables"}
    assert named == {*ALL_TABLES, "checksums", *later}
    assert {*removal.TABLES, "runs", "removed"} == named
