"""Runs a kernel's own tests in guests, one after another, and judges how each ended."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from guest import selftests as built
from guest.build import GuestKernel
from guest.selftests import Selftests
from orchestrator import plaintext
from orchestrator.backends.guest.kernel_tests import Ended, open_bench
from orchestrator.execution.kernel_tests import known, needs
from orchestrator.execution.kernel_tests.catalogue import (
    KERNEL,
    PACKETDRILL,
    SCRIPTS,
    Catalogue,
    Packetdrill,
    catalogue,
    scripts,
)
from orchestrator.execution.kernel_tests.model import KernelTest, Outcome, OwnResults, Result

TIMEOUT_S = 120.0
"""Wall time of a test, unless the user sets another one."""

KNOWN_TO_HANG_S = 20.0
"""Wall time of a test that is known to hang."""

_SKIPPED = 4
"""Exit status of a test that says itself that it cannot be tried (KSFT_SKIP)."""
_REASON_CHARS = 200
_NO_COMMAND = re.compile(
    r"(?:^|[\s:])([\w.+-]+): (?:command )?not found$"
    r"|exec of \"([\w.+-]+)\" failed: No such file"
    r"|SKIP: ([\w.+-]+) not installed",
    re.MULTILINE,
)
"""As shells, `ip netns exec` and lib.sh of the selftests tell of a program that is not there."""
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'", re.ASCII)

Watch = Callable[[int, int, Result | None, str], None]
"""Called before and after each test: its number from 1 on, how many there are, how it ended (None
before that), and its name."""


@dataclass(frozen=True)
class Selection:
    """Which tests are run, for at most how much wall time each.

    ``scripts`` is a folder of packetdrill scripts. ``only`` has patterns of names.
    """

    only: tuple[str, ...] = ()
    scripts: Path | None = None
    timeout_s: float = TIMEOUT_S


def list_tests(kernel: GuestKernel, selftests: Selftests, request: Selection) -> Catalogue:
    """Return the tests that are asked for, each with what it lacks on this machine.

    Raises:
        UsageError: no test fits a pattern, or a folder has no scripts.
        FileError: a test cannot be read.
    """
    drill = _packetdrill()
    machine = needs.Machine(
        needs.options_of(kernel), functools.partial(shutil.which, path=needs.GUEST_PATH)
    )
    found = catalogue(selftests, built.FOLDERS, machine, drill)
    if request.scripts is not None:
        more = scripts(request.scripts, drill)
        found = Catalogue((*found.tests, *more), found.not_there)
    return found.only(request.only)


def run_tests(
    kernel: GuestKernel,
    selftests: Selftests,
    request: Selection,
    watch: Watch = lambda _number, _all, _result, _name: None,
) -> OwnResults:
    """Run the tests that are asked for, and return how each ended.

    Raises:
        UsageError, FileError: as ``list_tests``.
        MachineError: this user cannot be confined here.
    """
    found = list_tests(kernel, selftests, request)
    files = {KERNEL: selftests.root}
    if request.scripts is not None:
        files[SCRIPTS] = request.scripts
    drill = _packetdrill().path
    programs = {} if drill is None else {PACKETDRILL: drill}
    results = []
    with open_bench(kernel, files, programs) as bench:
        for number, test in enumerate(found.tests, start=1):
            watch(number, len(found.tests), None, test.name)
            if test.lacks:
                result = Result(test.name, Outcome.LACKING, "", test.lacks)
            else:
                timeout_s = request.timeout_s
                if known.hangs(test.name, kernel.release):
                    timeout_s = min(timeout_s, KNOWN_TO_HANG_S)
                ended = bench.run(test.guest, timeout_s)
                result = judge(test, ended, timeout_s, kernel.release)
            results.append(result)
            watch(number, len(found.tests), result, test.name)
    return OwnResults(kernel.release, kernel.key, results, found.not_there)


def judge(test: KernelTest, ended: Ended, timeout_s: float, release: str) -> Result:
    """Return the result of a test by the way in which it ended."""
    outcome, reason, lacks = _outcome(test, ended, timeout_s)
    if outcome in (Outcome.FAILED, Outcome.TIMEOUT):
        why = known.reason_of(test.name, release)
        if why is not None:
            outcome, reason = Outcome.KNOWN, f"{why} ({reason})"
    return Result(
        test.name, outcome, reason, lacks, ended.wall_s, ended.simulated_s, ended.said.strip()
    )


def _outcome(
    test: KernelTest, ended: Ended, timeout_s: float
) -> tuple[Outcome, str, tuple[str, ...]]:
    if ended.how == "hung":
        return Outcome.TIMEOUT, f"it did not end within {timeout_s:g} s of wall time", ()
    if ended.how == "late":
        limit_s = test.guest.limit_s
        return Outcome.TIMEOUT, f"it did not end within {limit_s:g} s of the guest's time", ()
    if ended.how == "broken":
        return Outcome.FAILED, plaintext.one_line(ended.error), ()
    if ended.status == 0:
        return Outcome.OK, "", ()
    if (missing := _missing_commands(ended.said)) or ended.status == _SKIPPED:
        reason = "" if missing else _last_words(ended.said)
        return Outcome.LACKING, reason, missing
    if ended.status < 0:
        return Outcome.FAILED, f"ended by signal {-ended.status}", ()
    return Outcome.FAILED, f"exit status {ended.status}", ()


def _missing_commands(said: str) -> tuple[str, ...]:
    """Return the programs and Python modules that a test that failed did not find."""
    programs = [name for found in _NO_COMMAND.findall(said) for name in found if name]
    modules = [f"Python's {name}" for name in _NO_MODULE.findall(said)]
    return tuple(dict.fromkeys([*programs, *modules]))


def _last_words(said: str) -> str:
    """Return the line in which a test says why it cannot be tried: that with SKIP, or the last."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    skips = [line for line in lines if "SKIP" in line.upper()]
    line = next(iter(skips or lines[-1:]), "it does not say why")
    return plaintext.shortened(line, _REASON_CHARS)


def _packetdrill() -> Packetdrill:
    return Packetdrill.found(shutil.which(PACKETDRILL))
