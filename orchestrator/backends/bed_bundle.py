"""Makes the bundle of byte code that a guest imports its modules from; see testbed/bundle.py.

It has the modules of the test bed, and those of the system's Python and Mininet that it imports.
Those of Python are left out when this program runs on another Python than the guest, whose program
is the system's ``/usr/bin/python3``. A guest imports what is left out from its own files.
"""

from __future__ import annotations

import importlib.util
import marshal
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from orchestrator.backends.bed_code import bed_code, compile_code
from orchestrator.protocol import BUNDLE

LIBRARY = (
    "__future__", "_weakrefset", "ast", "bisect", "cmd", "copyreg", "ctypes", "ctypes._endian",
    "dis", "distutils", "distutils.version", "enum", "hashlib", "heapq", "inspect", "json",
    "json.decoder", "json.encoder", "json.scanner", "linecache", "locale", "logging", "opcode",
    "pkgutil", "pty", "random", "re", "re._casefix", "re._compiler", "re._constants",
    "re._parser", "selectors", "signal", "socket", "string", "struct", "subprocess", "textwrap",
    "threading", "token", "tokenize", "traceback", "tty", "typing", "weakref",
)  # fmt: skip
"""What a bed imports of Python's library, itself or through Mininet."""

MININET = ("cli", "link", "log", "moduledeps", "net", "node", "nodelib", "term", "util")
_MININET_FOLDER = Path("/usr/lib/python3/dist-packages/mininet")
_SYSTEM = Path("/usr/lib")

_HEADER_BYTES = 16
"""Of a .pyc file (PEP 552): magic, flags, and the source's time of change and size."""

Module = tuple[bool, str, bytes]
"""Whether it is a package, its file (relative for the bed's own), and its byte code."""


def prepare() -> None:
    """Make the bundle now, so that ``write`` need not."""
    _content()


def write(folder: Path) -> None:
    """Write the bundle into the input folder of a guest."""
    (folder / BUNDLE).write_bytes(_content())


@cache
def _content() -> bytes:
    compile_code()
    return marshal.dumps((importlib.util.MAGIC_NUMBER, dict(_all())))


def _all() -> Iterator[tuple[str, Module]]:
    for source, target in bed_code():
        if source.suffix == ".py":
            yield from _module(source, target, target.removesuffix(".py").replace("/", "."))
    library = Path(sysconfig.get_path("stdlib"))
    if _SYSTEM in library.parents:
        for name in LIBRARY:
            source = library / name.replace(".", "/")
            source = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
            yield from _module(source, str(source), name)
    for source in (_MININET_FOLDER / f"{name}.py" for name in ("__init__", *MININET)):
        yield from _module(source, str(source), f"mininet.{source.stem}")


def _module(source: Path, target: str, name: str) -> Iterator[tuple[str, Module]]:
    """Yield a module's name and content, if there is byte code of its present source."""
    try:
        status = source.stat()
        content = Path(importlib.util.cache_from_source(source)).read_bytes()
    except OSError:
        return
    made_of = int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF
    expected = (
        importlib.util.MAGIC_NUMBER
        + b"\0\0\0\0"
        + b"".join(value.to_bytes(4, "little") for value in made_of)
    )
    if content[:_HEADER_BYTES] != expected:
        return
    is_package = source.name == "__init__.py"
    yield name.removesuffix(".__init__"), (is_package, target, content[_HEADER_BYTES:])
