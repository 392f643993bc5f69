"""A guest imports what it needs from the bundle, and no file of a module is opened for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.guest.conftest import Run

pytestmark = pytest.mark.guest

HOOK = """
import sys
from orchestrator.testbed.bundle import Bundle

read = [
    name
    for name, module in sys.modules.items()
    if (getattr(module, "__file__", None) or "").endswith(".py")
    and not isinstance(module.__loader__, Bundle)
]
raise RuntimeError("read: " + " ".join(sorted(read)))
"""

BEFORE = {
    "__future__", "__main__", "_collections_abc", "collections", "collections.abc", "contextlib",
    "encodings", "encodings.aliases", "encodings.utf_8", "functools", "importlib",
    "importlib._abc", "keyword", "operator", "orchestrator", "orchestrator.protocol",
    "orchestrator.testbed", "orchestrator.testbed.bundle", "reprlib", "types", "warnings",
}  # fmt: skip
"""What Python and the first lines of the bed import, before there is a bundle."""

FROZEN = {
    "_frozen_importlib", "_frozen_importlib_external", "abc", "codecs", "genericpath",
    "importlib._bootstrap", "importlib._bootstrap_external", "importlib.machinery",
    "importlib.util", "io", "os", "os.path", "posixpath", "runpy", "site", "stat", "zipimport",
}  # fmt: skip
"""What is part of the program python3."""

HOOK_ITSELF = "<run_path>"


def test_all_other_modules_come_from_the_bundle(run: Run, tmp_path: Path) -> None:
    hook = tmp_path / "hook.py"
    hook.write_text(HOOK, encoding="utf-8")
    document = run("duration=20s", hook=hook)
    said, *_log = [line for line in document["error"].splitlines() if "read: " in line]
    read = {
        name
        for name in said.split("read: ")[1].split()
        if name not in BEFORE | FROZEN | {HOOK_ITSELF}
    }
    assert not read
    assert "orchestrator.testbed" in said
