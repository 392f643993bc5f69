"""Measures commands side by side, and keeps results by theme in ``bench/results.json``."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import background_load

ROOT = Path(__file__).parents[1]
ORCHESTRATOR = Path(sys.executable).parent / "orchestrator"
RESULTS = Path(__file__).parent / "results.json"
SCHEMA = 1


@dataclass
class Command:
    """One command of a theme, measured ``rounds`` times.

    ``kept`` gets its output after each call. ``cold`` commands are not run once before.
    """

    name: str
    words: Sequence[str]
    rounds: int
    kept: Callable[[str], None] | None = None
    cold: bool = False
    seconds: list[float] = field(default_factory=list, init=False)

    def run(self, measured: bool = True) -> None:
        """Run it to its end.

        Raises:
            SystemExit: it failed.
        """
        began = time.perf_counter()
        done = subprocess.run(list(self.words), capture_output=True, text=True, check=False)
        taken_s = time.perf_counter() - began
        if done.returncode:
            raise SystemExit(f"{self.name}: exit {done.returncode}\n{done.stderr or done.stdout}")
        if measured:
            self.seconds.append(taken_s)
        if self.kept is not None:
            self.kept(done.stdout)


def side_by_side(commands: Sequence[Command]) -> None:
    """Run every command once a round, so that a busy machine slows all of them.

    A round before the first warms the caches. A command that has had its rounds is left out.
    """
    for command in commands:
        if not command.cold:
            command.run(measured=False)
    for number in range(max((command.rounds for command in commands), default=0)):
        for command in commands:
            if number < command.rounds:
                command.run()
                say(f"{command.name}: {command.seconds[-1]:.2f} s")


def say(text: str) -> None:
    """Tell what happens, on standard error."""
    print(text, file=sys.stderr, flush=True)


def run_words(scenario: Path, db: Path, *more: str) -> list[str]:
    """Return the command that runs a scenario and stores its runs."""
    return [str(ORCHESTRATOR), "run", str(scenario), "--quiet", "--json", "--db", str(db), *more]


def spread(seconds: Sequence[float]) -> dict[str, Any]:
    """Return the values, JSON-ready, with minimum, median and maximum."""
    return {
        "min": round(min(seconds), 4),
        "median": round(statistics.median(seconds), 4),
        "max": round(max(seconds), 4),
        "all": [round(value, 4) for value in seconds],
    }


def machine() -> dict[str, Any]:
    """Return what the machine is, and how busy it is now: processes that want a processor."""
    return {
        "cpu": cpu_model(),
        "cpus": os.cpu_count(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def cpu_model(file: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name, or the machine's architecture where the file has none."""
    for line in file.read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def parser(description: str | None, rounds: int) -> argparse.ArgumentParser:
    """Return the options that all benchmarks have."""
    made = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    made.add_argument("--rounds", type=int, default=rounds, help=f"rounds (default: {rounds})")
    made.add_argument("--quick", action="store_true", help="one round, without the long cases")
    made.add_argument("--results", type=Path, default=RESULTS, help="file that gets the results")
    return made


class Clock:
    """The machine's state when a theme began, and what others took since, for its record."""

    def __init__(self) -> None:
        self.machine = machine()
        self.began = background_load.cpu_times()

    def keep(self, file: Path, theme: str, results: Mapping[str, Any]) -> None:
        """Write a theme's results to the file, and leave those of others as they are."""
        now = background_load.cpu_times()
        about = {
            "date": f"{datetime.now(UTC):%Y-%m-%d}",
            "took_s": round(now.at_s - self.began.at_s),
            "machine": self.machine,
            "others": background_load.between(self.began, now),
        }
        known = read(file)
        known["themes"][theme] = {**about, **results}
        text = json.dumps(known, indent=1, sort_keys=True) + "\n"
        file.write_text(text, encoding="utf-8")


def read(file: Path) -> dict[str, Any]:
    """Return the results of all themes so far.

    Raises:
        SystemExit: the file is of another version of this program.
    """
    if not file.exists():
        return {"schema": SCHEMA, "themes": {}}
    known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if known.get("schema") != SCHEMA:
        raise SystemExit(f"{file} has schema {known.get('schema')}, and not {SCHEMA}: remove it")
    return known
