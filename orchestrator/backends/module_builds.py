"""Builds a user's module on each guest kernel that is here, to see what the compiler says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import kmods.build
from guest import build
from kmods import catalogue
from orchestrator.errors import ModuleError
from orchestrator.sandbox import building


@dataclass(frozen=True)
class BuiltOn:
    """How a module was built on a kernel.

    ``messages`` are the compiler's warnings, or why it ``failed``.
    """

    release: str
    failed: bool
    messages: list[str]


def built_everywhere(folder: Path) -> Iterator[BuiltOn]:
    """Build a folder's module on each kernel in the cache, in the sandbox of builds; keep nothing.

    They are in the order of their releases, each release once.

    Raises:
        FolderError: the folder holds no module.
        MachineError: this machine cannot build modules.
    """
    sources = catalogue.read(folder)
    kernels = {kernel.release: kernel for kernel in build.built()}
    for release, kernel in sorted(kernels.items()):
        try:
            found = kmods.build.warnings_of(kernel, sources, building.compile_confined)
        except ModuleError as error:
            yield BuiltOn(release, True, str(error).splitlines())
        else:
            yield BuiltOn(release, False, found)
