"""Cause faults at random moments of ``orchestrator run``, and check the state after each.

Whatever is killed or full, the store stays sound and no run is half stored. ``--resume`` leads to
the digests of an undisturbed run. After that nothing is left but the results.
"""

from __future__ import annotations

import functools
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.sandbox import orphans as sandbox_orphans
from orchestrator.testbed.kernel import system
from tests.faults import machine

SCENARIO = Path(__file__).parent / "scenario.yaml"
PROGRAM = Path(sys.executable).parent / "orchestrator"
_ROOT = Path(__file__).resolve().parents[2]
_TIMEOUT_S = 120.0
_ROOM = "64m"
_SMALL_BYTES = {"store": (100_000, 350_000), "temporary": (4_000, 150_000)}
"""Sizes of file systems that are too small for the scenario, but for the largest of them."""


@dataclass
class Outcome:
    """The result of one try: the number of runs of the disturbed command in each state."""

    statuses: Counter[str]
    problems: list[str] = field(default_factory=list)
    late: bool = False  # the command had ended before the fault


@dataclass(frozen=True)
class Ended:
    """The exit status of a command, and its output."""

    status: int
    document: dict[str, Any] | None
    errors: str


class Try:
    """One try in a folder of its own, with a store and a TMPDIR."""

    def __init__(self, folder: Path, options: tuple[str, ...] = ()) -> None:
        self.store, self.temporary = folder / "store", folder / "temporary"
        self.store.mkdir()
        self.temporary.mkdir()
        self.db = self.store / "runs.db"
        self.options = options

    @contextmanager
    def command(self, *more: str) -> Iterator[subprocess.Popen[str]]:
        """Start ``orchestrator run`` of the scenario; it must have ended at the end.

        It prints to files, because nobody reads a pipe until ``result`` does. Its document is
        larger than a pipe.
        """
        words = [str(PROGRAM), "run", str(SCENARIO), "--db", str(self.db), "--jobs", "2"]
        with (
            tempfile.TemporaryFile("w+") as output,
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                [*words, "--quiet", "--json", *self.options, *more],
                env={**os.environ, "TMPDIR": str(self.temporary), "PYTHONPATH": str(_ROOT)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                text=True,
            ) as process,
        ):
            process.stdout, process.stderr = output, errors
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def result(self, process: subprocess.Popen[str]) -> Ended:
        """Wait for the end of a command."""
        process.wait(timeout=_TIMEOUT_S)
        assert process.stdout is not None
        assert process.stderr is not None
        for file in (process.stdout, process.stderr):
            file.seek(0)
        output, errors = process.stdout.read(), process.stderr.read()
        return Ended(process.returncode, json.loads(output) if output else None, errors)

    def run(self, *more: str) -> Ended:
        """Run the scenario undisturbed."""
        with self.command(*more) as process:
            return self.result(process)


def victims(kind: str, controller: int) -> list[int]:
    """Return the processes of a running command that a fault of this kind kills."""
    below = machine.descendants(controller)
    reaper = [
        pid
        for pid in machine.children(controller)
        if machine.name_of(pid) == machine.name_of(controller) and machine.leads_a_session(pid)
    ]
    if kind == "everything":
        return [controller, *below] if reaper else []
    if kind == "controller and crash reaper":
        return [controller, *reaper] if reaper else []
    if kind == "controller":
        return [controller]
    if kind == "crash reaper":
        return reaper
    name = {"guest": "linux", "bwrap": "bwrap"}[kind]
    return [pid for pid in below if machine.name_of(pid) == name][:1]


KILLS = (
    "controller",
    "crash reaper",
    "guest",
    "bwrap",
    "controller and crash reaper",
    "everything",
)


