"""Opens the SQLite file of the store, and brings it to this program's schema.

A migration is one file ``migrations/NNNN_what.sql``. Where SQL is not enough, :data:`STEPS` names a
module for it. All migrations that a file needs run in one transaction, together with their records
in the table ``migrations`` and the new ``PRAGMA user_version``. A migration that fails or is killed
leaves the file unchanged. Programs that only read an older file see it through views
(``results.older``) and write nothing.
"""

from __future__ import annotations

import importlib
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from orchestrator.errors import NotAStoreError, StoreError
from orchestrator.files import user_files as files

MIGRATIONS = Path(__file__).parent / "migrations"

STEPS = {12: "results.packing"}
"""Modules by migration whose function ``apply(connection, tell)`` runs after its statements."""

Tell = Callable[[str], None]
"""Called with what a migration does, for the user."""

MOST_FREE = 0.5
"""Largest share of free pages that a migration leaves; more is given back to the file system."""

APPLICATION_ID = 0x54435072
"""``PRAGMA application_id`` of our files, which other programs' databases do not have."""

ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""Errors of operations on a file. The second occurs if SQLite's message has damaged text of it."""

BUSY_TIMEOUT_S = 60.0
"""Storing a large run holds the write lock for seconds; a second writer waits this long."""

_MAGIC = b"SQLite format 3\0"


def say_nothing(_text: str) -> None:
    """Tell nobody what a migration does."""


def open_writable(
    path: Path, migrations: Path = MIGRATIONS, tell: Tell = say_nothing
) -> sqlite3.Connection:
    """Open or create the database for writing, migrated to the newest schema.

    ``tell`` is called while a file of an older schema is migrated.

    Raises:
        NotAStoreError: the file is not a store of ours; it is left untouched.
        StoreError: the folder or file cannot be written, or the file is newer than this program; it
            is left untouched.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    _require_regular(path)
    try:
        connection = _connect(path, "rwc")
    except ERRORS as error:
        raise unwritable(path, error) from error
    try:
        _require_ours(connection, path, newest(migrations))
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")  # with WAL: always whole, see wal.html
        connection.execute("PRAGMA cache_size = -65536")  # KiB; a large run spills less often
        connection.execute("PRAGMA journal_size_limit = 16777216")  # bytes the WAL may keep
        _use_wal(connection, path)
        if 0 < schema_version(connection) < newest(migrations):
            _bring_up_to_date(connection, path, migrations, tell)
        else:
            migrate(connection, migrations)
    except ERRORS as error:
        connection.close()
        raise unwritable(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def open_read_only(path: Path, migrations: Path = MIGRATIONS) -> sqlite3.Connection:
    """Open an existing database for reading; only the files that WAL needs are created.

    A database of an older schema is opened as it is; see ``results.older``.

    Raises:
        NotAStoreError: there is none, or it is not a store of ours.
        StoreError: it is newer than this program, or cannot be read.
    """
    if not path.exists():
        raise NotAStoreError(
            f"{path}: there is no results database; `orchestrator run` makes one, "
            "or name another with --db"
        )
    _require_regular(path)
    needed = newest(migrations)
    connection = None
    try:
        connection = _connect(path, "ro")
        try:
            _require_ours(connection, path, needed)
        except sqlite3.OperationalError:
            # WAL needs a -shm file beside the database. On a read-only medium the database can be
            # read without it if the -wal file is empty.
            if _has_wal(path):
                raise
            connection.close()
            connection = _connect(path, "ro", "&immutable=1")
            _require_ours(connection, path, needed)
    except ERRORS as error:
        if connection is not None:
            connection.close()
        raise unreadable(path, error) from error
    except StoreError:
        if connection is not None:
            connection.close()
        raise
    return connection


def in_memory(version: int, migrations: Path = MIGRATIONS) -> sqlite3.Connection:
    """Return an empty database of that schema version, which is in no file."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.deserialize(_empty(version, migrations))
    return connection


