"""How each flow of a run ended, from what the test bed reports of its connections."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.planning.runspec import PlannedFlow, RunSpec
from orchestrator.protocol import programs as programs_end
from orchestrator.protocol.programs import CLIENT, PROGRAM, SERVER
from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports.facts import Fact
from orchestrator.protocol.reports.outcomes import (
    ENDED,
    EXIT_STATUS,
    NEVER_CONNECTED,
    NOT_READY,
    OUT_OF_TIME,
    OUTPUT,
    SIGNAL,
    STOPPED,
    outcome_of,
)
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.model import SENDER

LEAST_UNANSWERED_S = 1.0
"""A connection that nobody has answered counts as failed after this time and two base RTTs. The
kernel has repeated its SYN by then (RFC 6298), and the answer to the first one is overdue."""

_SYN_SENT, _CLOSE = 2, 7  # include/net/tcp_states.h


@dataclass(frozen=True)
class FlowEnd:
    """How a flow ended; the fields are those of ``FlowRecord``."""

    outcome: str = ENDED
    ended_s: float | None = None
    errno: int | None = None
    failed_s: tuple[float, ...] = ()
    begun_s: float | None = None
    exit_status: int | None = None


@dataclass(frozen=True)
class _Failure:
    """A connection that failed; ``end_ns`` is None if it was not given up by the end of the run."""

    begun_ns: int
    end_ns: int | None
    code: int
    connected: bool


def flow_ends(spec: RunSpec, facts: Collection[Fact], tcp: npt.NDArray[np.void]) -> list[FlowEnd]:
    """Return how each flow of the run ended, in the order of the flows.

    Args:
        spec: the run.
        facts: the facts of its test bed. In a lab both ends of a flow may report.
        tcp: the samples of all connections, as an array of TCP_DTYPE.
    """
    known: dict[str, list[protocol.Outcome]] = {}
    for fact in protocol.of(facts, protocol.Outcome):
        known.setdefault(fact["flow"], []).append(fact)
    programs: dict[str, dict[str, protocol.Program]] = {}
    for program in protocol.of(facts, protocol.Program):
        programs.setdefault(program["flow"], {})[program["role"]] = program
    sampled = _connected(tcp, len(spec.flows))
    duration_ns = nanoseconds(spec.duration_s)
    return [
        _program_end(programs.get(flow.name, {}))
        if flow.engine == PROGRAM
        else _flow_end(flow, known.get(flow.name, []), sampled[number], duration_ns)
        for number, flow in enumerate(spec.flows)
    ]


def _connected(tcp: npt.NDArray[np.void], flows: int) -> npt.NDArray[np.bool_]:
    """Return of each flow whether a sample shows an established connection."""
    states: npt.NDArray[np.uint8] = tcp["state"]
    open_now = (tcp["endpoint"] == SENDER) & ~np.isin(states, (_SYN_SENT, _CLOSE))
    connected = np.zeros(flows, np.bool_)
    connected[tcp["flow"][open_now]] = True
    return connected


def _flow_end(
    flow: PlannedFlow, facts: Sequence[protocol.Outcome], sampled: bool, duration_ns: int
) -> FlowEnd:
    if flow.subflow is not None and flow.subflow.number and not sampled:
        return FlowEnd(NEVER_CONNECTED)
    if not facts:
        return FlowEnd()
    # Each failure is known to one end of the connection, or to both.
    most = max(facts, key=lambda fact: len(fact["failures"]))
    failures = list(_failures(flow, most, sampled, duration_ns))
    ends_ns = [fact["ended_ns"] for fact in facts if fact["ended_ns"] is not None]
    ended_ns = max(ends_ns, default=None)
    if flow.connections == "one" and failures and ended_ns is not None:
        # Its receiver had everything; the sender may not have learned that.
        failures = [failure for failure in failures if _end_ns(failure, duration_ns) < ended_ns]
    if failures:
        first = min(failures, key=lambda failure: _end_ns(failure, duration_ns))
        return FlowEnd(
            outcome_of(first.code, first.connected),
            None if first.end_ns is None else first.end_ns / 1e9,
            first.code or None,
            tuple(sorted(_end_ns(failure, duration_ns) / 1e9 for failure in failures)),
        )
    going_on = min(fact["going_on"] for fact in facts) > 0
    return FlowEnd(ended_s=None if going_on or ended_ns is None else ended_ns / 1e9)


def _program_end(programs: Mapping[str, protocol.Program]) -> FlowEnd:
    """Return how a flow ended by its client program, or by its server if that was never ready."""
    client = programs.get(CLIENT)
    if client is None:
        server = programs.get(SERVER)
        return FlowEnd(NOT_READY, None if server is None else server["ended_ns"] / 1e9)
    outcome, status = _OUTCOMES[client["ended_by"]], client["status"]
    if outcome == ENDED and status != 0:
        outcome = SIGNAL if status is None else EXIT_STATUS
    if outcome == STOPPED and any(
        one["ended_by"] == programs_end.OUTPUT for one in programs.values()
    ):
        outcome = OUTPUT
    return FlowEnd(
        outcome,
        client["ended_ns"] / 1e9,
        begun_s=client["begun_ns"] / 1e9,
        exit_status=status,
    )


_OUTCOMES = {
    programs_end.ENDED: ENDED,
    programs_end.KILLED: SIGNAL,
    programs_end.NOT_READY: NOT_READY,
    programs_end.OUT_OF_TIME: OUT_OF_TIME,
    programs_end.OUTPUT: OUTPUT,
    programs_end.STOPPED: STOPPED,
}
"""The outcome of a flow whose client program ended so."""


def _failures(
    flow: PlannedFlow, fact: protocol.Outcome, sampled: bool, duration_ns: int
) -> Iterable[_Failure]:
    """Yield the failures, without connections that were given up before an answer could come."""
    overdue_ns = nanoseconds(LEAST_UNANSWERED_S + 2 * flow.base_rtt_s)
    for begun_ns, end_ns, code, connected in fact["failures"]:
        failure = _Failure(begun_ns, None if end_ns < 0 else end_ns, code, connected)
        if code or connected:
            yield failure
        elif flow.connections == "one" and sampled:
            continue  # a program has not said yet that it is connected
        elif _end_ns(failure, duration_ns) - begun_ns >= overdue_ns:
            yield failure


def _end_ns(failure: _Failure, duration_ns: int) -> int:
    return duration_ns if failure.end_ns is None else failure.end_ns
