"""A kernel source of a few lines as a tarball, and a patch that applies to it."""

from __future__ import annotations

import tarfile
from pathlib import Path

from guest import build, build_steps
from guest.build import GuestKernel
from guest.build_steps import Progress
from guest.choice import DEFAULT, KernelChoice
from guest.confinement import unconfined

PATCH = """Why.

--- a/Makefile
+++ b/Makefile
@@ -1 +1 @@
-HZ = 100
+HZ = 250
"""


def pack(tree: Path) -> Path:
    """Pack a tree beside itself; return the tarball."""
    tarball = tree.parent / "linux.tar.xz"
    with tarfile.open(tarball, "w:xz") as archive:
        archive.add(tree, "linux-6.12")
    return tarball


def ensure(progress: Progress = build_steps.silent, choice: KernelChoice = DEFAULT) -> GuestKernel:
    """Return a kernel as ``build.ensure``, whose steps have all rights."""
    return build.ensure(unconfined, progress, choice)
