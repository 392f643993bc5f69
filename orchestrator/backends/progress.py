"""Judges whether a test bed gets on, by what it says in its file ``progress``.

Only what leads to an end counts: the phases come in a known order, and while traffic runs,
simulated time has to grow towards the run's duration. A bed that is hostile or broken may write
to files for ever, so their growth counts only before traffic, and only for a while.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from orchestrator import plaintext
from orchestrator.backends.contract import WATCHDOG_S
from orchestrator.decode.output import malformed
from orchestrator.errors import BedError
from orchestrator.units import format_time

PHASES = ("boot", "setup", "probes", "traffic", "done")

LEAST_STEP_S = 1e-3
"""Less simulated time is no progress; a bed says where it is every 100 ms of it."""

GROWTH_WATCHDOGS = 10
"""For so many times the watchdog's patience, growing files count as progress before traffic."""

_TEXT_BYTES = 64
"""Of the file: a phase and a time of at most 20 digits, filled up with spaces to 48."""
_MOST_DIGITS = 20


def parsed(text: bytes, duration_s: float) -> tuple[str, float]:
    """Return the phase and the seconds of traffic so far; ``boot`` of a file that is empty yet.

    Raises:
        BedError: the words are not those that a bed writes.
    """
    words = text[:_TEXT_BYTES].split()
    if not words:
        return "boot", 0.0
    phase = words[0].decode("ascii", "replace")
    digits = words[1].decode("ascii", "replace") if len(words) == 2 else ""
    if phase not in PHASES or not digits.isdecimal() or len(digits) > _MOST_DIGITS:
        shown = plaintext.shortened(text.decode("utf-8", "replace").strip(), 60)
        raise malformed(
            f"progress is {shown!r}; a phase ({', '.join(PHASES)}) and nanoseconds are allowed"
        )
    simulated_s = int(digits) / 1e9
    if simulated_s > duration_s + LEAST_STEP_S:
        raise malformed(f"progress tells of {simulated_s:g} s of a run of {duration_s:g} s")
    return phase, simulated_s


@dataclass
class Headway:
    """Ends a bed that does not get on, or takes too long.

    Args:
        what: the bed in words, such as ``the guest``.
        duration_s: of the run's traffic.
        wall_s: wall time that the run may take.
        watchdog_s: wall time that may pass without progress.
        error: what is raised.
        clock: seconds of wall time.
    """

    what: str
    duration_s: float
    wall_s: float
    watchdog_s: float = WATCHDOG_S
    error: type[BedError] = BedError
    clock: Callable[[], float] = time.monotonic
    phase: str = field(default="boot", init=False)
    simulated_s: float = field(default=0.0, init=False)
    _counted_s: float = field(default=0.0, init=False)
    _written: int = field(default=0, init=False)
    _began_s: float = field(default=0.0, init=False)
    _moved_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._began_s = self._moved_s = self.clock()

    def take(self, phase: str, simulated_s: float, written_bytes: int) -> None:
        """Take what the bed says now, and how much it has written.

        Raises:
            BedError: as ``error``: no progress for ``watchdog_s``, or more than ``wall_s`` in all.
        """
        now_s = self.clock()
        if PHASES.index(phase) > PHASES.index(self.phase):
            self.phase, self._moved_s = phase, now_s
        self.simulated_s = max(self.simulated_s, simulated_s)
        if self.simulated_s >= self._counted_s + LEAST_STEP_S:
            self._counted_s, self._moved_s = self.simulated_s, now_s
        early = PHASES.index(self.phase) < PHASES.index("traffic")
        in_time = now_s - self._began_s <= GROWTH_WATCHDOGS * self.watchdog_s
        if written_bytes > self._written and early and in_time:
            self._moved_s = now_s
        self._written = max(self._written, written_bytes)
        self.require(now_s)

    def require(self, now_s: float | None = None) -> None:
        """Raise ``error`` unless the bed got on lately, and is within its time."""
        now_s = self.clock() if now_s is None else now_s
        if now_s - self._began_s > self.wall_s:
            raise self.error(
                f"{self.what} took longer than {shown_time(self.wall_s)} of wall time, the bound "
                f"of this run, and was in phase {self.phase}; --timeout sets another bound"
            )
        if now_s - self._moved_s > self.watchdog_s:
            raise self.error(
                f"{self.what} made no progress for {self.watchdog_s:g} s, in phase {self.phase}"
            )


def shown_time(time_s: float) -> str:
    """Return a time as ``--timeout`` takes it, to the second where it is long."""
    return format_time(float(round(time_s)) if time_s >= 10 else round(time_s, 3))
