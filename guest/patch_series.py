"""Which patches a kernel gets, by its series.

A file of ``patches`` was made for Linux 6.12. One of the same name in a folder there, such as
``patches/7.2``, is for that series. Where a series has none of its own, those of the nearest series
are tried: first the earlier ones, then the later ones. The first that applies is taken.

A required patch that does not apply is an error. An optional one is left out, which the manifest of
the built kernel tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PATCHES = Path(__file__).parent / "patches"

Series = tuple[int, int]
"""A kernel's version and patch level, such as (6, 12)."""

BASE: Series = (6, 12)
"""What the patches outside of the folders were made for."""

_OPTIONAL = re.compile(r"^Kind: optional\b", re.MULTILINE)


@dataclass(frozen=True)
class Patch:
    """A change of the kernel, with the files that make it, the most fitting one first."""

    name: str
    files: tuple[Path, ...]

    @property
    def is_required(self) -> bool:
        """Whether a kernel is of no use without it."""
        header, _, _change = self.files[0].read_text().partition("\n--- ")
        return not _OPTIONAL.search(header)

    @property
    def changes(self) -> str:
        """What all its files change, without their headers."""
        return "".join(file.read_text().partition("\n--- ")[2] for file in self.files)


def series_text(file: Path) -> str:
    """Return the series that a patch was made for, as in "6.12"."""
    return ".".join(map(str, series_of(file.parent.name) or BASE))


def fragments(base: Path, series: Series | None) -> str:
    """Return the configuration of a series: ``base``, and what is beside it for this and earlier.

    ``kernel-6.17.config`` beside ``kernel.config`` has what 6.17 and later have more.
    """
    wanted = BASE if series is None else series
    more = {
        since: file
        for file in base.parent.glob(f"{base.stem}-*{base.suffix}")
        if (since := series_of(file.stem.removeprefix(f"{base.stem}-"))) is not None
    }
    texts = [
        base.read_text(),
        *(more[since].read_text() for since in sorted(more) if since <= wanted),
    ]
    return "\n".join(texts)


def of_series(series: Series | None) -> list[Patch]:
    """Return the patches of a series in the order in which they are applied.

    A source whose series is not known gets those of 6.12.
    """
    wanted = BASE if series is None else series
    return [
        Patch(base.stem, tuple(_nearest(wanted, {BASE: base, **_variants(base)})))
        for base in sorted(PATCHES.glob("*.patch"))
    ]


def _variants(base: Path) -> dict[Series, Path]:
    return {
        series: file
        for file in base.parent.glob(f"*/{base.name}")
        if (series := series_of(file.parent.name)) is not None
    }


def _nearest(wanted: Series, files: dict[Series, Path]) -> Iterator[Path]:
    if wanted in files:
        yield files[wanted]
        return
    for series in sorted((one for one in files if one < wanted), reverse=True):
        yield files[series]
    for series in sorted(one for one in files if one > wanted):
        yield files[series]


def series_of(text: str) -> Series | None:
    """Return the series that a text such as "6.12" names; None if it names none."""
    match = re.fullmatch(r"(\d+)\.(\d+)", text)
    return None if match is None else (int(match[1]), int(match[2]))


def series_of_makefile(text: str) -> Series | None:
    """Return the series that a kernel's Makefile has at its begin; None without one."""
    found = dict(re.findall(r"^(VERSION|PATCHLEVEL) = (\d+)$", text, re.MULTILINE))
    if len(found) < 2:
        return None
    return int(found["VERSION"]), int(found["PATCHLEVEL"])
