"""Finds damage in a store, by SQLite's own checks and by the checksums of runs."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from orchestrator.errors import StoreError
from results.samples.sample_tables import TABLES
from results.schema import access_errors, database
from results.schema.database import MIGRATIONS
from results.store.parts import checksum, files, judgements, notes, removal, traces
from results.store.parts.checksum import ALL_TABLES, Checksum

State = Literal["ok", "damaged", "running"]


@dataclass(frozen=True)
class Damage:
    """What is wrong with the rows of a run in one table."""

    table: str
    problem: str


@dataclass(frozen=True)
class RunState:
    """The result of comparing a run's rows with its checksums.

    A running run has no checksums yet. ``id`` is ``#KEY`` where the table ``runs`` has no such run.
    """

    id: str
    state: State
    damage: list[Damage] = field(default_factory=list)


@dataclass(frozen=True)
class Integrity:
    """The state of a store; ``problems`` are those of the file, not of a single run."""

    path: Path
    schema: int
    problems: list[str]
    runs: list[RunState]

    @property
    def ok(self) -> bool:
        """Whether no damage was found."""
        return not self.problems and not any(run.state == "damaged" for run in self.runs)

    @property
    def counts(self) -> dict[State, int]:
        """How many runs are in each state."""
        counted = Counter(run.state for run in self.runs)
        states: tuple[State, ...] = ("ok", "damaged", "running")
        return {state: counted[state] for state in states}


def examine(path: Path, migrations: Path = MIGRATIONS) -> Integrity:
    """Read the whole store and compare it with its checksums; nothing is written.

    Raises:
        StoreError: there is no store, or its first page cannot be read.
    """
    with closing(database.open_read_only(path, migrations)) as connection:
        schema = database.schema_version(connection)
        with closing(database.in_memory(schema, migrations)) as model:
            problems = [*_sqlite_problems(connection), *_schema_problems(connection, model)]
        runs: list[RunState] = []
        try:
            runs = _runs(connection)
            problems += _orphans(connection, schema, migrations)
            problems += [*notes.problems(connection), *removal.problems(connection)]
            problems += files.problems(connection)
            if schema >= traces.SINCE_SCHEMA:
                problems += traces.problems(connection)
        except access_errors.ERRORS as error:
            problems.append(f"the runs cannot be read: {error}")
        return Integrity(path, schema, problems, runs)


def has_schema(connection: sqlite3.Connection, migrations: Path = MIGRATIONS) -> bool:
    """Return whether tables, indexes, triggers and views are those of the file's schema version.

    Only their definitions are read. So a view that a stranger added is never evaluated.

    Raises:
        StoreError: the program does not know this version.
    """
    with closing(database.in_memory(database.schema_version(connection), migrations)) as model:
        return _objects(connection) == _objects(model)


def examine_run(connection: sqlite3.Connection, key: int) -> RunState:
    """Compare one run's rows with its checksums; ``key`` is ``runs.run``."""
    try:
        row = connection.execute("SELECT id, status FROM runs WHERE run = ?", (key,)).fetchone()
        run_id, status = row or (f"#{key}", None)
        stored = _checksums(connection, key)
    except access_errors.ERRORS as error:
        return RunState(f"#{key}", "damaged", [Damage("runs", str(error))])
    last = stored.pop("judgements", None)
    if not stored and last is None and status == "running":
        return RunState(run_id, "running")
    damage = [
        Damage(table, problem)
        for table in _tables(stored)
        if (problem := _problem(connection, key, table, stored.get(table)))
    ]
    if problem := _judgement_problem(connection, key, str(run_id), stored, last):
        damage.append(Damage("judgements", problem))
    damage += [Damage(str(table), "has a checksum, and no rows of runs") for table in
               stored.keys() - set(ALL_TABLES)]  # fmt: skip
    return RunState(str(run_id), "damaged" if damage else "ok", damage)


def _tables(stored: Mapping[str, tuple[int, Checksum]]) -> Iterable[str]:
    """Return the tables that need a checksum: those of the schema that the run was stored with."""
    try:
        return checksum.covered(max(schema for schema, _sum in stored.values()))
    except (StoreError, TypeError, ValueError):  # no schema; each table's own problem says so
        return ALL_TABLES


def _tables_of_run(connection: sqlite3.Connection, key: int) -> Iterable[str]:
    """Return the tables that need a checksum of a run."""
    (schema,) = connection.execute(
        "SELECT max(schema) FROM checksums WHERE run = ?", (key,)
    ).fetchone()
    try:
        return checksum.covered(schema)
    except (StoreError, TypeError):  # no checksum at all, or no schema
        return ALL_TABLES


def _judgement_problem(
    connection: sqlite3.Connection,
    key: int,
    run_id: str,
    others: Mapping[str, tuple[int, Checksum]],
    last: tuple[int, Checksum] | None,
) -> str | None:
    """Return what is wrong with the judgements that were added to a run, None when nothing is.

    Args:
        connection: an open store.
        key: ``runs.run``.
        run_id: the run's id.
        others: the run's checksums of all other tables.
        last: number and SHA-256 of the last judgement, with the schema of the run's checksums.
    """
    if last is None:
        return "its checksum is missing"
    if others and last[0] not in {schema for schema, _sum in others.values()}:
        return f"its checksum is of schema {last[0]!r}, and the others are not"
    try:
        return judgements.problem(connection, key, run_id, last[1])
    except access_errors.ERRORS as error:
        return f"cannot be read: {error}"


def require_judgements_intact(connection: sqlite3.Connection, key: int, run_id: str) -> None:
    """Raise StoreError when the judgements that were added to a run are not what was stored."""
    stored = _checksums(connection, key)
    last = stored.pop("judgements", None)
    if problem := _judgement_problem(connection, key, run_id, stored, last):
        raise damaged(run_id, f"table judgements: {problem}")


