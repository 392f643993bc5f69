"""Standard input, output and error, whatever the caller of this program has made of them.

A daemon may start a program with none of the three. A file that is opened then gets the number 0, 1
or 2, and whatever is printed, by a child process too, goes into that file. Python's own objects are
None, and most code fails. So a closed stream becomes ``/dev/null`` before anything else is opened.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from orchestrator.errors import OutputError, ReaderGone

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

ESCAPED = "orchestrator.escaped"
"""The error handler that writes what an encoding lacks as ``\\uXXXX``, which JSON understands."""

CLOSED = "standard output is closed: nothing is printed"


class _StandardOutput(io.FileIO):
    """Standard output. Its errors are told from those of other files."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write some of the bytes.

        Raises:
            ReaderGone: it is a pipe that nobody reads any more.
            OutputError: it cannot be written.
        """
        try:
            return super().write(data)
        except BrokenPipeError:
            raise ReaderGone from None
        except OSError as error:
            raise OutputError(str(error.strerror)) from error


class _StandardError(io.FileIO):
    """Standard error. Messages that cannot be written are lost: no run ends because of them."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write the bytes if possible."""
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def prepare() -> None:
    """Replace closed streams by ``/dev/null``, and let ``sys.stdout`` raise errors of its own.

    If standard output alone is closed, that is said on standard error.
    """
    prepare_escapes()
    stdout, stderr = sys.stdout, sys.stderr
    for number, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        _open_if_closed(number, flags)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as this runs
    sys.stdout = _text(_StandardOutput(1, "w", closefd=False), stdout, ESCAPED)
    sys.stderr = _text(_StandardError(2, "w", closefd=False), stderr, "backslashreplace")
    if stdout is None and stderr is not None:
        sys.stderr.write(f"{CLOSED}\n")


def prepare_escapes() -> None:
    """Make the error handler known by its name."""
    codecs.register_error(ESCAPED, _escaped)


def discard_output() -> None:
    """Let what is still to be written to standard output go nowhere, after it has failed."""
    if not isinstance(getattr(getattr(sys.stdout, "buffer", None), "raw", None), _StandardOutput):
        return  # replaced by a caller of this package
    null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(null, 1)
    os.close(null)


def _open_if_closed(number: int, flags: int) -> None:
    """Open ``/dev/null`` as a closed descriptor; those with smaller numbers are open."""
    try:
        os.fstat(number)
    except OSError:
        opened = os.open(os.devnull, flags)
        assert opened == number, (opened, number)
        os.set_inheritable(number, True)


def _text(raw: io.FileIO, before: TextIO | None, errors: str) -> TextIO:
    encoding = "utf-8" if before is None else before.encoding
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, errors, line_buffering=raw.isatty() or raw.fileno() == 2
    )


def _escaped(error: UnicodeError) -> tuple[str, int]:
    r"""Return what the encoding lacks as escapes of UTF-16 code units, and where to continue."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)), error.end
