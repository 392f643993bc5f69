"""What controller and workers send each other: bytes, and never objects.

A message is a line of JSON and parts, whose sizes that line has. ``Order`` goes to a worker, and an
``OrderResult`` comes back. A worker may be hostile: the controller checks every field of it, and
treats the files in it as it treats those of a guest.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from guest.build import GuestKernel
from guest.cache import sha256
from orchestrator import plaintext
from orchestrator.backends import bed_code
from orchestrator.backends.guest.boot import GuestBoot
from orchestrator.backends.progress import PHASES
from orchestrator.compile.bounds import Bounds
from orchestrator.decode.output import malformed
from orchestrator.files.inflating import inflated

MOST_HEADER_BYTES = 2**18
MOST_PARTS = 2
MOST_TEXT = 20_000
"""Characters of an error that are kept."""
_MAGIC = b"tcp-orchestrator 1 "

Status = Literal["ok", "failed", "kernel", "unfit", "cancelled"]
"""``kernel``: the worker lacks the guest kernel. ``unfit``: the worker cannot boot any guest."""


@dataclass(frozen=True)
class Order:
    """One run for a worker.

    Attributes:
        code: hash of the sender's program, which the worker's must equal.
        kernel: hash of the guest kernel and its modules.
        boot: what to boot.
        bounds: limits on output and wall time.
        input: tar archive of the guest's input folder.
    """

    code: str
    kernel: str
    boot: GuestBoot
    bounds: Bounds
    input: bytes

    def to_bytes(self) -> bytes:
        """Return the message."""
        bounds = vars(self.bounds) | {"file_bytes": dict(self.bounds.file_bytes)}
        header = {"code": self.code, "kernel": self.kernel, "boot": asdict(self.boot)}
        return _message({**header, "bounds": bounds}, [self.input])

    @classmethod
    def from_bytes(cls, message: bytes) -> Order:
        """Return the order of a message; the worker trusts whoever may use the cluster."""
        header, (archive,) = _parts(message)
        boot = header["boot"] | {"parameters": tuple(header["boot"]["parameters"])}
        return cls(
            header["code"], header["kernel"], GuestBoot(**boot), Bounds(**header["bounds"]), archive
        )


@dataclass(frozen=True)
class OrderResult:
    """What a worker made of an order.

    Attributes:
        status: how it ended.
        worker: name of the machine.
        error: why it did not end well.
        files: tar archive of the guest's output folder.
        console: text of the guest's console.
    """

    status: Status
    worker: str
    error: str = ""
    files: bytes = b""
    console: bytes = b""

    def to_bytes(self) -> bytes:
        """Return the message, compressed."""
        header = {"status": self.status, "worker": self.worker, "error": self.error}
        return _message(header, [zlib.compress(part, 1) for part in (self.files, self.console)])

    @classmethod
    def from_bytes(cls, message: object, most_files: int, most_console: int) -> OrderResult:
        """Return the answer of a message that anyone may have sent.

        Args:
            message: what the worker returned.
            most_files: bytes that ``files`` may have.
            most_console: bytes that ``console`` may have.

        Raises:
            BedError: it is no answer.
        """
        header, parts = _parts(message)
        status, worker, error = (header.get(name) for name in ("status", "worker", "error"))
        status = next((known for known in get_args(Status) if known == status), None)
        if status is None or len(parts) != MOST_PARTS:
            raise malformed("a worker's answer has no known status")
        if not isinstance(worker, str) or not isinstance(error, str):
            raise malformed("a worker's answer has no texts")
        files = _inflated(parts[0], most_files, "the archive of files")
        console = _inflated(parts[1], most_console, "the console")
        texts = plaintext.shortened(plaintext.visible(worker), 253), plaintext.visible(error)
        return cls(status, texts[0], texts[1][:MOST_TEXT], files, console)


def progress_of(event: object) -> tuple[int, str, float] | None:
    """Return (number of the order, phase, seconds simulated) of a worker's report.

    Returns None for whatever else a worker may have sent.
    """
    if not isinstance(event, list | tuple) or len(event) != 3:
        return None
    number, phase, simulated_s = event
    if not isinstance(number, int) or phase not in PHASES[:-1]:
        return None
    if not isinstance(simulated_s, float) or not math.isfinite(simulated_s) or simulated_s < 0:
        return None
    return number, phase, simulated_s


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return a tar archive of files by their names."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return stream.getvalue()


@cache
def code_identity() -> str:
    """Return a hash of all Python files that plan, confine and run test beds."""
    digest = hashlib.sha256()
    for package in ("orchestrator", "guest"):
        for path in sorted((bed_code.PROJECT / package).rglob("*.py")):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(bed_code.PROJECT)} {content}\n".encode())
    return digest.hexdigest()


def kernel_identity(kernel: GuestKernel) -> str:
    """Return a hash of a guest kernel and of its modules, as their files are now."""
    return files_identity(kernel.linux, kernel.modules_dir)


def files_identity(linux: Path, modules: Path) -> str:
    """Return the hash of :func:`kernel_identity` for files that may be anywhere."""
    digest = hashlib.sha256(f"linux {sha256(linux)}\n".encode())
    for path in sorted(modules.glob("*.ko")):
        digest.update(f"{path.name} {sha256(path)}\n".encode())
    return digest.hexdigest()


def _message(header: dict[str, Any], parts: Sequence[bytes]) -> bytes:
    text = json.dumps({**header, "sizes": [len(part) for part in parts]}).encode()
    return b"".join((_MAGIC, text, b"\n", *parts))


def _parts(message: object) -> tuple[dict[str, Any], list[bytes]]:
    """Return header and parts of a message; BedError when it is none."""
    if not isinstance(message, bytes) or not message.startswith(_MAGIC):
        raise malformed(f"a worker answered with {message!r:.80}, which is no message")
    end = message.find(b"\n", 0, MOST_HEADER_BYTES)
    try:
        header = json.loads(message[len(_MAGIC) : max(end, 0)])
        sizes = header["sizes"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise malformed("a worker's message has no header") from None
    if not isinstance(sizes, list) or not all(isinstance(s, int) and s >= 0 for s in sizes):
        raise malformed("a worker's message has no sizes")
    if len(sizes) > MOST_PARTS or end + 1 + sum(sizes) != len(message):
        raise malformed("a worker's message is not as long as it says")
    parts, offset = [], end + 1
    for size in sizes:
        parts.append(message[offset : offset + size])
        offset += size
    return header, parts


def _inflated(part: bytes, most_bytes: int, what: str) -> bytes:
    try:
        return inflated(part, most_bytes)
    except ValueError as error:
        raise malformed(f"{what} in a worker's message {error}") from None
