"""Measures how far another machine's clocks are ahead of ours, by the shortest round trip."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass

import asyncssh

from orchestrator.errors import RemoteError

ROUNDS = 30
READER = (
    "import sys, time\n"
    "for line in sys.stdin:\n"
    "    print(time.monotonic_ns(), time.time_ns(), flush=True)\n"
)
"""A program that answers each line with its monotonic and wall-clock time, in ns."""


@dataclass(frozen=True)
class ClockOffset:
    """How far another machine's clocks are ahead of ours, in nanoseconds.

    ``at_ns`` is the time of the measurement on our monotonic clock. The true offsets differ by at
    most ``uncertainty_ns``, half of the shortest round trip. The reason is that every reading took
    place within its round trip.
    """

    monotonic_ns: int
    realtime_ns: int
    uncertainty_ns: int
    at_ns: int


async def round_trip(process: asyncssh.SSHClientProcess[bytes], who: object) -> ClockOffset:
    """Read the clocks once through a running READER on the machine ``who``.

    Raises:
        RemoteError: the answer is missing or malformed.
    """
    sent_ns, sent_wall_ns = time.monotonic_ns(), time.time_ns()
    with contextlib.suppress(BrokenPipeError):  # it has ended; its error output says why
        process.stdin.write(b"\n")
    readings = (await process.stdout.readline()).split()
    came_ns = time.monotonic_ns()
    if len(readings) != 2:
        error_lines = (await process.stderr.read()).decode(errors="replace").strip().splitlines()
        raise RemoteError(
            f"{who}: its clock cannot be read: {error_lines[-1] if error_lines else 'no answer'}"
        )
    half_ns = (came_ns - sent_ns) // 2
    monotonic_ns, realtime_ns = map(int, readings)
    return ClockOffset(
        monotonic_ns - sent_ns - half_ns, realtime_ns - sent_wall_ns - half_ns, half_ns + 1, sent_ns
    )