class Campaign:
    """Tries of faults in ``folder``; the random moments come from ``seed``."""

    def __init__(self, folder: Path, seed: int) -> None:
        """Run the scenario once undisturbed, for the digests that every try must give."""
        self.folder, self.random, self._count = folder, random.Random(seed), 0
        machine.adopt_orphans()
        reference = self.new_try()
        began = time.monotonic()
        ended = reference.run()
        self.wall_s = time.monotonic() - began
        if ended.status or ended.document is None:
            raise RuntimeError(f"the undisturbed run ended with {ended.status}: {ended.errors}")
        self.digests = [run["digest"] for run in ended.document["runs"]]

    def new_try(self, options: tuple[str, ...] = ()) -> Try:
        """Make the place of the next try."""
        self._count += 1
        folder = self.folder / str(self._count)
        folder.mkdir()
        return Try(folder, options)

    def kill(self, kind: str, options: tuple[str, ...] = ()) -> Outcome:
        """Kill the processes that ``kind`` names at a random moment of a run."""
        trial = self.new_try(options)
        before = machine.Traces.look(trial.temporary)
        with trial.command() as process:
            # A fault comes at any moment, not when something can be observed.
            time.sleep(self.random.uniform(0, self.wall_s))
            killed = 0
            while not killed and process.poll() is None:
                killed = machine.kill(victims(kind, process.pid))
            ended = trial.result(process)
        outcome = self.examine(trial, before)
        outcome.late = not killed
        if "unexpected" in ended.errors or "Traceback" in ended.errors:
            outcome.problems.append(f"it said: {ended.errors}")
        if killed and not ended.status and kind in ("guest", "bwrap"):
            stored = outcome.statuses["ok"] == len(self.digests)  # it had all but ended
            outcome.problems += [] if stored else ["a killed guest was no fault"]
        if kind == "crash reaper" and ended.status not in (0, 1):
            outcome.problems.append(f"without a crash reaper it ended with {ended.status}")
        return outcome

    def full_disk_message(self, which: str) -> Outcome:
        """Run with a file system that is too small for the store or for temporary files."""
        trial = self.new_try()
        place = trial.store if which == "store" else trial.temporary
        size = self.random.randrange(*_SMALL_BYTES[which])
        with mounted(place, f"size={size}"):
            before = machine.Traces.look(trial.temporary)
            ended = trial.run()
            said = "cannot write the results database" if which == "store" else "disk is full"
            problems = []
            if ended.status == 0 and ended.document is not None:
                problems = self.compare(ended)
            elif said not in ended.errors and said not in json.dumps(ended.document):
                problems = [f"with {size} bytes it said: {ended.errors} {ended.document}"[:2000]]
            remount(place, f"size={_ROOM}")
            outcome = self.examine(trial, before)
        outcome.problems += problems
        return outcome

    def read_only(self) -> Outcome:
        """Run with a store in a file system that cannot be written."""
        trial = self.new_try()
        before = machine.Traces.look(trial.temporary)
        with mounted(trial.store, f"size={_ROOM}"):
            shutil.copy(self.folder / "1" / "store" / "runs.db", trial.db)
            remount(trial.store, "", read_only=True)
            ended = trial.run()
            problems = []
            if ended.status != 1 or "cannot write the results database" not in ended.errors:
                problems = [f"read-only it ended with {ended.status}: {ended.errors}"]
            remount(trial.store, "")
            outcome = self.examine(trial, machine.Traces.look(trial.temporary))
        outcome.problems += problems + machine.Traces.look(trial.temporary).since(before)
        return outcome

    def two_controllers(self) -> Outcome:
        """Run the scenario twice at a time into one store, and kill all of one of them."""
        trial = self.new_try()
        before = machine.Traces.look(trial.temporary)
        with trial.command() as first, trial.command() as second:
            # At any moment; twice as long, as each has half of the machine.
            time.sleep(self.random.uniform(0, 2 * self.wall_s))
            while first.poll() is None:
                if machine.kill(victims("controller and crash reaper", first.pid)):
                    break
            trial.result(first)
            ended = trial.result(second)
        problems = self.compare(ended)
        outcome = self.examine(trial, before)
        outcome.problems += problems
        return outcome

    def examine(self, trial: Try, before: machine.Traces) -> Outcome:
        """Run ``--resume`` after a disturbed command, and return the outcome."""
        # The next start ends those, so they are no problem before it.
        orphans = machine.remaining_orphans(but=sandbox_orphans.find)
        # A command may be killed before it has made the store.
        outcome = self._stored(trial.db) if trial.db.exists() else Outcome(Counter())
        outcome.problems += orphans
        resumed = trial.run("--resume")
        outcome.problems += [f"--resume: {problem}" for problem in self.compare(resumed)]
        outcome.problems += machine.remaining_orphans()
        outcome.problems += machine.Traces.look(trial.temporary).since(before)
        return outcome

    def compare(self, ended: Ended) -> list[str]:
        """Return in what a command's results differ from those of an undisturbed run."""
        digests = [run["digest"] for run in ended.document["runs"]] if ended.document else []
        if ended.status == 0 and digests == self.digests:
            return []
        return [f"it ended with {ended.status}, digests {digests}: {ended.errors}"]

    def _stored(self, db: Path) -> Outcome:
        connection = sqlite3.connect(db)
        try:
            (sound,) = connection.execute("PRAGMA integrity_check").fetchone()
            rows = connection.execute("SELECT run, status, digest, variant FROM runs").fetchall()
            half = [
                f"{count} rows of {table} are of runs that are not ok"
                for table in ("flows", "queues", "tcp_samples", "queue_samples", "metrics")
                if (count := _rows_of_others(connection, table))
            ]
        except sqlite3.DatabaseError as error:
            return Outcome(Counter(), [] if "no such table" in str(error) else [f"store: {error}"])
        finally:
            connection.close()
        problems = [] if sound == "ok" else [f"integrity_check: {sound}"]
        wrong = [row for row in rows if row[1] == "ok" and row[2] not in self.digests]
        problems += [f"run {key} has another digest: {digest}" for key, _ok, digest, _v in wrong]
        # A run without an owner that lives counts as interrupted; the next start writes it down.
        states = Counter("interrupted" if row[1] == "running" else row[1] for row in rows)
        return Outcome(states, problems + half)


