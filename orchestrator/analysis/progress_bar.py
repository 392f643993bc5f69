"""A progress bar for runs that Python makes: in a notebook as HTML, on a terminal as a line."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import TYPE_CHECKING, Any

from orchestrator.application import events

if TYPE_CHECKING:
    from collections.abc import Callable

PERIOD_S = 0.2
"""Least time between two drawings."""


class ProgressBar:
    """A listener that draws how much of a plan's simulated time has passed.

    ``draw`` shows a state of the bar; by default that of the notebook, or of the terminal on
    standard error. Where there is neither, nothing is drawn.
    """

    def __init__(
        self,
        draw: Callable[[ProgressBar], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._draw = draw or _drawing()
        self._clock = clock
        self._drawn_s = float("-inf")
        self._durations_s: list[float] = []
        self._simulated_s: dict[int, float] = {}
        self.ended = self.failed = 0
        self.text = ""

    @property
    def runs(self) -> int:
        """The number of runs of the plan."""
        return len(self._durations_s)

    @property
    def fraction(self) -> float:
        """The part of the simulated time that has passed, from 0 to 1."""
        whole_s = sum(self._durations_s)
        return min(1.0, sum(self._simulated_s.values()) / whole_s) if whole_s else 0.0

    def __call__(self, event: events.Event) -> None:
        """Take an event, and draw if the bar has changed."""
        match event:
            case events.Preparing(step, fraction):
                self.text = step if fraction is None else f"{step} {fraction:.0%}"
            case events.RunsBegun(plan):
                self._durations_s = [run.duration_s for run in plan.runs]
                self._simulated_s = {}
                self.ended = self.failed = 0
                self.text = self._words()
            case events.RunProgressed(progress):
                self._simulated_s[progress.index] = progress.simulated_s
                if progress.has_ended:
                    self._simulated_s[progress.index] = self._durations_s[progress.index]
                    self.ended += 1
                    self.failed += progress.phase != "ok"
                self.text = self._words()
            case events.RunsEnded():
                self._drawn_s = float("-inf")  # the last state is always drawn
            case events.Notice(text):
                self.text = text
            case _:
                return
        if self._clock() - self._drawn_s >= PERIOD_S:
            self._drawn_s = self._clock()
            self._draw(self)

    def _words(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.ended} of {self.runs} runs done{failed}"

    def _repr_html_(self) -> str:
        """Return the bar for a notebook."""
        return f'<progress value="{self.fraction:.4f}" max="1"></progress> {escape(self.text)}'


def _drawing() -> Callable[[ProgressBar], None]:
    """Return how a bar is drawn here."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        return _InNotebook()
    return _on_terminal if sys.stderr.isatty() else lambda _bar: None


class _InNotebook:
    """Draws a bar into the output of the cell that runs."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, bar: ProgressBar) -> None:
        from IPython.display import display

        if self._handle is None:
            self._handle = display(bar, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(bar)


def _on_terminal(bar: ProgressBar) -> None:
    filled = round(30 * bar.fraction)
    end = "\n" if bar.runs and bar.ended == bar.runs else ""
    sys.stderr.write(f"\r\x1b[K[{'#' * filled}{' ' * (30 - filled)}] {bar.text}{end}")
    sys.stderr.flush()
