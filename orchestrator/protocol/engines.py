"""Declares what each traffic engine can do and what it needs.

The class of an engine is in ``orchestrator/testbed/traffic``. The controller and the test bed use
this table, so no other file tests for an engine's name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator.protocol.programs import PROGRAM


class Program(NamedTuple):
    """A program that an engine starts: its name and its package in Debian and Ubuntu."""

    name: str
    package: str


class Engine(NamedTuple):
    """What an engine can do and what it needs.

    Attributes:
        exact_under_sampling: in a guest, the sampling period changes no part of the digest.
        fit_for_lab: a flow's two ends can run on two machines, because they share only their
            connections and the specification. Ends of programs also signal each other.
        programs: programs that a flow's ends start. Each prints its version with ``--version``.
        processes: number of processes that each flow starts.
        limits_window: the sender can keep a limited window.
        closes_early: sockets may close before the end of the run, also that of a single connection.
        sends_in_periods: ``random_quantities.periods`` derives its sending times from its
            parameters.
        greedy: it sends as much as losses and windows let it, if its parameters set no limit.
        notes_all: it records everything itself, so no socket of it is sampled.
        multipath: its connections can be Multipath TCP.
        may_use_udp: its ends may send UDP datagrams to each other.
    """

    exact_under_sampling: bool
    fit_for_lab: bool = False
    programs: tuple[Program, ...] = ()
    processes: int = 0
    limits_window: bool = False
    closes_early: bool = False
    sends_in_periods: bool = False
    greedy: bool = False
    notes_all: bool = False
    multipath: bool = False
    may_use_udp: bool = False


SUBFLOW = "subflow"
"""The engine of the further subflows of a connection, which the kernel opens."""

PROGRAM_PROCESSES = 128
"""Processes that a user's program may have at a time."""

ENGINES: dict[str, Engine] = {
    "builtin": Engine(
        exact_under_sampling=True,
        fit_for_lab=True,
        limits_window=True,
        greedy=True,
        multipath=True,
    ),
    "exchanges": Engine(exact_under_sampling=True, limits_window=True),
    "iperf3": Engine(
        exact_under_sampling=False,  # it reads the clock in a loop; see docs/trust.md
        fit_for_lab=True,
        programs=(Program("iperf3", "iperf3"),),
        processes=2,
        closes_early=True,
        greedy=True,
    ),
    "onoff": Engine(
        exact_under_sampling=True,
        fit_for_lab=True,
        limits_window=True,
        sends_in_periods=True,
        greedy=True,
    ),
    "ping": Engine(exact_under_sampling=True, notes_all=True),
    PROGRAM: Engine(
        exact_under_sampling=False,
        fit_for_lab=True,
        processes=2 * PROGRAM_PROCESSES,
        may_use_udp=True,
    ),
    SUBFLOW: Engine(exact_under_sampling=True, closes_early=True, greedy=True, multipath=True),
    "transfers": Engine(exact_under_sampling=True, fit_for_lab=True, limits_window=True),
    "udp": Engine(exact_under_sampling=True, fit_for_lab=True, may_use_udp=True),
}
"""Engines by name, as a flow of the specification names them."""


def programs(names: Iterable[str]) -> list[str]:
    """Return the names of the programs that engines of these names start, sorted."""
    return sorted({program.name for name in names for program in ENGINES[name].programs})


def exact_under_sampling(names: Iterable[str]) -> bool:
    """Tell whether in a guest the sampling period changes no digest of flows of these engines."""
    return all(ENGINES[name].exact_under_sampling for name in names)


def packages() -> dict[str, str]:
    """Return the package of every program of every engine, by the program's name."""
    return dict(sorted({program for each in ENGINES.values() for program in each.programs}))


def processes(names: Iterable[str]) -> int:
    """Return how many processes the flows start, from the engine's name of each flow."""
    return sum(ENGINES[name].processes for name in names)
