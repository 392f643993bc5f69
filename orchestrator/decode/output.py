"""Opens the files that a test bed wrote. No other module opens files in its output folder.

The bed may be hostile: native code inside a guest can leave any kind of file there. So every file
is examined before it is opened, by a descriptor (O_PATH) that follows no link. Exactly that file is
then opened. Reading never blocks and never exceeds the file's bound, even if the file grows.
"""

from __future__ import annotations

import os
import stat
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator import plaintext
from orchestrator.compile.bounds import MIB, Bounds
from orchestrator.errors import BedError, OrchestratorError

CHUNK_BYTES = 4 * MIB
"""Size of one read. Between reads it is checked whether the run has to stop."""

_Read = Callable[[int, int], bytes]
"""Reads a number of bytes from an offset on."""

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


def malformed(what: str) -> BedError:
    """Return the error of a run whose output is not what a test bed writes."""
    return BedError(f"malformed output: {plaintext.visible(plaintext.shortened(what, 1000))}")


@contextmanager
def believing_nothing() -> Iterator[None]:
    """Turn every error in the body, which reads a bed's files, into the failure of the run.

    Each file is checked where it is read, with a message of its own. This catches what those checks
    miss.

    Raises:
        BedError: with the type and the place of the original error, which is its cause.
    """
    try:
        yield
    except OrchestratorError:
        raise
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        position = f"{Path(where.filename).name}:{where.lineno}"
        raise malformed(f"{type(error).__name__}: {error} ({position})") from error


class OutputFile:
    """A regular file that a bed wrote, opened and checked.

    Raises:
        BedError: by all methods, when it is not, or no longer, what is allowed.
    """

    def __init__(self, descriptor: int, name: str, output: OutputFolder) -> None:
        self.name = name
        self._descriptor, self._output = descriptor, output
        weakref.finalize(self, os.close, descriptor)

    def size(self) -> int:
        """Return how many bytes it has, after checking it again."""
        return _checked(self._descriptor, self.name, self._output)

    def read(self, offset: int, most_bytes: int) -> bytes:
        """Return what is there from ``offset`` on, ``most_bytes`` at most."""
        try:
            return os.pread(self._descriptor, most_bytes, offset)
        except OSError as error:
            raise malformed(f"{self.name} cannot be read: {error.strerror}") from None

    def whole(self) -> bytes:
        """Return all of it, as it is now."""
        size = self.size()
        parts: list[bytes] = []
        have = 0
        while have < size:
            self._output.require_going_on()
            part = self.read(have, min(CHUNK_BYTES, size - have))
            if not part:  # cut off meanwhile
                break
            parts.append(part)
            have += len(part)
        return b"".join(parts)


