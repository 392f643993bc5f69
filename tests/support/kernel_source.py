"""A kernel source of a few lines as a tarball, and a patch that applies to it."""

from __future__ import annotations

import tarfile
from pathlib import Path

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
