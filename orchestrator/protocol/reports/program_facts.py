"""What a test bed reports of users' programs."""

from __future__ import annotations

from typing import Literal, TypedDict


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


class KeptFile(TypedDict):
    """A file that is kept of what a program has left; see ``protocol/kept_files.py``."""

    name: str
    """Its path in the program's folder."""
    bytes: int


class LeftOutFile(TypedDict):
    """What matches and is not kept, or a pattern that matches nothing."""

    name: str
    """With escapes, and cut off."""
    bytes: int | None
    reason: str
    """One of ``kept_files.REASONS``."""


class Kept(TypedDict):
    """The files that a flow asks for of a program that was started."""

    fact: str
    flow: str
    role: Literal["server", "client"]
    files: list[KeptFile]
    """Their contents are in ``kept_files.FILE``."""
    left_out: list[LeftOutFile]
