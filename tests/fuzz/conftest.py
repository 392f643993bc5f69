"""Settings of fuzzing: its duration, its first input, and the report of a failing input.

FUZZ_SECONDS is the duration of each fuzzer, 10 by default. FUZZ_SEED repeats a run: input N depends
only on the seed and N, so FUZZ_FIRST=N begins with the one that failed.
"""

from __future__ import annotations

import os
import random
import secrets
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import pytest

SLOWEST_S = 30.0
"""One input may take so long; the largest shipped scenarios take a few seconds by themselves."""


class Fuzz:
    """Yields random generators until the time is over."""

    def __init__(self, seconds: float, seed: str, first: int) -> None:
        self.seconds = seconds
        self.seed = seed
        self.first = first
        self.count = 0
        self.slowest_s = SLOWEST_S

    def __iter__(self) -> Iterator[random.Random]:
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            number = self.first + self.count
            try:
                with _within(self.slowest_s):
                    yield random.Random(f"{self.seed} {number}")
            except BaseException:
                self.tell(number)
                raise
            self.count += 1

    def tell(self, number: int) -> None:
        """Say how to repeat an input."""
        sys.stderr.write(f"\nrepeat it by FUZZ_SEED={self.seed} FUZZ_FIRST={number}\n")


@pytest.fixture
def fuzz() -> Iterator[Fuzz]:
    """Yield the inputs of one fuzzer; on a failure name the current input."""
    seed = os.environ.get("FUZZ_SEED") or secrets.token_hex(4)
    seconds = float(os.environ.get("FUZZ_SECONDS") or 10)
    made = Fuzz(seconds, seed, int(os.environ.get("FUZZ_FIRST") or 0))
    yield made
    sys.stderr.write(f"\n{made.count} inputs, FUZZ_SEED={seed}\n")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Name the input that failed; assertions in the loop's body do not reach its iterator."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    made = getattr(item, "funcargs", {}).get("fuzz")
    if report.when == "call" and report.failed and isinstance(made, Fuzz):
        made.tell(made.first + made.count)


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the body after that time."""

    def too_long(_number: int, _frame: FrameType | None) -> NoReturn:
        raise TimeoutError(f"an input took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
