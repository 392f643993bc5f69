"""Shows a store of an earlier schema as one of the newest, without writing to the file.

Temporary views of a connection hide the file's tables of the same names. Each view has the newest
columns. A column that the earlier table lacks has the default that its migration declares.
So commands that only read need no migration, and work on a read-only medium.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from orchestrator.errors import StoreError
from results.schema import database
from results.schema.database import MIGRATIONS


def show_as_newest(
    connection: sqlite3.Connection, path: Path, migrations: Path = MIGRATIONS
) -> None:
    """Make the views on an open connection, unless its file has the newest schema.

    Raises:
        StoreError: a newer column has no known value for earlier rows, or the file lacks a table or
            column of its own schema.
    """
    if database.schema_version(connection) == database.newest(migrations):
        return
    connection.execute("PRAGMA temp_store = MEMORY")  # there may be no place for a file
    newest = database.in_memory(database.newest(migrations), migrations)
    try:
        for table, sql in _tables(newest).items():
            view = _view(table, _columns(connection, table), newest.execute(sql).fetchall())
            if view is None:
                raise StoreError(
                    f"{path}: this program cannot read table {table} of an earlier version; "
                    "any `orchestrator run` with this --db brings the file up to date"
                )
            connection.execute(view)
    finally:
        newest.close()


def warning(
    connection: sqlite3.Connection, path: Path, migrations: Path = MIGRATIONS
) -> str | None:
    """Return what the next change does to a file of an earlier schema; None for the newest one."""
    old, new = database.schema_version(connection), database.newest(migrations)
    if old == new:
        return None
    return (
        f"{path} has schema {old}. The next change makes it schema {new}, which for a large file "
        "takes minutes. Earlier versions of this program cannot read it then, and no copy of the "
        "old file is kept: make one before if you need it"
    )


def _tables(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the statement that lists the columns of each table, by table."""
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    # "notnull" is a keyword of SQLite, too.
    columns = 'SELECT name, type, "notnull", dflt_value FROM pragma_table_info'
    return {name: f"{columns}('{name}')" for (name,) in names}


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?, 'main')", (table,))
    return {name for (name,) in rows}


def _view(
    table: str, earlier: set[str], newer: list[tuple[str, str, int, str | None]]
) -> str | None:
    """Return the statement that makes a view; None when a column's value is not known."""
    words = []
    for name, _type, required, default in newer:
        if name in earlier or not earlier:  # of a table that is new there are no rows
            words.append(f'"{name}"' if earlier else f'NULL AS "{name}"')
            continue
        if default is None and required:
            return None
        words.append(f'{default or "NULL"} AS "{name}"')
    source = f'main."{table}"' if earlier else "(SELECT 1) WHERE 0"
    return f'CREATE TEMP VIEW "{table}" AS SELECT {", ".join(words)} FROM {source}'