def _checksums(connection: sqlite3.Connection, key: int) -> dict[str, tuple[int, Checksum]]:
    """Return the schema and the checksum of each table of a run."""
    return {
        table: (schema, Checksum(rows, sha256))
        for table, schema, rows, sha256 in connection.execute(
            'SELECT "table", schema, rows, sha256 FROM checksums WHERE run = ?', (key,)
        )
    }


def require_intact(connection: sqlite3.Connection, key: int, table: str) -> None:
    """Raise StoreError when a run's rows in a table are not those that its checksum covers.

    A run that is running has no checksums yet.
    """
    row = connection.execute(
        "SELECT id, status, schema, rows, sha256 FROM runs LEFT JOIN checksums "
        'ON checksums.run = runs.run AND "table" = ? WHERE runs.run = ?',
        (table, key),
    ).fetchone()
    if row is None:
        raise StoreError(f"run #{key} is gone")
    run_id, status, schema, rows, sha256 = row
    if schema is None and status == "running":
        return
    if schema is None and table not in _tables_of_run(connection, key):
        return  # the table is younger than the run
    problem = _problem(connection, key, table, schema and (schema, Checksum(rows, sha256)))
    if problem:
        raise damaged(run_id, f"table {table}: {problem}")


def damaged(run_id: str, what: str) -> StoreError:
    """Return the error to raise for a run whose rows are not what was stored."""
    return StoreError(
        f"run {run_id} is damaged: {what}; `orchestrator doctor --store` lists all damage; "
        "put back a copy of the file, or run it again"
    )


def _problem(
    connection: sqlite3.Connection, key: int, table: str, stored: tuple[int, Checksum] | None
) -> str | None:
    if stored is None:
        return "its checksum is missing"
    schema, expected = stored
    try:
        columns = checksum.covered(schema).get(table)
        if columns is None:
            return f"its checksum is of schema {schema}, which has no such table"
        if table in TABLES:
            actual = checksum.of_samples(connection, table, key, columns)
        else:
            rows = checksum.read_rows(connection, table, key, columns)
            actual = checksum.of_rows(table, columns, rows)
    except access_errors.ERRORS as error:
        return f"cannot be read: {error}"
    except (StoreError, TypeError) as error:
        return str(error)
    if actual.rows != expected.rows:
        return f"{actual.rows} rows are there, and {expected.rows} were stored"
    return None if actual == expected else "the rows are not those that were stored"


def _runs(connection: sqlite3.Connection) -> list[RunState]:
    """Return the state of every run that any table names."""
    keys = {
        key
        for table in ("runs", "checksums")
        for (key,) in connection.execute(f"SELECT DISTINCT run FROM {table}")
    }
    return [examine_run(connection, key) for key in sorted(keys, key=str)]


def _sqlite_problems(connection: sqlite3.Connection) -> Iterator[str]:
    for pragma in ("integrity_check", "foreign_key_check"):
        try:
            rows = connection.execute(f"PRAGMA main.{pragma}").fetchall()
        except access_errors.ERRORS as error:
            yield f"{pragma}: {error}"
            continue
        for row in rows:
            if pragma == "foreign_key_check":
                what = "a run" if row[2] == "runs" else "a file"
                yield f"{pragma}: table {row[0]} has rows of {what} that is not there"
            elif row != ("ok",):
                yield f"{pragma}: {row[0]}"


def _schema_problems(connection: sqlite3.Connection, model: sqlite3.Connection) -> Iterator[str]:
    """Yield how tables, indexes and triggers differ from those that the migrations make."""
    try:
        expected, present = _objects(model), _objects(connection)
        recorded = connection.execute("SELECT * FROM migrations ORDER BY version").fetchall()
        positions = connection.execute("SELECT * FROM sample_columns").fetchall()
    except access_errors.ERRORS as error:
        yield f"the schema cannot be read: {error}"
        return
    applied = model.execute("SELECT version, name FROM migrations ORDER BY version").fetchall()
    for name in sorted(expected.keys() | present.keys()):
        if expected.get(name) != present.get(name):
            yield f"the definition of {name!r} is not that of this schema version"
    if [row[:2] for row in recorded] != applied or not all(
        database.is_moment(row[2]) for row in recorded
    ):
        yield "table migrations does not hold what the migrations wrote"
    if positions != model.execute("SELECT * FROM sample_columns").fetchall():
        yield "table sample_columns does not hold what the migrations wrote"


def _objects(connection: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Return type and SQL of all objects by name, without quotes and white space."""
    rows = connection.execute(
        "SELECT name, type, sql FROM main.sqlite_schema WHERE name NOT LIKE 'sqlite_%'"
    ).fetchall()
    return {
        str(name): (str(kind), "".join(str(sql).replace('"', "").split()))
        for name, kind, sql in rows
    }


def _orphans(connection: sqlite3.Connection, schema: int, migrations: Path) -> Iterator[str]:
    for table in sorted(TABLES.keys() & checksum.covered(schema, migrations).keys()):
        for (key,) in connection.execute(
            f"SELECT DISTINCT run FROM {table} WHERE run NOT IN (SELECT run FROM runs)"
        ):
            yield f"table {table} has rows of run #{key}, which is not there"


def read_remarks(
    connection: sqlite3.Connection, run: int | None = None
) -> dict[str, notes.Remarks]:
    """Return notes and tags of a run, or of every run, by the run's id.

    Raises:
        StoreError: a row is not what was stored.
    """
    try:
        return notes.read(connection, run)
    except notes.DamagedRow as error:
        run_id, table = error.args
        problem = f"table {table}: a row is not what was stored"
        raise damaged(run_id, problem) from error
