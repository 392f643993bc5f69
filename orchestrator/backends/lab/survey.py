"""Surveys all hosts of a lab at the same time; check.py judges the answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

from orchestrator.backends.lab import check
from orchestrator.backends.lab.agent_spec import plan_of
from orchestrator.backends.lab.check import Found, Problem
from orchestrator.backends.lab.lab_connection import LabConnection, Unfit
from orchestrator.backends.remote.ssh import ClockOffset, Fleet, at_once
from orchestrator.errors import RemoteError
from orchestrator.planning.runspec import LabHost, RunSpec
from orchestrator.protocol.examination import SurveyAnswer, SurveySpec
from orchestrator.protocol.version import SPECIFICATION_VERSION
from orchestrator.scenario.inventory import InventoryHost

T = TypeVar("T")


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

    def first(machine: LabHost) -> tuple[SurveyAnswer, ClockOffset]:
        connection = connections[machine.name]
        answer = connection.survey(_together([check.question(run, machine) for run in runs]))
        return answer, connection.remote.clock_offset(connection.host.python)

    problems: list[Problem] = []
    for name, surveyed in zip(names, at_once(first, machines), strict=True):
        if isinstance(surveyed, RemoteError):
            problems.append(_problem(name, surveyed))
        else:
            found.answers[name], found.clocks[name] = surveyed
    if problems:
        return problems
    for run in runs:
        problems += check.look(run, found)
    if problems:
        return problems

    def second(machine: LabHost) -> SurveyAnswer:
        questions = [check.second_question(run, machine, found) for run in runs]
        return connections[machine.name].survey(_together(questions))

    answers: dict[str, SurveyAnswer] = {}
    for name, answer in zip(names, at_once(second, machines), strict=True):
        if isinstance(answer, RemoteError):
            problems.append(_problem(name, answer))
        else:
            answers[name] = answer
    for run in runs if not problems else ():
        problems += check.look_again(run, found, answers)
    return problems


def _together(questions: Sequence[SurveySpec]) -> SurveySpec:
    """Return one question for those of several runs."""
    return {
        "version": SPECIFICATION_VERSION,
        "interfaces": _distinct(each["interfaces"] for each in questions),
        "congestion": _distinct(each["congestion"] for each in questions),
        "routes_to": _distinct(each["routes_to"] for each in questions),
        "echoes": _distinct(each["echoes"] for each in questions),
        "ports": [
            min(each["ports"][0] for each in questions),
            max(each["ports"][1] for each in questions),
        ],
        "udp": any(each["udp"] for each in questions),
        "programs": _distinct(each["programs"] for each in questions),
        "links": _distinct(each["links"] for each in questions),
        "sysctls": _distinct(each["sysctls"] for each in questions),
    }


def _distinct(lists: Iterable[Sequence[T]]) -> list[T]:
    """Return all different elements of the lists, in their order."""
    found: list[T] = []
    for elements in lists:
        found += [each for each in elements if each not in found]
    return found
