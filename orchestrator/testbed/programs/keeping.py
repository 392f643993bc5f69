"""Keeps files that a program has left in its folder, when it and its processes are dead.

The bed mounts the folder and the program's launcher binds it at the program's /tmp, so it outlives
the program's mounts. Before anything is read, the file system is made read-only as a whole. The
kernel refuses that while any file of it is open for writing. So what is read cannot change.

All names in it are a stranger's: no link is followed, and every folder is opened by its parent's
descriptor.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
import stat

from orchestrator.protocol import kept_files as protocol
from orchestrator.testbed.kernel import system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator, Sequence

    from orchestrator.protocol.reports.program_facts import KeptFile, LeftOutFile

_FLAGS = system.MS_NOSUID | system.MS_NODEV
_WAIT_NS, _MOST_WAITS = 1_000_000, 10_000
_GLOB = frozenset("*?[")
_NO_FOLDER = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class KeptFolder:
    """The folder of a program, a file system in memory of its own.

    Args:
        path: of the folder, which no other program has.
        uid: the program's user.
        size_bytes: of all that it can hold.
    """

    def __init__(self, path: str, uid: int, size_bytes: int) -> None:
        self.path = path
        os.makedirs(self.path, mode=0o700)
        options = f"mode=0755,uid={uid},gid={uid},size={size_bytes}"
        system.mount("tmpfs", self.path, "tmpfs", _FLAGS, options)

    def freeze(self) -> None:
        """Wait until nobody can change a file any more; call it when the program was ended.

        Raises:
            OSError: a process still writes ten seconds later.
        """
        for _wait in range(_MOST_WAITS):
            try:
                system.mount(
                    "none", self.path, "none", system.MS_REMOUNT | system.MS_RDONLY | _FLAGS
                )
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
                # A process that was killed ends when it runs next.
                system.Timer().sleep_until(system.monotonic_ns() + _WAIT_NS)
            else:
                return
        raise OSError(errno.EBUSY, "a program writes on after its end")


class Kept:
    """The files of one program that match patterns.

    Args:
        folder: where they are.
        patterns: relative paths, in which ``*``, ``?`` and ``[`` match names of one folder.
        most_run_bytes: what the run may still keep.

    ``contents`` are those of ``files``, in their order.
    """

    def __init__(self, folder: str, patterns: Sequence[str], most_run_bytes: int) -> None:
        self.files: list[KeptFile] = []
        self.contents: list[bytes] = []
        self.left_out: list[LeftOutFile] = []
        self._run_bytes, self._kept_bytes = most_run_bytes, 0
        self._entries = protocol.MOST_LOOKED_AT
        self._seen: set[str] = set()
        self._unlisted = 0
        root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for pattern in patterns:
                if not self._take_matches(root, pattern.split("/"), ""):
                    self._leave_out(pattern, None, "missing")
        finally:
            os.close(root)
        if self._unlisted:
            self.left_out.append(
                {"name": f"{self._unlisted} more", "bytes": None, "reason": "more"}
            )

    def _take_matches(self, folder: int, parts: Sequence[str], above: str) -> bool:
        """Take what matches below an open folder; return whether anything does."""
        found = False
        for name in self._names(folder, parts[0], above):
            if len(parts) == 1:
                found = self._take(folder, name, above + name) or found
                continue
            try:
                below = _opened(name, os.O_DIRECTORY, folder)
            except OSError as error:
                if error.errno not in _NO_FOLDER:
                    raise
                continue
            try:
                found = self._take_matches(below, parts[1:], f"{above}{name}/") or found
            finally:
                os.close(below)
        return found

    def _names(self, folder: int, pattern: str, above: str) -> Iterator[str]:
        """Yield the names in a folder that match, in order; one without a glob need not exist."""
        if not _GLOB.intersection(pattern):
            yield pattern
            return
        names = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if not self._entries:
                    self._leave_out(f"{above}{pattern}", None, "entries")
                    break
                self._entries -= 1
                if pattern.startswith(".") or not entry.name.startswith("."):
                    names.append(entry.name)
        yield from sorted(fnmatch.filter(names, pattern))

    def _take(self, folder: int, name: str, path: str) -> bool:
        """Keep a file, or note why not; return False where there is none of the name."""
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno in (*_NO_FOLDER, errno.ENAMETOOLONG):
                return False
            raise
        if path in self._seen:
            return True
        self._seen.add(path)
        reason = self._reason(found, path)
        if reason is not None:
            self._leave_out(path, found.st_size, reason)
            return True
        with contextlib.closing(_File(folder, name)) as file:
            content = file.whole(found.st_size)
        self.files.append({"name": path, "bytes": len(content)})
        self.contents.append(content)
        self._kept_bytes += len(content)
        return True

    def _reason(self, found: os.stat_result, path: str) -> str | None:
        """Return why a file is not kept, of REASONS; None of one that is."""
        if not stat.S_ISREG(found.st_mode):
            return "kind"
        if not protocol.is_name(path):
            return "name"
        if len(self.files) == protocol.MOST_FILES:
            return "number"
        size_bytes = self._kept_bytes + found.st_size
        if size_bytes > protocol.MOST_BYTES:
            return "size"
        return "run" if size_bytes > self._run_bytes else None

    def _leave_out(self, path: str, size_bytes: int | None, reason: str) -> None:
        if len(self.left_out) == protocol.MOST_LEFT_OUT:
            self._unlisted += 1
            return
        name = protocol.shown_name(path)
        self.left_out.append({"name": name, "bytes": size_bytes, "reason": reason})


class _File:
    """A regular file in an open folder.

    Raises:
        OSError: it is none.
    """

    def __init__(self, folder: int, name: str) -> None:
        self._descriptor = _opened(name, os.O_NONBLOCK | os.O_NOCTTY, folder)
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise OSError(errno.EINVAL, "a file that is kept is no regular file any more")

    def whole(self, size_bytes: int) -> bytes:
        """Return so many bytes of it; OSError where it has fewer."""
        parts: list[bytes] = []
        left = size_bytes
        while left:
            part = os.read(self._descriptor, left)
            if not part:
                raise OSError(errno.EIO, "a file that is kept has become shorter")
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Close it."""
        os.close(self._descriptor)


def _opened(name: str, flags: int, folder: int) -> int:
    return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=folder)
