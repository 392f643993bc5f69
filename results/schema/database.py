"""Opens the SQLite file of the store, and brings it to this program's schema.

A migration is one file ``migrations/NNNN_what.sql``, numbered from :data:`FIRST` on. All migrations
that a file needs run in one transaction, together with their records in the table ``migrations``
and the new ``PRAGMA user_version``. A migration that fails or is killed leaves the file unchanged.
Programs that only read an older file see it through views (``results.schema.earlier_schema``) and
write nothing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from orchestrator.errors import NotAStoreError, StoreError
from orchestrator.files import user_files as files
from results.schema.access_errors import ERRORS, unreadable, unwritable

MIGRATIONS = Path(__file__).parent / "migrations"

FIRST = 13
"""The first schema that this program reads. No version was released with one of those before."""

LAST_READER = "d8b3bc8"
"""The last commit that reads the schemas before :data:`FIRST`."""

Tell = Callable[[str], None]
"""Called with what a migration does, for the user."""

APPLICATION_ID = 0x54435072
"""``PRAGMA application_id`` of our files, which other programs' databases do not have."""

BUSY_TIMEOUT_S = 60.0
"""Storing a large run holds the write lock for seconds; a second writer waits this long."""

_MAGIC = b"SQLite format 3\0"

_FORMATS = slice(18, 20)
_WAL_FORMATS = b"\2\2"
"""Which bytes of a file say by what it is written and read: 2 is a write-ahead log (WAL). See
sqlite.org/fileformat.html, 1.3.3."""

_RETRY_PERIOD_S = 0.02


def say_nothing(_text: str) -> None:
    """Tell nobody what a migration does."""


def open_writable(
    path: Path, migrations: Path = MIGRATIONS, tell: Tell = say_nothing
) -> sqlite3.Connection:
    """Open or create the database for writing, migrated to the newest schema.

    ``tell`` is called while a file of an older schema is migrated.

    Raises:
        NotAStoreError: the file is not a store of ours, or has a schema before :data:`FIRST`.
        StoreError: the folder or file cannot be written, or the file is newer than this program.
            Then, too, the file is left untouched.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    _require_regular(path)
    try:
        if not _is_there(path):
            _create(path, migrations)
        connection = _connect(path, "rwc")
    except (*ERRORS, OSError) as error:
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


def _create(path: Path, migrations: Path) -> None:
    """Create a store that is whole from the moment at which it has a name.

    So no failure leaves a part of one, and of several processes one makes it for all. A file
    system without files that have no name is left to SQLite.

    Raises:
        OSError: there is no room, or no permission.
    """
    content = bytearray(_empty(newest(migrations), migrations))
    content[_FORMATS] = _WAL_FORMATS
    try:
        unnamed = os.open(path.parent, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR):
            return
        raise
    with os.fdopen(unnamed, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(unnamed)
        with contextlib.suppress(FileExistsError):  # another process was faster
            # Without a folder's descriptor, which no absolute path uses, os.link() calls link(2).
            # That follows no links, and would link to what is in /proc.
            os.link(f"/proc/self/fd/{unnamed}", path, src_dir_fd=unnamed, follow_symlinks=True)


def open_read_only(path: Path, migrations: Path = MIGRATIONS) -> sqlite3.Connection:
    """Open an existing database for reading; only the files that WAL needs are created.

    A database of an older schema is opened as it is; see
    ``results.schema.earlier_schema``.

    Raises:
        NotAStoreError: there is none, it is not a store of ours, or its schema is before
            :data:`FIRST`.
        StoreError: it is newer than this program, or cannot be read.
    """
    if not _is_there(path):
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
    """Return the content of an empty database. To apply the migrations takes milliseconds."""
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
            connection.execute(
                "INSERT INTO migrations (version, name, applied_utc) VALUES (?, ?, ?)",
                (version, files[version].stem, utc_now()),
            )
            connection.execute(f"PRAGMA user_version = {version}")


def _bring_up_to_date(
    connection: sqlite3.Connection, path: Path, migrations: Path, tell: Tell
) -> None:
    """Migrate an older file, and say so."""
    new = newest(migrations)
    tell(
        f"{path}: the schema {schema_version(connection)} of the file becomes {new}. For a large "
        "file that takes minutes. Until it is done the file stays as it is, whatever happens"
    )
    migrate(connection, migrations)
    tell(f"{path}: the schema is {new} now")


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


@contextmanager
def _one_state(connection: sqlite3.Connection) -> Iterator[None]:
    """Let all that the block reads be of one moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", re.ASCII)


def utc_now() -> str:
    """Return this moment as ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def is_moment(text: object) -> bool:
    """Return whether a value is a time as :func:`utc_now` writes it, whatever the clock said."""
    if not (isinstance(text, str) and _MOMENT.fullmatch(text)):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


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
    """Let the file have a write-ahead log.

    SQLite does not wait for processes that do the same at the same time.
    """
    until = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(_RETRY_PERIOD_S)  # nothing tells when another process has let go
    if mode != "wal":
        raise StoreError(
            f"{path}: this file system cannot hold a live database (no WAL, mode {mode}); "
            "name one on the machine's own disk with --db"
        )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # such as a name that is too long
        raise NotAStoreError(f"{files.named(path)}: {error.strerror}: name another file") from error


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
    """Raise StoreError unless the database is empty, or ours with a schema that is known."""
    with _one_state(connection):  # another process may be making the tables
        version = _pragma(connection, "user_version")
        application = _pragma(connection, "application_id")
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if tables and application != APPLICATION_ID:
        raise NotAStoreError(
            f"{path}: a SQLite database, but not a results store; it was left as it is"
        )
    if 0 < version < FIRST:
        raise NotAStoreError(
            f"{path}: the database has schema {version}, of a version of this program that was "
            f"never released; this program reads schemas from {FIRST} on. The file was left as it "
            f"is\n  fix: read it with the last version that can, `git checkout {LAST_READER}`, or "
            "name another with --db"
        )
    if version < 0 or (tables and not version):
        raise NotAStoreError(
            f"{path}: a results store, but with schema {version}, which no version of this program "
            "writes; it was left as it is\n  fix: restore a copy of the file, or name another with "
            "--db"
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
        match = re.fullmatch(r"(\d{4})_[a-z0-9_]+\.sql", path.name)
        if not match or int(match[1]) != FIRST + len(files):
            raise StoreError(
                f"{path}: migrations are numbered {FIRST:04}_what.sql, {FIRST + 1:04}_... without "
                "gaps"
            )
        files[FIRST + len(files)] = path
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
