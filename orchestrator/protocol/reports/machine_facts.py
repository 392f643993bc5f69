"""The fact of a real machine: what it is, and how busy and how late it was."""

from __future__ import annotations

from typing import Any, TypedDict


class _OfLateness(TypedDict, total=False):
    median: int


class Lateness(_OfLateness):
    """How late the process that monitors a machine woke up, in ns."""

    p99: int
    max: int


class _OfSecond(TypedDict, total=False):
    idle: float
    pressure: float | None
    """Share of the time in which anything on the machine waited for a CPU; None where unknown."""


class Second(_OfSecond):
    """One second of a machine; shares are of the time of the packets' CPU."""

    late_ns: int
    """The worst lateness."""
    own: float
    """Share of the bed's processes."""
    others: float
    """Share of all other processes and of interrupts."""
    softirq: float
    steal: float


class Load(TypedDict):
    """How busy and how late a real machine was while traffic ran."""

    cpu: int
    """The CPU of the packets."""
    cpus: int
    """The number of CPUs of the machine."""
    wakeups: int
    missed: int
    """Wake-ups that were due while the CPU's counters were read, for at most twice as long as the
    shortest reading took."""
    late_ns: Lateness
    seconds: list[Second]


class _OfMachine(TypedDict, total=False):
    netem_seeded: bool
    """Whether the machine's netem takes a seed."""
    uptime_s: float
    processor: str
    python: str
    modules: dict[str, dict[str, Any]]
    """{name of a module: its version and parameters}."""
    machine: str


class Machine(_OfMachine):
    """What is known of a real machine."""

    node: str


class Host(Machine, Load):
    """What is known of a real machine, and its load while traffic ran."""

    fact: str
