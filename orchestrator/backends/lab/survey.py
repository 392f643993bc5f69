"""Asks all hosts of a lab at once what they are, for labcheck.py to judge."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from orchestrator.backends.lab import check
from orchestrator.backends.lab.agent_spec import plan_of
from orchestrator.backends.lab.check import Answer, Found, Problem
from orchestrator.backends.lab.lab_connection import LabConnection, Unfit
from orchestrator.backends.remote.ssh import ClockOffset, Fleet, at_once
from orchestrator.errors import RemoteError
from orchestrator.planning.runspec import LabHost, RunSpec
from orchestrator.scenario.inventory import InventoryHost


def look_at_all(
    fleet: Fleet, runs: Sequence[RunSpec], hosts: dict[str, InventoryHost], found: Found
) -> list[Problem]:
    """Return the problems of hosts for runs on them; ``found`` gets the hosts' state."""
    problems: list[Problem] = []
    opened = at_once(lambda host: LabConnection.open(fleet, host), hosts.values())
    connections: dict[str, LabConnection] = {}
    for name, connection in zip(hosts, opened, strict=True):
        if isinstance(connection, LabConnection):
            connections[name] = connection
        else:
            problems.append(_problem(name, connection))
    try:
        if not problems:
            problems += _asked(connections, runs, found)
    finally:
        at_once(_removed, connections.values())
    return problems


def _removed(connection: LabConnection) -> None:
    with contextlib.suppress(RemoteError):  # the lost connection is reported elsewhere
        connection.remove()


def _problem(name: str, error: RemoteError) -> Problem:
    fix = error.fix if isinstance(error, Unfit) else "make its SSH connection reliable"
    return Problem(name, str(error), fix)


def _asked(
    connections: dict[str, LabConnection], runs: Sequence[RunSpec], found: Found
) -> list[Problem]:
    machines = plan_of(runs[0]).hosts
    names = [machine.name for machine in machines]

    def first(machine: LabHost) -> tuple[Answer, ClockOffset]:
        connection = connections[machine.name]
        answer = connection.survey(_together([check.question(run, machine) for run in runs]))
        return answer, connection.remote.clock_offset(connection.host.python)

    problems: list[Problem] = []
    for name, told in zip(names, at_once(first, machines), strict=True):
        if isinstance(told, RemoteError):
            problems.append(_problem(name, told))
        else:
            found.answers[name], found.clocks[name] = told
    if problems:
        return problems
    for run in runs:
        problems += check.look(run, found)
    if problems:
        return problems

    def second(machine: LabHost) -> Answer:
        asked = [check.second_question(run, machine, found) for run in runs]
        return connections[machine.name].survey(_together(asked))

    answers: dict[str, Answer] = {}
    for name, ways in zip(names, at_once(second, machines), strict=True):
        if isinstance(ways, RemoteError):
            problems.append(_problem(name, ways))
        else:
            answers[name] = ways
    for run in runs if not problems else ():
        problems += check.look_again(run, found, answers)
    return problems


def _together(questions: Sequence[Answer]) -> Answer:
    """Return one question for those of several runs."""
    whole: dict[str, Any] = {}
    for question in questions:
        for key, value in question.items():
            if key == "ports":
                known = whole.setdefault(key, list(value))
                whole[key] = [min(known[0], value[0]), max(known[1], value[1])]
            elif isinstance(value, list):
                known = whole.setdefault(key, [])
                known += [each for each in value if each not in known]
            else:
                whole[key] = whole.get(key, False) or value
    return whole
