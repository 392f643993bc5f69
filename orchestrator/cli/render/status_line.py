"""A status line on standard error."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import Self, TextIO

from orchestrator import plaintext

PERIOD_S = 0.1
"""Least time between two updates of the line on a terminal."""

PLAIN_PERIOD_S = 10.0
"""Least time between two lines of one topic elsewhere."""


class StatusLine:
    """A line that is updated in place on a terminal; elsewhere, plain lines at longer intervals.

    ``quiet`` shows nothing. Leaving the context clears the line.
    """

    def __init__(self, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._terminal = self._stream.isatty()
        self._topic = ""
        self._shown_s = float("-inf")
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def show(self, topic: str, detail: str = "") -> None:
        """Show ``topic detail``, unless the same topic was shown less than a period ago."""
        now_s = time.monotonic()
        period_s = PERIOD_S if self._terminal else PLAIN_PERIOD_S
        if self._quiet or (topic == self._topic and now_s - self._shown_s < period_s):
            return
        self._topic, self._shown_s = topic, now_s
        text = plaintext.visible(f"{topic} {detail}".rstrip())
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\x1b[K{text[:width]}")
            self._drawn = True
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def say(self, text: str) -> None:
        """Print ``text`` on a line of its own, above the status line."""
        if not self._quiet:
            self.clear()
            self._stream.write(f"{plaintext.visible(text)}\n")
            self._stream.flush()

    def clear(self) -> None:
        """Clear the line."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False