class OutputFolder:
    """The folder that one test bed writes to; it need not exist yet.

    Args:
        folder: the folder. Its parent folders are the controller's own.
        bounds: of each file, of all of them, and of their number.
        stopping: when it is set, reading ends with an error.

    ``owner_uid`` is the user whose files are accepted, by default the one that this process runs
    as. A back end whose bed runs as another user sets it before the bed starts.
    """

    def __init__(
        self, folder: Path, bounds: Bounds | None = None, stopping: threading.Event | None = None
    ) -> None:
        self.folder = folder
        self.bounds = Bounds() if bounds is None else bounds
        self.stopping = threading.Event() if stopping is None else stopping
        self.owner_uid = os.geteuid()

    def require_going_on(self) -> None:
        """Raise BedError when the run has to stop. Functions that read much call it repeatedly."""
        if self.stopping.is_set():
            raise BedError("interrupted while its output was read")

    def opened(self, name: str) -> OutputFile | None:
        """Open a file, or return None when it does not exist.

        Raises:
            BedError: naming the file, what is wrong with it, and what is allowed.
        """
        with self._folder() as folder:
            if folder is None:
                return None
            try:
                descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise malformed(f"{name} cannot be opened: {error.strerror}") from None
        try:
            _checked(descriptor, name, self)
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            return OutputFile(os.open(f"/proc/self/fd/{descriptor}", flags), name, self)
        except OSError as error:
            raise malformed(f"{name} cannot be opened: {error.strerror}") from None
        finally:
            os.close(descriptor)

    def whole(self, name: str) -> bytes:
        """Return the content of a file that has to exist.

        Raises:
            BedError: it does not exist, or is not what is allowed.
        """
        file = self.opened(name)
        if file is None:
            raise BedError(f"the test bed did not write {name}")
        return file.whole()

    def start(self, name: str, most_bytes: int) -> bytes | None:
        """Return the first bytes of a file, None when it does not exist."""
        file = self.opened(name)
        return None if file is None else file.read(0, most_bytes)

    def text(self, name: str) -> str:
        """Return a log as it is stored, empty when it does not exist; see ``plaintext``.

        A log that cannot be read is replaced by the reason, so that a failed run keeps it.
        """
        try:
            file = self.opened(name)
            if file is None:
                return ""
            return _log(file.size(), file.read)
        except BedError as error:
            return f"[{error}]\n"

    def written(self) -> int:
        """Return the bytes of all files together.

        Raises:
            BedError: too many files or bytes, or what is no regular file.
        """
        total = 0
        with self._folder() as folder:
            if folder is None:
                return 0
            with os.scandir(folder) as entries:
                for number, entry in enumerate(entries, start=1):
                    if number > self.bounds.entries:
                        raise malformed(
                            f"more than {self.bounds.entries} files in the output folder"
                        )
                    total += self._entry_bytes(entry)
        if total > self.bounds.total_bytes:
            most = self.bounds.total_bytes // MIB
            raise malformed(
                f"the output folder holds {total} bytes; at most {most} MiB are allowed"
            )
        return total

    def _entry_bytes(self, entry: os.DirEntry[str]) -> int:
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return 0  # removed meanwhile
        except OSError as error:
            raise malformed(f"{entry.name} cannot be read: {error.strerror}") from None
        _require_regular(status, entry.name)
        _require_small(status, entry.name, self)
        return status.st_size

    @contextmanager
    def _folder(self) -> Iterator[int | None]:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(self.folder, flags)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            text = f"the output folder cannot be opened: {error.strerror}"
            raise malformed(text) from None
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def console_text(path: Path) -> str:
    """Return a console as it is stored, empty when it does not exist.

    The controller made that file in a folder that no guest sees.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    try:
        size = os.fstat(descriptor).st_size
        return _log(size, lambda offset, most: os.pread(descriptor, most, offset))
    finally:
        os.close(descriptor)


def require_small_console(path: Path, bounds: Bounds) -> None:
    """Raise BedError when the console has more than its bound."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return
    if size > bounds.console_bytes:
        raise BedError(f"console output exceeds {bounds.console_bytes // MIB} MiB")


def _log(size: int, read: _Read) -> str:
    half = plaintext.MOST_LOG_BYTES // 2
    if size <= 2 * half:
        return plaintext.decoded(read(0, size))
    return plaintext.decoded(read(0, half), read(size - half, half), size - 2 * half)


def _checked(descriptor: int, name: str, output: OutputFolder) -> int:
    """Return the size of an open file, or raise BedError when it is not what is allowed."""
    status = os.fstat(descriptor)
    _require_regular(status, name)
    if status.st_uid != output.owner_uid:
        raise malformed(
            f"{name} belongs to uid {status.st_uid}; only files of uid {output.owner_uid}, "
            "which the test bed runs as, are allowed"
        )
    if status.st_nlink != 1:
        raise malformed(f"{name} has {status.st_nlink} names; a file with one name is allowed")
    _require_small(status, name, output)
    return status.st_size


def _require_regular(status: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next(
            (description for test, description in _KINDS if test(status.st_mode)), "no file"
        )
        raise malformed(f"{name} is {kind}; only regular files are allowed")


def _require_small(status: os.stat_result, name: str, output: OutputFolder) -> None:
    most = output.bounds.file_bytes.get(name, output.bounds.total_bytes)
    if status.st_size > most:
        raise malformed(f"{name} has {status.st_size} bytes; at most {most // MIB} MiB are allowed")
