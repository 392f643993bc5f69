"""Compares whole outputs with files, and writes these files anew on demand.

``RENEW_GOLDEN=1 pytest ...`` writes the files of the tests that it runs. Each of these tests then
fails, so that a renewed file is looked at before anything passes.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import Result

RENEW = "RENEW_GOLDEN"

_RUN = re.compile(r"\b[0-9]{8}-[0-9]{6}-[0-9a-f]{4}\b")
_IDENTITY = re.compile(r"(?<=@)[0-9a-f]{8}\b")
_SPEED = re.compile(r", [0-9.e+]+ times real time(, about [0-9]+ (s|min) left)?")
_TIME = re.compile(r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?")


def same_each_time(text: str) -> str:
    """Return a text without what differs from run to run: ids, hashes, times and speeds."""
    text = _SPEED.sub(", N times real time", text)
    runs = {run: f"20000101-000000-{number:04}" for number, run in _numbered(_RUN, text)}
    text = _TIME.sub("2000-01-01 00:00", _RUN.sub(lambda found: runs[found[0]], text))
    names = {name: f"{number:08}" for number, name in _numbered(_IDENTITY, text)}
    return _IDENTITY.sub(lambda found: names[found[0]], text)


def _numbered(pattern: re.Pattern[str], text: str) -> list[tuple[int, str]]:
    return list(enumerate(dict.fromkeys(pattern.findall(text)), start=1))


def transcript(words: Sequence[str], result: Result) -> str:
    """Return a command as a reader of a terminal sees it: all that it printed, and its status."""
    errors = "".join(f"! {line}\n" for line in result.stderr.splitlines())
    command = f"$ orchestrator {shlex.join(words)}\n"
    return f"{command}{result.stdout}{errors}(status {result.exit_code})\n\n"


def check(path: Path, text: str) -> None:
    """Fail unless the file has this text, without spaces at the ends of lines."""
    shown = "".join(f"{line.rstrip()}\n" for line in same_each_time(text).splitlines())
    if os.environ.get(RENEW):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")
        pytest.fail(f"{path} was written anew: look at `git diff`, and run without {RENEW}")
    assert path.is_file(), f"{path} is missing; {RENEW}=1 writes it"
    assert shown == path.read_text(encoding="utf-8"), (
        f"{path} has another text; if the new one is right, {RENEW}=1 writes it"
    )
