"""Shows a store of an older schema as one of the newest, without writing to the file.

Temporary views of a connection hide the file's tables of the same names. Each view has the newest
columns. A column that the older table lacks has the value that its migration gives to older rows.
So commands that only read need no migration, and work on a read-only medium.

Samples of schemas up to 11 are shown as schema 11 has them, a row each: views cannot pack them.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from orchestrator.errors import StoreError
from results import database, sample_store
from results.database import MIGRATIONS
from results.samples import TABLES

FILLED = {
    ("queues", "statistics"): "'[]'",
    ("flows", "transport"): "'tcp'",
    ("flows", "traffic"): "'bulk'",
}
"""Values of columns without a default, in tables that a migration created again."""


def show_as_newest(
    connection: sqlite3.Connection, path: Path, migrations: Path = MIGRATIONS
) -> None:
    """Make the views on an open connection, unless its file has the newest schema.

    Raises:
        StoreError: a newer column has no known value for older rows, or the file lacks a table or
            column of its own schema.
    """
    if database.schema_version(connection) == database.newest(migrations):
        return
    connection.execute("PRAGMA temp_store = MEMORY")  # there may be no place for a file
    newest = database.in_memory(database.newest(migrations), migrations)
    rows = database.in_memory(sample_store.BLOCKS_SINCE - 1, migrations)
    blocks = sample_store.has_blocks(connection)
    try:
        for table, sql in _tables(newest).items():
            model = newest if blocks or table not in TABLES else rows
            view = _view(table, _columns(connection, table), model.execute(sql).fetchall())
            if view is None:
                raise StoreError(
                    f"{path}: this program cannot read table {table} of an older version; "
                    "any `orchestrator run` with this --db brings the file up to date"
                )
            connection.execute(view)
    finally:
        newest.close()
        rows.close()


def warning(connection: sqlite3.Connection, path: Path) -> str | None:
    """Return what the next change does to a file of an older schema; None for the newest one."""
    old, new = database.schema_version(connection), database.newest()
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
    found = connection.execute("SELECT name FROM pragma_table_info(?, 'main')", (table,))
    return {name for (name,) in found}


def _view(table: str, older: set[str], newer: list[tuple[str, str, int, str | None]]) -> str | None:
    """Return the statement that makes a view; None when a column's value is not known."""
    words = []
    for name, _type, required, default in newer:
        if name in older or not older:  # of a table that is new there are no rows
            words.append(f'"{name}"' if older else f'NULL AS "{name}"')
            continue
        value = FILLED.get((table, name), default)
        if value is None and required:
            return None
        words.append(f'{value or "NULL"} AS "{name}"')
    source = f'main."{table}"' if older else "(SELECT 1) WHERE 0"
    return f'CREATE TEMP VIEW "{table}" AS SELECT {", ".join(words)} FROM {source}'
