"""What a test of a kernel's own needs and what of it is missing, found in the text of the test.

``needs.toml`` has the programs and the options of the kernel's configuration that tests use, each
option with the words that tell of it. A test that is a compiled program has its source as text.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from guest.build import GuestKernel
from guest.selftests import FolderLists

GUEST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a guest finds programs of this machine."""

_NEEDS = Path(__file__).parent / "needs.toml"
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_OPTION = re.compile(r"^CONFIG_(\w+)=[ym]$", re.MULTILINE | re.ASCII)


@dataclass(frozen=True)
class OptionNeed:
    """An option of a kernel, with the words in a test's text that tell that the test needs it.

    ``tests`` are patterns of names of tests that need it whatever their text is.
    """

    option: str
    words: re.Pattern[str] | None
    tests: tuple[str, ...]

    def is_of(self, name: str, text: str) -> bool:
        """Tell whether a test needs it."""
        told = self.words is not None and self.words.search(text) is not None
        return told or any(fnmatchcase(name, pattern) for pattern in self.tests)


@dataclass(frozen=True)
class Needs:
    """What tests may need: programs with their Debian packages, and options of the kernel."""

    programs: Mapping[str, str]
    options: tuple[OptionNeed, ...]


@functools.cache
def listed() -> Needs:
    """Return what ``needs.toml`` lists."""
    content = tomllib.loads(_NEEDS.read_text(encoding="utf-8"))
    options = tuple(
        OptionNeed(
            one["option"],
            re.compile("|".join(one["words"])) if one.get("words") else None,
            tuple(one.get("tests", ())),
        )
        for one in content["options"]
    )
    return Needs(content["programs"], options)


def options_of(kernel: GuestKernel) -> frozenset[str]:
    """Return the options that a built kernel has, without CONFIG_; empty if that is not known."""
    try:
        text = (kernel.linux.parent / "config").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    return frozenset(_OPTION.findall(text))


@dataclass(frozen=True)
class Machine:
    """What is here for tests: options of the guest's kernel, and a search for programs.

    ``program`` returns the path of a program that guests find, None without one.
    """

    options: frozenset[str]
    program: Callable[[str], str | None]

    def missing(self, name: str, text: str, folder: FolderLists) -> Iterator[str]:
        """Yield what a test with that text lacks here."""
        text = _COMMENT.sub("", text)
        for generated, lack in folder.lacking.items():
            if _mentions(text, generated):
                yield lack or f"{generated} (which does not compile)"
        for need in listed().options:
            if need.option not in self.options and need.is_of(name, text):
                yield f"CONFIG_{need.option}"
        for program in listed().programs:
            if self.program(program) is None and _calls(text, program):
                yield program


def packages(lacks: Mapping[str, int] | tuple[str, ...]) -> list[str]:
    """Return the Debian packages of the missing programs among what is missing."""
    known = listed().programs
    return list(dict.fromkeys(known[lack] for lack in lacks if known.get(lack)))


@functools.cache
def _call_of(program: str) -> re.Pattern[str]:
    before, after = r"(?:^|[\s;|&(`\"'!])", r"(?=[\s;)`\"'|&]|$)"
    return re.compile(before + re.escape(program) + after, re.MULTILINE)


def _calls(text: str, program: str) -> bool:
    """Tell whether a script has the word of a program where a command can stand."""
    return _call_of(program).search(text) is not None


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None
