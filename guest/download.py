"""Downloads the guest kernel's source, for systems whose archive does not have it.

Command: ``python -m guest.source``. It does nothing where a source is at hand.

``guest.pinned`` names the tarball. The file gets its final name only after its SHA-256 has been
compared, so nothing reads an unverified one. An interrupted download continues where it stopped.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from guest import cache
from guest.pinned import (
    CHECKSUMS,
    FOLDER,
    SHA256_VARIABLE,
    URL_VARIABLE,
    VERSION,
    Pin,
    command,
    downloaded,
    pinned,
)
from orchestrator.errors import MachineError

CHUNK_BYTES = 1 << 18

Progress = Callable[[str, float | None], None]
"""Called with a step, and the fraction of it that is done (0 to 1) where that is known."""


@dataclass(frozen=True)
class DownloadLimits:
    """Bounds of one download: its size in bytes, times in seconds, and attempts."""

    most_bytes: int = 256 * 1000**2
    silence_s: float = 30.0
    total_s: float = 3600.0
    attempts: int = 4
    pause_s: float = 2.0


class BrokenOffError(Exception):
    """The transfer ended early; what arrived is kept, and the next attempt continues it."""


class TooLongError(Exception):
    """The whole download took longer than its limit."""


def download(progress: Progress, limits: DownloadLimits = DownloadLimits()) -> Path:
    """Return the pinned tarball, downloaded into this user's cache unless it is in one.

    To be called in the main thread: the time limit needs its signals.

    Raises:
        MachineError: it cannot be downloaded, is too large, takes too long, or is another file.
    """
    root = cache.make_root()
    (root / FOLDER).mkdir(mode=0o755, exist_ok=True)

    def waiting() -> None:
        progress("waiting for another download or build", None)

    with cache.builder_lock(root, waiting):
        pin = pinned()
        return downloaded() or _Transfer(pin, root / pin.place, progress, limits).run()


class _Transfer:
    """One download of a pinned tarball to ``place``; the partial file lies beside it."""

    def __init__(self, pin: Pin, target: Path, progress: Progress, limits: DownloadLimits) -> None:
        self.pin = pin
        self.place = target
        self.part = target.with_suffix(".part")
        self.progress = progress
        self.limits = limits
        self.step = f"downloading {pin.url}"

    def run(self) -> Path:
        """Download, verify and return the file."""
        self.progress(self.step, None)
        try:
            with _time_limit(self.limits.total_s):
                return self._attempts()
        except TooLongError:
            raise MachineError(
                f"{self.pin.url} took longer than {self.limits.total_s:g} s", self._again()
            ) from None

    def _attempts(self) -> Path:
        broken = ""
        for attempt in range(self.limits.attempts):
            if attempt:
                # Nothing says when the server or the path to it works again.
                time.sleep(self.limits.pause_s)
            resumed = self.part.exists()
            try:
                self._receive()
            except BrokenOffError as error:
                broken = str(error)
                continue
            sha256 = cache.sha256(self.part)
            if sha256 == self.pin.sha256:
                self.part.chmod(0o644)
                return self.part.replace(self.place)
            self.part.unlink()
            if not resumed:
                raise self._wrong_file(sha256)
            broken = "the continued file had a wrong SHA-256"
        raise MachineError(
            f"{self.pin.url} did not arrive in {self.limits.attempts} attempts: {broken}",
            self._again(),
        )

    def _receive(self) -> None:
        """Append what is missing to the partial file.

        Raises:
            BrokenOffError: it did not arrive whole; another attempt may help.
            MachineError: another attempt would not help.
        """
        there = self.part.stat().st_size if self.part.exists() else 0
        headers = {"User-Agent": "tcp-orchestrator", "Accept-Encoding": "identity"}
        if there:
            headers["Range"] = f"bytes={there}-"
        request = urllib.request.Request(self.pin.url, headers=headers)
        try:
            with _opener().open(request, timeout=self.limits.silence_s) as answer:
                self._store(answer, self._continued_at(answer, there))
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                self.part.unlink()
            elif error.code < http.HTTPStatus.INTERNAL_SERVER_ERROR:
                raise self._refused(str(error)) from error
            raise BrokenOffError(str(error)) from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, str):  # such as a redirect to another kind of address
                raise self._refused(error.reason) from error
            raise BrokenOffError(str(error.reason)) from error
        except (http.client.HTTPException, OSError) as error:
            raise BrokenOffError(str(error) or type(error).__name__) from error

    def _continued_at(self, answer: http.client.HTTPResponse, there: int) -> int:
        """Return the offset at which the answer's content begins: ``there``, or 0."""
        if answer.status != http.HTTPStatus.PARTIAL_CONTENT:
            return 0
        if not there or not answer.headers.get("Content-Range", "").startswith(f"bytes {there}-"):
            raise self._refused("the server sent another part than the requested one")
        return there

    def _store(self, answer: http.client.HTTPResponse, there: int) -> None:
        """Write the answer's content to the partial file, from the offset ``there`` on."""
        whole = None if answer.length is None else there + answer.length
        with self._disk_errors():
            file = self.part.open("r+b" if there else "wb")
        with file:
            file.seek(there)
            self._check_size(whole or 0)
            while chunk := answer.read1(CHUNK_BYTES):
                there += len(chunk)
                self._check_size(there)
                with self._disk_errors():
                    file.write(chunk)
                if whole:
                    self.progress(self.step, min(there / whole, 1.0))
            with self._disk_errors():
                file.truncate(there)
                os.fsync(file.fileno())
        if whole is not None and there < whole:
            raise BrokenOffError(f"it ended after {there} of {whole} bytes")

    def _check_size(self, size: int) -> None:
        if size > self.limits.most_bytes:
            raise MachineError(
                f"{self.pin.url} has more than {self.limits.most_bytes / 1e6:g} MB,"
                " which no Linux 6.12 tarball has",
                f"let {URL_VARIABLE} name the address of a kernel tarball",
            )

    @contextlib.contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise MachineError(
                f"{self.part} cannot be written: {error.strerror}",
                f"make room, or let {cache.CACHE_VARIABLE} name another folder",
            ) from error

    def _wrong_file(self, sha256: str) -> MachineError:
        return MachineError(
            f"{self.pin.url} is not the pinned file: its SHA-256 is {sha256}, "
            f"not {self.pin.sha256}",
            f"let {URL_VARIABLE} name an address of linux-{VERSION}.tar.xz; for another version,"
            f" set {SHA256_VARIABLE}, too: kernel.org publishes the values in {CHECKSUMS}",
        )

    def _refused(self, reason: str) -> MachineError:
        return MachineError(
            f"{self.pin.url} cannot be downloaded: {reason}",
            f"let {URL_VARIABLE} name another address of linux-{VERSION}.tar.xz",
        )

    def _again(self) -> str:
        return (
            f"run {command()} again, which continues the download, or let {URL_VARIABLE} name"
            f" another address of linux-{VERSION}.tar.xz"
        )


@contextlib.contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise TooLongError in the block after that time, whatever the block waits for."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener that accepts only http and https addresses, also in redirects."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPRedirectHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener
