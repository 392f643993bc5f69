"""Multipath TCP: connections that stay what was asked for, and all bytes of their subflows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from orchestrator.fidelity.evidence import CLOSE, Evidence
from orchestrator.protocol.reports import facts
from orchestrator.protocol.reports.multipath_facts import BACKUP, COUNTERS, JOINED
from orchestrator.recording.model import Check
from orchestrator.recording.plan import SamplesPlan

_COLUMNS = ("time_ns", "state", "bytes_sent", "bytes_retrans", "notsent_bytes")


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield four checks in a run with such connections, each of which names the first fault.

    - No connection fell back to TCP, as it does when a peer or a middlebox has no Multipath TCP.
    - The kernel tells of each established subflow what the scenario asks for: it opens or joins a
      connection, and it is a backup or is none.
    - No connection has more subflows than the scenario names, so all of them are sampled.
    - At the edges of windows, the senders of all subflows have queued as many bytes as the
      connection gave them: its data, and what it sent again over another subflow. The kernel does
      not count what it sends again when a subflow has gone stale or has ended. Before that can have
      happened the two are equal, and never are fewer bytes queued. Real machines do not read both
      at one time, so they have no such check.
    """
    reports: dict[str, list[facts.Multipath]] = {}
    for fact in evidence.all(facts.Multipath):
        reports.setdefault(fact["flow"], []).append(fact)
    if not reports or evidence.plan is None:
        return
    numbers = {flow.name: number for number, flow in enumerate(evidence.flows)}
    subflows: dict[int, list[int]] = {}
    for number, plan in enumerate(evidence.plan["flows"]):
        if "subflow_of" in plan:
            subflows.setdefault(plan["subflow_of"], []).append(number)
    fallen = [name for name, own in reports.items() if any(map(_fell_back, own))]
    detail = f"{len(reports)} connections" if not fallen else f"the first one: {fallen[0]}"
    yield Check("multipath_fallbacks", "connections", 0, len(fallen), 0, not fallen, detail)
    if not fallen:
        yield _subflows(evidence, evidence.plan, numbers)
    unnamed = {
        name: max(_of(fact["sender"], "subflows") for fact in own) - len(subflows[numbers[name]])
        for name, own in reports.items()
    }
    worst = max(unnamed, key=lambda name: unnamed[name])
    more = max(unnamed[worst], 0)
    detail = "" if not more else f"{worst} has the most"
    yield Check("multipath_unnamed_subflows", "subflows", 0, more, 0, not more, detail)
    if evidence.real_time or fallen:
        return
    missing = {
        name: max((_missing(evidence, fact, subflows[numbers[name]]) for fact in own), key=_fault)
        for name, own in reports.items()
    }
    worst = max(missing, key=lambda name: _fault(missing[name]))
    off, good = missing[worst].missing, not _fault(missing[worst])
    detail = f"of {worst}" if off else "at the edges of all windows"
    detail += f": {-off} more, sent again over another subflow" if off < 0 and good else ""
    yield Check("multipath_bytes", "bytes", 0, off, 0, good, detail)


def _subflows(evidence: Evidence, plan: SamplesPlan, numbers: dict[str, int]) -> Check:
    states = evidence.all(facts.SubflowState)
    wrong = [state["flow"] for state in states if _differs(state, plan, numbers[state["flow"]])]
    wrong = list(dict.fromkeys(wrong))
    of = f"{len({state['flow'] for state in states})} established"
    detail = f"of {of}" if not wrong else f"of {of}; the first one: {wrong[0]}"
    return Check("multipath_subflows", "subflows", 0, len(wrong), 0, not wrong, detail)


def _differs(state: facts.SubflowState, plan: SamplesPlan, number: int) -> bool:
    flow, flags = plan["flows"][number], state["flags"]
    if flags is None or "subflow_of" not in flow:
        return True
    joins, is_backup = flow["subflow_of"] != number, flow.get("backup", False)
    return bool(flags & JOINED) != joins or bool(flags & BACKUP) != is_backup


class _Missing(NamedTuple):
    """Bytes that a connection gave its subflows and that they have not queued.

    ``may_be_more`` tells that the kernel may have sent data again without counting them.
    """

    missing: int
    may_be_more: bool


def _fault(missing: _Missing) -> int:
    """Return how far off the bytes are; 0 if nothing is wrong."""
    return 0 if missing.missing < 0 and missing.may_be_more else abs(missing.missing)


def _of(counters: list[int], name: str) -> int:
    return counters[COUNTERS.index(name)]


def _fell_back(fact: facts.Multipath) -> bool:
    return bool(_of(fact["sender"], "fallback") or _of(fact["receiver"], "fallback"))


def _missing(evidence: Evidence, fact: facts.Multipath, subflows: list[int]) -> _Missing:
    again = _of(fact["sender"], "retransmitted_bytes")
    queued, ended = 0, False
    for number in subflows:
        columns = evidence.senders(number, _COLUMNS)
        before = columns["time_ns"] <= fact["time_ns"]
        if before.any():
            last = {name: int(columns[name][before][-1]) for name in _COLUMNS}
            queued += last["bytes_sent"] - last["bytes_retrans"] + last["notsent_bytes"]
            ended |= last["state"] == CLOSE
    missing = _of(fact["sender"], "sent_bytes") + again - queued
    return _Missing(missing, again > 0 or ended)