def _rows_of_others(connection: sqlite3.Connection, table: str) -> int:
    query = f"SELECT count(*) FROM {table} WHERE run IN (SELECT run FROM runs WHERE status != 'ok')"
    (count,) = connection.execute(query).fetchone()
    return int(count)


@contextmanager
def mounted(place: Path, options: str) -> Iterator[None]:
    """Mount a small file system in the campaign's own mount namespace."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "faults", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def remount(place: Path, options: str, read_only: bool = False) -> None:
    """Change a mounted file system; mount(8) would repeat options that a user may not give."""
    flags = system.MS_REMOUNT | (system.MS_RDONLY if read_only else 0)
    system.mount("faults", str(place), "tmpfs", flags, options)


_UNCONFINED = "kill -9 controller and crash reaper (unconfined)"
MOUNTING = ("store disk full", "temporary disk full", "store read-only")
"""Kinds of faults that mount a file system."""
KINDS = (*(f"kill -9 {kind}" for kind in KILLS), _UNCONFINED, "two controllers", *MOUNTING)
"""Every kind of fault."""


def faults(campaign: Campaign) -> dict[str, Callable[[], Outcome]]:
    """Return the function that makes one try of each kind of fault, by the kind's name."""
    pair = "controller and crash reaper"
    return {
        **{f"kill -9 {kind}": functools.partial(campaign.kill, kind) for kind in KILLS},
        _UNCONFINED: lambda: campaign.kill(pair, ("--unconfined",)),
        "two controllers": campaign.two_controllers,
        "store disk full": lambda: campaign.full_disk_message("store"),
        "temporary disk full": lambda: campaign.full_disk_message("temporary"),
        "store read-only": campaign.read_only,
    }
