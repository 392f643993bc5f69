"""Imports modules from one file of byte code, because each file that a guest opens costs time.

A guest's process runs under ptrace. To import a module Python makes some thirteen system calls, and
a bed imports 200. ``orchestrator.backends.bed_code`` makes the bundle; a module that is not in it
is imported from its own file.
"""

from __future__ import annotations

import _frozen_importlib
import _imp
import contextlib
import marshal
import sys
from importlib.machinery import ModuleSpec
from importlib.util import MAGIC_NUMBER

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

_LOCKS = ("_ModuleLockManager", "_ImportLockContext")
"""The context managers by which Python's import system keeps threads from each other."""


class Bundle:
    """A finder and loader of modules: {name: (whether it is a package, its file, byte code)}."""

    def __init__(self, modules: Mapping[str, tuple[bool, str, bytes]]) -> None:
        self._modules = modules

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a module, or None if it is not in the bundle."""
        if name not in self._modules:
            return None
        is_package, file, _code = self._modules[name]
        spec = ModuleSpec(name, self, origin=file, is_package=is_package)  # type: ignore[arg-type]
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [file.rpartition("/")[0]]
        return spec

    def create_module(self, _spec: ModuleSpec) -> None:
        """Let the import system make the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's byte code."""
        _is_package, file, content = self._modules[module.__name__]
        code = marshal.loads(content)
        _imp._fix_co_filename(code, file)  # type: ignore[attr-defined]
        exec(code, module.__dict__)


def install(path: str, code_folder: str) -> None:
    """Import from the bundle at ``path`` first, if there is one of this version of Python.

    ``code_folder`` is where the bed's own files are, whose paths in the bundle are relative.
    """
    try:
        with open(path, "rb") as file:
            magic, modules = marshal.loads(file.read())
    except FileNotFoundError:
        return
    if magic != MAGIC_NUMBER:
        return
    placed = {
        name: (is_package, f if f[0] == "/" else f"{code_folder}/{f}", content)
        for name, (is_package, f, content) in modules.items()
    }
    sys.meta_path.insert(0, Bundle(placed))


@contextlib.contextmanager
def without_locks() -> Iterator[None]:
    """Return a context in which imports take no locks, while the process has one thread.

    Python takes about eight locks to import a module. Python 3.11 reads the clock for each, which
    is a system call in a guest.
    """
    # Another version of Python may have other managers. Then its imports take their locks.
    kept = {
        name: vars(_frozen_importlib)[name] for name in _LOCKS if name in vars(_frozen_importlib)
    }
    for name in kept:
        setattr(_frozen_importlib, name, contextlib.nullcontext)
    try:
        yield
    finally:
        for name, manager in kept.items():
            setattr(_frozen_importlib, name, manager)