@cache
def _empty(version: int, migrations: Path) -> bytes:
    """Return the content of an empty database. To apply all migrations takes 20 ms."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, migrations, version)
        return connection.serialize()


def newest(migrations: Path = MIGRATIONS) -> int:
    """Return the schema version that the migrations lead to."""
    return max(_migration_files(migrations))


def migrate(
    connection: sqlite3.Connection,
    migrations: Path = MIGRATIONS,
    last: int | None = None,
    tell: Tell = say_nothing,
) -> None:
    """Apply every migration the database has not seen, up to ``last``, in one transaction."""
    files = _migration_files(migrations)
    wanted = [version for version in sorted(files) if last is None or version <= last]
    if wanted and _pragma(connection, "user_version") >= wanted[-1]:
        return
    with transaction(connection):
        # Read inside the transaction: another process may have migrated just now.
        seen = _pragma(connection, "user_version")
        for version in wanted:
            if version <= seen:
                continue
            for statement in _statements(files[version].read_text(encoding="utf-8")):
                connection.execute(statement)
            if version in STEPS:
                importlib.import_module(STEPS[version]).apply(connection, tell)
            connection.execute(
                "INSERT INTO migrations (version, name, applied_utc) VALUES (?, ?, ?)",
                (version, files[version].stem, utc_now()),
            )
            connection.execute(f"PRAGMA user_version = {version}")


def _bring_up_to_date(
    connection: sqlite3.Connection, path: Path, migrations: Path, tell: Tell
) -> None:
    """Migrate an older file, say so, and shrink it if most of it is free then."""
    old, new, before = schema_version(connection), newest(migrations), _megabytes(connection)
    tell(
        f"{path}: the schema {old} of the file becomes {new}. For a large file that takes minutes. "
        "Until it is done the file stays as it is, whatever happens"
    )
    migrate(connection, migrations, tell=tell)
    try:
        if _pragma(connection, "freelist_count") > MOST_FREE * _pragma(connection, "page_count"):
            _shrink(connection)
    except ERRORS as error:
        tell(f"its free space was not given back: {error}; `orchestrator gc` does that later")
    tell(f"{path}: the schema is {new} now; the file had {before} and has {_megabytes(connection)}")


def _shrink(connection: sqlite3.Connection) -> None:
    connection.execute("VACUUM")  # in one transaction, too
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _megabytes(connection: sqlite3.Connection) -> str:
    size = _pragma(connection, "page_count") * _pragma(connection, "page_size")
    return f"{size / 1e6:.1f} MB"


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block in one transaction that holds the write lock from its start."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def utc_now() -> str:
    """Return this moment as ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def is_moment(text: object) -> bool:
    """Return whether a value is a time as :func:`utc_now` writes it."""
    return isinstance(text, str) and bool(
        re.fullmatch(r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\d\.\d{3}\+00:00", text)
    )


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the schema version of an open database."""
    return _pragma(connection, "user_version")


def _connect(path: Path, mode: str, more: str = "") -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}{more}",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
    )


def _use_wal(connection: sqlite3.Connection, path: Path) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreError(
            f"{path}: this file system cannot hold a live database (no WAL, mode {mode}); "
            "name one on the machine's own disk with --db"
        )


def _require_regular(path: Path) -> None:
    """Raise NotAStoreError for what is there and is no regular file.

    Only SQLite may open the file. When a process closes a file, the kernel drops all of its locks
    on it, those of other threads' connections, too (sqlite.org/howtocorrupt.html, 2.2). Another
    process could then remove the write-ahead log that is in use.
    """
    try:
        files.require_regular(path)
    except files.FileError as error:
        raise NotAStoreError(f"{error}: a results database is one") from error


def _require_ours(connection: sqlite3.Connection, path: Path, known: int) -> None:
    """Raise NotAStoreError unless it is a database of ours; else as :func:`_check_kind`."""
    try:
        _check_kind(connection, path, known)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_NOTADB:
            raise
        with path.open("rb") as file:  # SQLite has no lock on what is no database
            start = file.read(len(_MAGIC))
        if start == _MAGIC:
            raise
        raise NotAStoreError(f"{path}: not a SQLite database; it was left as it is") from error


def _check_kind(connection: sqlite3.Connection, path: Path, known: int) -> None:
    """Raise StoreError unless the database is empty, or ours and not newer than ``known``."""
    version = _pragma(connection, "user_version")
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and _pragma(connection, "application_id") != APPLICATION_ID:
        raise NotAStoreError(
            f"{path}: a SQLite database, but not a results store; it was left as it is"
        )
    if version > known:
        raise StoreError(
            f"{path}: the database has schema {version}, newer than this program's {known}; "
            "update the program, or name another with --db"
        )


def _has_wal(path: Path) -> bool:
    wal = path.with_name(path.name + "-wal")
    return wal.exists() and wal.stat().st_size > 0


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)


def _migration_files(folder: Path) -> dict[int, Path]:
    files: dict[int, Path] = {}
    for path in sorted(folder.glob("*.sql")):
        found = re.fullmatch(r"(\d{4})_[a-z0-9_]+\.sql", path.name)
        if not found or int(found[1]) != len(files) + 1:
            raise StoreError(
                f"{path}: migrations are numbered 0001_what.sql, 0002_... without gaps"
            )
        files[len(files) + 1] = path
    return files


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; sqlite3's executescript would commit before it starts."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        raise StoreError(f"a migration ends within a statement: {statement.strip()!r}")


def unreadable(path: Path, error: Exception) -> StoreError:
    """Return the error to raise when SQLite cannot read the file, with what to do about it."""
    damaged = isinstance(error, UnicodeDecodeError) or _is_damage(error)
    fix = "; `orchestrator doctor --store` lists the damage" if damaged else ""
    return StoreError(f"{path}: cannot read the results database: {error}{fix}")


def _is_damage(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    damage = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
    return isinstance(code, int) and code & 0xFF in damage


def unwritable(path: Path, error: Exception) -> StoreError:
    """Return the error to raise when SQLite or the system would not write, with the fix."""
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int) and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        fix = "another program holds it: end that one, or name another file with --db"
    elif isinstance(error, OSError | sqlite3.OperationalError):
        fix = f"make {path.absolute().parent} writable with room to spare, or use another --db"
    else:
        fix = (
            "`orchestrator doctor --store` lists the damage; "
            "put back a copy of the file, or name another with --db"
        )
    return StoreError(f"{path}: cannot write the results database: {error}; {fix}")
