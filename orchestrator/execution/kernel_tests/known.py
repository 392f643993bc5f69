"""Failures of tests that are known and why; ``known.toml`` lists them."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

_KNOWN = Path(__file__).parent / "known.toml"


@dataclass(frozen=True)
class KnownFailure:
    """A test that fails on kernels whose release fits one of the patterns, and the reason.

    ``hangs`` tells that it would never end.
    """

    test: str
    kernels: tuple[str, ...]
    reason: str
    hangs: bool = False


@functools.cache
def listed() -> tuple[KnownFailure, ...]:
    """Return all known failures, in the order of the file."""
    content = tomllib.loads(_KNOWN.read_text(encoding="utf-8"))
    return tuple(
        KnownFailure(
            one["test"], tuple(one.get("kernels", ("*",))), one["reason"], one.get("hangs", False)
        )
        for one in content.get("known", [])
    )


def reason_of(test: str, release: str) -> str | None:
    """Return why the failure of a test is known on a kernel; None for one that is not."""
    found = _of(test, release)
    return None if found is None else found.reason


def hangs(test: str, release: str) -> bool:
    """Tell whether a test is known to hang on a kernel."""
    found = _of(test, release)
    return found is not None and found.hangs


def _of(test: str, release: str) -> KnownFailure | None:
    for known in listed():
        is_its_kernel = any(fnmatchcase(release, pattern) for pattern in known.kernels)
        if is_its_kernel and fnmatchcase(test, known.test):
            return known
    return None
