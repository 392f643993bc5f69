"""Decides whether a test bed makes progress, from its file ``progress``.

The phases follow in a known order. During traffic, simulated time must grow towards the run's
duration. A hostile or broken bed may write to files for ever. So growing files count as progress
only before traffic, and only for a limited time.
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
"""A smaller step of simulated time is no progress; a bed reports every 100 ms of it."""

GROWTH_WATCHDOGS = 10
"""Growing files count as progress before traffic for this many watchdog times."""

_TEXT_BYTES = 64
"""Bytes of the file that are read. It has a phase and a time of up to 20 digits, padded to 48."""
_MOST_DIGITS = 20


def parse_progress(text: bytes, duration_s: float) -> tuple[str, float]:
    """Return the phase and the seconds of traffic so far; ``boot`` while the file is empty.

    Raises:
        BedError: the text is malformed.
    """
    parts = text[:_TEXT_BYTES].split()
    if not parts:
        return "boot", 0.0
    phase = parts[0].decode("ascii", "replace")
    digits = parts[1].decode("ascii", "replace") if len(parts) == 2 else ""
    if phase not in PHASES or not digits.isdecimal() or len(digits) > _MOST_DIGITS:
        shown = plaintext.shortened(text.decode("utf-8", "replace").strip(), 60)
        raise malformed(
            f"progress is {shown!r}; a phase ({', '.join(PHASES)}) and nanoseconds are allowed"
        )
    simulated_s = int(digits) / 1e9
    if simulated_s > duration_s + LEAST_STEP_S:
        raise malformed(f"progress has {simulated_s:g} s of a run of {duration_s:g} s")
    return phase, simulated_s


@dataclass
class ProgressMonitor:
    """Raises an error when a bed makes no progress or takes too long.

    Args:
        what: name of the bed in messages, such as ``the guest``.
        duration_s: duration of the run's traffic.
        wall_s: wall time that the run may take.
        watchdog_s: wall time that may pass without progress.
        error: class of the raised error.
        clock: returns the wall time in seconds.
        hint: what the user can do, appended to the error.
    """

    what: str
    duration_s: float
    wall_s: float
    watchdog_s: float = WATCHDOG_S
    error: type[BedError] = BedError
    clock: Callable[[], float] = time.monotonic
    hint: str = ""
    phase: str = field(default="boot", init=False)
    simulated_s: float = field(default=0.0, init=False)
    _counted_s: float = field(default=0.0, init=False)
    _written: int = field(default=0, init=False)
    _began_s: float = field(default=0.0, init=False)
    _moved_s: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._began_s = self._moved_s = self.clock()

    def update(self, phase: str, simulated_s: float, written_bytes: int) -> None:
        """Note the bed's current progress and the bytes that it has written.

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
        self.check(now_s)

    def check(self, now_s: float | None = None) -> None:
        """Raise ``error`` unless the bed made progress recently and is within its time."""
        now_s = self.clock() if now_s is None else now_s
        if now_s - self._began_s > self.wall_s:
            raise self.error(
                f"{self.what} took longer than {shown_time(self.wall_s)} of wall time, the bound "
                f"of this run, and was in phase {self.phase}; --timeout sets another "
                f"bound{self._hint}"
            )
        if now_s - self._moved_s > self.watchdog_s:
            raise self.error(
                f"{self.what} made no progress for {self.watchdog_s:g} s, in phase {self.phase}"
                f"{self._hint}"
            )

    @property
    def _hint(self) -> str:
        return f"\n  fix: {self.hint}" if self.hint else ""


def shown_time(time_s: float) -> str:
    """Return a time in the form of ``--timeout``; long times are rounded to seconds."""
    return format_time(float(round(time_s)) if time_s >= 10 else round(time_s, 3))
