"""Copies of the modules' sources with other texts, to run a faulty or a different module."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from kmods import build
from kmods.catalogue import FOLDER

Change = tuple[str, str, str | None]
"""A text, what stands for it, and the only file in which it is replaced; None for all files."""


def changed(folder: Path, modules: Collection[str], changes: Iterable[Change]) -> Path:
    """Copy these modules and all headers with other texts; each must be in the sources."""
    texts = {
        path.relative_to(FOLDER): path.read_text(encoding="utf-8")
        for path in build.sources()
        if path.suffix != ".c" or path.name in modules
    }
    for old, new, file in changes:
        holding = [path for path, text in texts.items() if old in text]
        holding = [path for path in holding if file in (None, path.name)]
        assert holding, f"the modules have no {old!r}: adapt the test"
        for path in holding:
            texts[path] = texts[path].replace(old, new)
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder
