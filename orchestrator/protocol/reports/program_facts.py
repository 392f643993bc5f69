"""What a test bed reports of users' programs."""

from __future__ import annotations

from typing import TypedDict


class Program(TypedDict):
    """How a program of a flow ended; see ``protocol/programs.py``."""

    fact: str
    flow: str
    role: str
    begun_ns: int
    ended_ns: int
    ended_by: str
    status: int | None
    """Exit status; None of a program that a signal or the bed ended."""
    signal: int | None
    """Number of the signal that ended it by itself."""
    stdout: str
    stderr: str
    """Begin and end of what it printed."""
    printed_bytes: list[int]
    """Of standard output and of standard error."""


class ExtractedValue(TypedDict):
    """A number that was taken from a client's output."""

    value: float | None
    """In the unit in which it was printed; None where no match was a number."""
    matches: int
    """How often the pattern matched."""
    numbers: int
    """How many of these matches were a number."""


class Extracted(TypedDict):
    """The numbers that a flow asks for of its client's output; of a client that was started."""

    fact: str
    flow: str
    values: dict[str, ExtractedValue]
    """By the names that the flow gives them."""
