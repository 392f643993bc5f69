"""Passes on what the two ends of a flow of programs tell each other.

What an agent says is hostile input: it may speak for its own end of a flow, and each signal once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.backends.lab.agent_spec import plan_of
from orchestrator.planning.runspec import PlannedFlow, RunSpec
from orchestrator.protocol.programs import PROGRAM, READY, SIGNALS


class Signals:
    """The signals of a run, from machine to machine."""

    def __init__(self, run: RunSpec) -> None:
        self._flows = run.flows
        self._machine = {node: host.name for host in plan_of(run).hosts for node in host.nodes}
        self._told: set[tuple[str, int, str]] = set()

    def route(self, machine: str, message: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the machine that a signal is for, and the command that takes it there.

        Args:
            machine: which has told it.
            message: what its agent has said.

        Raises:
            ValueError: the machine may not tell that.
        """
        number, signal = message.get("flow"), message.get("signal")
        if type(number) is not int or not 0 <= number < len(self._flows) or signal not in SIGNALS:
            raise ValueError("it is no signal of a flow")
        flow = self._flows[number]
        server, client = (self._machine[host] for host in ends(flow))
        told = (machine, number, signal)
        others = {server: client, client: server}
        if flow.engine != PROGRAM or machine not in others or told in self._told:
            raise ValueError("it is not a signal of this machine")
        if signal == READY and machine != server:
            raise ValueError("only a server is ready")
        self._told.add(told)
        return others[machine], {"do": "signal", "flow": number, "signal": signal}


def ends(flow: PlannedFlow) -> tuple[str, str]:
    """Return the hosts of a flow's server and of its client."""
    pair = (flow.source, flow.sink)
    return pair if flow.server == "source" else pair[::-1]
