"""Byte code of the test bed: made once for all guests, and again after a change."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from orchestrator.backends import bed_code


def test_byte_code_is_made_for_what_has_changed(tmp_path: Path) -> None:
    """A file and a package get byte code; only that of a changed file is made again."""
    single, package = tmp_path / "single.py", tmp_path / "package"
    package.mkdir()
    inner = package / "inner.py"
    for source in (single, inner):
        source.write_text("value = 1\n", encoding="utf-8")
    bed_code.compile_code((single, package))
    made = {path: Path(importlib.util.cache_from_source(path)) for path in (single, inner)}
    first = {path: cached.stat().st_mtime_ns for path, cached in made.items()}
    inner.write_text("value = 22\n", encoding="utf-8")
    os.utime(inner, (1, 1))

    bed_code.compile_code((single, package))

    assert made[single].stat().st_mtime_ns == first[single]
    assert made[inner].stat().st_mtime_ns != first[inner]


def test_a_guest_imports_byte_code_of_every_module() -> None:
    """All modules of the bed have byte code, which a guest sees beside their sources."""
    bed_code.compile_code()

    for source, _name in bed_code.bed_code():
        if source.suffix == ".py":
            assert Path(importlib.util.cache_from_source(source)).is_file(), source
