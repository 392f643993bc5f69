"""Lists the tests of a kernel's tree and of a folder of packetdrill scripts."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from guest.selftests import PRELOADED, SELFTESTS, FolderLists, Selftests
from orchestrator.backends.guest.kernel_tests import FILES, GuestTest
from orchestrator.errors import UsageError
from orchestrator.execution.kernel_tests.model import KernelTest
from orchestrator.execution.kernel_tests.needs import Machine
from orchestrator.files.user_files import read
from orchestrator.suggestions import suggest

KERNEL, SCRIPTS = "kernel", "scripts"
"""Folders of the guest's tests: the parts of the kernel's tree, and the user's scripts."""

PACKETDRILL = "packetdrill"
_LIMIT_S = 45.0
"""Time of a test without settings: kselftest_default_timeout of kselftest/runner.sh."""
_MOST_SCRIPT_BYTES = 2**22
_MOST_SCRIPTS = 5000
_TIMEOUT = re.compile(r"^timeout=(\d{1,6})$", re.MULTILINE | re.ASCII)
_SPINNING = ("env", f"LD_PRELOAD={FILES}/{KERNEL}/{PRELOADED}")
_IPV4 = (
    "--ip_version=ipv4", "--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1",
    "--netmask_ip=255.255.0.0", "--remote_ip=192.0.2.1", "-D", "TFO_COOKIE=3021b9d889017eeb",
    "-D", "CODE=host_unreachable", "-D", "CMSG_LEVEL_IP=SOL_IP",
    "-D", "CMSG_TYPE_RECVERR=IP_RECVERR",
)  # fmt: skip
"""What packetdrill's own run_all.py passes for IPv4."""
_PT_INTERP = 3


@dataclass(frozen=True)
class Packetdrill:
    """The program packetdrill of this machine; ``lack`` tells why it is of no use."""

    path: Path | None
    lack: str = ""

    @classmethod
    def found(cls, path: str | None) -> Packetdrill:
        """Return what is at the path that PATH leads to.

        Raises:
            FileError: it cannot be read.
        """
        if path is None:
            return cls(None, PACKETDRILL)
        if not _is_dynamic(read(Path(path), 2**28)):
            # Its loop on times(2) would never end: see guest/spinning.c.
            return cls(None, f"{PACKETDRILL} that is linked dynamically")
        return cls(Path(path))


@dataclass(frozen=True)
class Catalogue:
    """All tests, and the folders of tests that the tree does not have."""

    tests: tuple[KernelTest, ...]
    not_there: tuple[str, ...] = field(default=())

    def only(self, patterns: tuple[str, ...]) -> Catalogue:
        """Return the tests whose name, or the last part of it, fits one of the patterns.

        Raises:
            UsageError: a pattern fits none.
        """
        if not patterns:
            return self
        for pattern in patterns:
            if not any(_fits(one.name, pattern) for one in self.tests):
                raise UsageError(_unknown(pattern, [one.name for one in self.tests]))
        kept = [one for one in self.tests if any(_fits(one.name, each) for each in patterns)]
        return Catalogue(tuple(kept), self.not_there)


def catalogue(
    selftests: Selftests, folders: tuple[str, ...], machine: Machine, drill: Packetdrill
) -> Catalogue:
    """Return the tests of a kernel's tree in those of its folders that it has."""
    tests = [one for lists in selftests.folders for one in _tests(selftests, lists, machine, drill)]
    have = {lists.folder for lists in selftests.folders}
    return Catalogue(tuple(tests), tuple(one for one in folders if one not in have))


def scripts(folder: Path, drill: Packetdrill) -> tuple[KernelTest, ...]:
    """Return the packetdrill scripts in a folder and below.

    Raises:
        UsageError: there is none, or there are too many.
    """
    found = sorted(path for path in folder.rglob("*.pkt") if path.is_file())
    if not found:
        raise UsageError(f"--scripts {folder}: no file *.pkt is in it or below")
    if len(found) > _MOST_SCRIPTS:
        raise UsageError(f"--scripts {folder}: it has more than {_MOST_SCRIPTS} scripts")
    lacks = (drill.lack,) if drill.lack else ()
    return tuple(
        KernelTest(
            f"{SCRIPTS}/{path.relative_to(folder)}",
            GuestTest(
                (*_SPINNING, PACKETDRILL, *_IPV4, path.name),
                str(Path(SCRIPTS) / path.parent.relative_to(folder)),
                _LIMIT_S,
            ),
            lacks,
        )
        for path in found
    )


def _tests(
    selftests: Selftests, lists: FolderLists, machine: Machine, drill: Packetdrill
) -> Iterator[KernelTest]:
    folder = selftests.root / SELFTESTS / lists.folder
    limit_s = _limit_s(folder / "settings")
    place = f"{KERNEL}/{SELFTESTS}/{lists.folder}"
    for test in lists.tests:
        name = f"{lists.folder}/{test}"
        if test.endswith(".pkt"):
            command = (*_SPINNING, "./ksft_runner.sh", f"./{test}")
            yield KernelTest(
                name, GuestTest(command, place, limit_s), (drill.lack,) if drill.lack else ()
            )
            continue
        if test in lists.lacking:
            missing = [lists.lacking[test] or f"{test} (which does not compile)"]
        else:
            missing = list(machine.missing(name, _text(folder, test), lists))
        guest = GuestTest(_command(folder / test), place, limit_s)
        yield KernelTest(name, guest, tuple(dict.fromkeys(missing)))


def _limit_s(settings: Path) -> float:
    if not settings.is_file():
        return _LIMIT_S
    match = _TIMEOUT.search(read(settings, _MOST_SCRIPT_BYTES).decode(errors="replace"))
    return float(match[1]) if match is not None and int(match[1]) else _LIMIT_S


def _text(folder: Path, test: str) -> str:
    """Return the text of a script; of a compiled program that of its source, if it has one."""
    source = folder / f"{test}.c"
    path = source if source.is_file() else folder / test
    if not path.is_file():
        return ""
    content = read(path, 2**26)
    return "" if content.startswith(b"\x7fELF") else content.decode(errors="replace")


def _command(path: Path) -> tuple[str, ...]:
    """Return the command of a test; a script that nobody may run is given to its interpreter."""
    if path.is_file() and not path.stat().st_mode & stat.S_IXUSR:
        first, _, _rest = path.read_bytes()[:200].partition(b"\n")
        if first.startswith(b"#!"):
            return (*first[2:].decode(errors="replace").split(), f"./{path.name}")
    return (f"./{path.name}",)


def _is_dynamic(content: bytes) -> bool:
    """Tell whether a program of x86-64 has an interpreter (PT_INTERP of elf(5)); a script has."""
    if not content.startswith(b"\x7fELF"):
        return True
    start = int.from_bytes(content[32:40], "little")
    size, number = (int.from_bytes(content[at : at + 2], "little") for at in (54, 56))
    heads = (content[start + size * index :][:4] for index in range(number))
    return any(int.from_bytes(head, "little") == _PT_INTERP for head in heads)


def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(os.path.basename(name), pattern)  # noqa: PTH119


def _unknown(pattern: str, names: list[str]) -> str:
    return f"--only {pattern}: no test fits{suggest(pattern, names)}"
