"""Surveys all hosts of a lab at the same time; check.py judges the answers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TypeVar

from orchestrator.backends.lab import check
from orchestrator.backends.lab.agent_spec import plan_of
from orchestrator.backends.lab.check import LabProblem, LabState
from orchestrator.backends.lab.lab_connection import LabConnection, UnfitHost
from orchestrator.backends.remote.ssh import ClockOffset, SshConnections, at_once
from orchestrator.errors import RemoteError
from orchestrator.planning.runspec import LabHost, RunSpec
from orchestrator.protocol.examination import SurveyAnswer, SurveySpec
from orchestrator.protocol.version import SPECIFICATION_VERSION
from orchestrator.scenario.inventory import InventoryHost

T = TypeVar("T")


def look_at_all(
    fleet: SshConnections, runs: Sequence[RunSpec], hosts: dict[str, InventoryHost], state: LabState
) -> list[LabProblem]:
    """Return the problems of hosts for runs on them; ``state`` gets the hosts' state."""
    problems: list[LabProblem] = []
    opened = at_once(lambda host: LabConnection.open(fleet, host), hosts.values())
    connections: dict[str, LabConnection] = {}
    for name, connection in zip(hosts, opened, strict=True):
        if isinstance(connection, LabConnection):
            connections[name] = connection
        else:
            problems.append(_problem(name, connection))
    try:
        if not problems:
            problems += _asked(connections, runs, state)
    finally:
        at_once(_removed, connections.values())
    return problems


def _removed(connection: LabConnection) -> None:
    with contextlib.suppress(RemoteError):  # the lost connection is reported elsewhere
        connection.remove()


def _problem(name: str, error: RemoteError) -> LabProblem:
    fix = error.fix if isinstance(error, UnfitHost) else "make its SSH connection reliable"
    return LabProblem(name, str(error), fix)


def _asked(
    connections: dict[str, LabConnection], runs: Sequence[RunSpec], state: LabState
) -> list[LabProblem]:
    machines = plan_of(runs[0]).hosts
    names = [machine.name for machine in machines]

    def first(machine: LabHost) -> tuple[SurveyAnswer, ClockOffset]:
        connection = connections[machine.name]
        answer = connection.survey(_together([check.question(run, machine) for run in runs]))
        return answer, connection.remote.clock_offset(connection.host.python)

    problems: list[LabProblem] = []
    for name, surveyed in zip(names, at_once(first, machines), strict=True):
        if isinstance(surveyed, RemoteError):
            problems.append(_problem(name, surveyed))
        else:
            state.answers[name], state.clocks[name] = surveyed
    if problems:
        return problems
    for run in runs:
        problems += check.look(run, state)
    if problems:
        return problems

    def second(machine: LabHost) -> SurveyAnswer:
        questions = [check.second_question(run, machine, state) for run in runs]
        return connections[machine.name].survey(_together(questions))

    answers: dict[str, SurveyAnswer] = {}
    for name, answer in zip(names, at_once(second, machines), strict=True):
        if isinstance(answer, RemoteError):
            problems.append(_problem(name, answer))
        else:
            answers[name] = answer
    for run in runs if not problems else ():
        problems += check.look_again(run, state, answers)
    return problems


def _together(questions: Sequence[SurveySpec]) -> SurveySpec:
    """Return one question for those of several runs."""
    return {
        "version": SPECIFICATION_VERSION,
        "interfaces": _distinct(question["interfaces"] for question in questions),
        "congestion": _distinct(question["congestion"] for question in questions),
        "routes_to": _distinct(question["routes_to"] for question in questions),
        "echoes": _distinct(question["echoes"] for question in questions),
        "ports": [
            min(question["ports"][0] for question in questions),
            max(question["ports"][1] for question in questions),
        ],
        "udp": any(question["udp"] for question in questions),
        "programs": _distinct(question["programs"] for question in questions),
        "users_programs": _distinct(question["users_programs"] for question in questions),
        "servers": _distinct(question["servers"] for question in questions),
        "counts": any(question["counts"] for question in questions),
        "links": _distinct(question["links"] for question in questions),
        "sysctls": _distinct(question["sysctls"] for question in questions),
    }


def _distinct(lists: Iterable[Sequence[T]]) -> list[T]:
    """Return all different elements of the lists, in their order."""
    distinct: list[T] = []
    for elements in lists:
        distinct += [element for element in elements if element not in distinct]
    return distinct
