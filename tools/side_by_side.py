"""Runs commands in parallel and gives one verdict: ``side_by_side.py VERDICT NAME=COMMAND...``.

It prints one line when a command ends. When all have ended, it prints the output of the failed
ones. ``--show NAME`` prints a command's last lines also when it succeeded. Each command is a line
of bash. Status 1: at least one failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO

_POLL_S = 0.1
_LAST_LINES = 25


@dataclass
class Task:
    """One command that runs."""

    name: str
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    began_s: float

    def said(self) -> str:
        """Return all that the command has printed."""
        self.output.seek(0)
        return self.output.read().decode(errors="replace")


def start(name: str, command: str, output: IO[bytes]) -> Task:
    """Start a command whose output goes to that file."""
    process = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    return Task(name, process, output, time.monotonic())


def as_they_end(parts: Sequence[Task]) -> Iterator[Task]:
    """Yield each part when its command has ended."""
    running = list(parts)
    while running:
        time.sleep(_POLL_S)
        for part in [task for task in running if task.process.poll() is not None]:
            running.remove(part)
            yield part


def run(verdict: str, commands: Sequence[tuple[str, str]], shown: Sequence[str]) -> int:
    """Run the commands, print their results, and return the exit status."""
    began_s = time.monotonic()
    with ExitStack() as files:
        parts = [
            start(name, command, files.enter_context(tempfile.TemporaryFile()))
            for name, command in commands
        ]
        try:
            for part in as_they_end(parts):
                word = "FAILED" if part.process.returncode else "passed"
                print(f"{part.name}: {word}, {time.monotonic() - part.began_s:.0f} s", flush=True)
        except KeyboardInterrupt:
            for part in parts:  # Ctrl-C has reached the commands, too
                part.process.wait()
            print(f"{verdict}: interrupted")
            return 130
        failed = [part for part in parts if part.process.returncode]
        for part in parts:
            if part in failed:
                print(f"\n---- {part.name} ----\n{part.said()}")
            elif part.name in shown:
                print("\n".join(part.said().splitlines()[-_LAST_LINES:]))
    names = ", ".join(part.name for part in failed)
    outcome = f"FAILED: {names}" if failed else "passed"
    print(f"{verdict}: {outcome}, {time.monotonic() - began_s:.0f} s")
    return 1 if failed else 0


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="append", default=[], metavar="NAME")
    parser.add_argument("verdict")
    parser.add_argument("commands", nargs="+", metavar="NAME=COMMAND")
    given = parser.parse_args()
    commands = []
    for text in given.commands:
        name, separator, command = text.partition("=")
        if not separator:
            parser.error(f"{text}: NAME=COMMAND is wanted")
        commands.append((name, command))
    return run(given.verdict, commands, given.show)


if __name__ == "__main__":
    sys.exit(main())
