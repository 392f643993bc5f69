"""What hostile and unlucky workers do in place of booting a guest."""

from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.backends.cluster import wire, worker
from orchestrator.backends.cluster.wire import Order, OrderResult
from tests.support.hostile_texts import captured_files


def play(kinds: Mapping[int, str], marks: str, message: bytes, _topic: str, _number: int) -> Any:
    """Answer an order by what ``kinds`` has for its seed; ``marks`` is a folder for notes."""
    order = Order.from_bytes(message)
    files = captured_files()
    match kinds[order.boot.seed]:
        case "garbage":
            return b"\x80\x04garbage"
        case "an object":
            return {"status": "ok"}
        case "a bomb":
            return OrderResult(
                "ok", "hostile", "", bytes(order.bounds.total_bytes + 2**23)
            ).to_bytes()
        case "a link":
            return OrderResult("ok", "hostile", "", linked()).to_bytes()
        case "an escape":
            return OrderResult("ok", "hostile", "", wire.packed({"../../escaped": b"x"})).to_bytes()
        case "half a record":
            files["tcp.bin"] = files["tcp.bin"][:-7]
        case "an error":
            raise ValueError("\x1b[31mred")
        case "a death" if mark(Path(marks) / str(order.boot.seed)):
            os._exit(1)
    return OrderResult("ok", "honest", "", wire.packed(files), b"a console\n").to_bytes()


def mark(path: Path) -> bool:
    """Make a file; return whether it is new."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def linked() -> bytes:
    """Return an archive with a symbolic link."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        about = tarfile.TarInfo("tcp.bin")
        about.type, about.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(about)
    return stream.getvalue()


def wait_for_nobody(marks: str, _message: bytes, topic: str, number: int) -> Any:
    """Report progress until nobody waits for the answer; note begin and end in ``marks``."""
    report = worker._reporter(topic, number)
    (Path(marks) / "begun").touch()
    try:
        while True:
            report("boot", 0.0)
            time.sleep(0.1)
    except worker.Cancelled:
        (Path(marks) / "cancelled").touch()
        raise
