"""The files of this project that a test bed needs, wherever it runs."""

from __future__ import annotations

import compileall
from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator.backends.remote.archive import files_of

PROJECT = Path(__file__).resolve().parents[2]
"""The folder that holds the package ``orchestrator``."""

_PACKAGE = PROJECT / "orchestrator"
PARTS = (_PACKAGE / "__init__.py", _PACKAGE / "protocol", _PACKAGE / "testbed")
"""One file and two packages; they import only the standard library, Mininet and each other."""


def bed_code() -> Iterator[tuple[Path, str]]:
    """Yield (path on this machine, path below a folder of the other's Python path) of each file."""
    for part in PARTS:
        name = part.relative_to(PROJECT).as_posix()
        if part.is_file():
            yield part, name
        else:
            yield from files_of(part, name)


def compile_code(parts: Sequence[Path] = PARTS) -> None:
    """Compile what has changed to byte code beside it, so that no guest does so at each boot.

    A guest of another Python version ignores it. A folder that cannot be written stays as it is.
    """
    for part in parts:
        if part.is_file():
            compileall.compile_file(part, quiet=2)
        else:
            compileall.compile_dir(part, quiet=2)
