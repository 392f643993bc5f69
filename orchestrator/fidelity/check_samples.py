"""Samples: every planned one is present, of queues, of UDP flows and of TCP senders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from orchestrator.fidelity.evidence import CLOSE, Evidence
from orchestrator.protocol.reports.outcomes import ENDED
from orchestrator.protocol.sampling_schedule import QUEUES, READINGS, SENDERS, ticks
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.model import Check, FlowRecord
from orchestrator.recording.plan import FlowPlan

_Times = npt.NDArray[np.int64]


def check(evidence: Evidence) -> Iterable[Check]:
    """Yield one check: planned samples that are missing.

    A sample has the time at which it was planned. How late it was taken is judged elsewhere.
    """
    if evidence.plan is None:
        return
    sampling = evidence.plan["sampling"]
    planned = np.array(
        list(
            ticks(
                sampling["duration_ns"], sampling["tcp_ns"], sampling["queue_ns"],
                sampling["edges_ns"], sampling["readings_ns"],
            )
        ),
        np.int64,
    )  # fmt: skip
    of_queues = planned[planned[:, 1] & QUEUES > 0, 0]
    of_flows = planned[planned[:, 1] & SENDERS > 0, 0]
    missing: dict[str, _Times] = {}
    for number, queue in enumerate(evidence.queues):
        missing[queue.name] = np.setdiff1d(of_queues, evidence.samples(number)["time_ns"])
    for name, expected, times in _flows(evidence, evidence.plan["flows"], of_flows):
        missing[name] = np.setdiff1d(expected, times)
    detail = f"{len(missing)} queues and flows"
    if evidence.readings is not None:
        regular = planned[planned[:, 1] & READINGS > 0, 0]
        for number in np.unique(evidence.readings["queue"]).tolist():
            name = f"the readings of {evidence.queues[number].name}"
            missing[name] = np.setdiff1d(regular, evidence.read(number)["time_ns"])
    total = sum(map(len, missing.values()))
    if total:
        worst = max(missing, key=lambda name: len(missing[name]))
        detail = (
            f"most of {worst}: {len(missing[worst])}, the first at {missing[worst][0] / 1e9:g} s"
        )
    yield Check("samples_missing", "samples", 0, total, 0, total == 0, detail)


def _flows(
    evidence: Evidence, plans: list[FlowPlan], planned: _Times
) -> Iterator[tuple[str, _Times, _Times]]:
    """Yield (flow, times when it must have been sampled, times when it was).

    A TCP connection has samples from its handshake until its end, which is earlier than planned if
    it failed. So none may be missing after the first one. Flows with several connections are left
    out: they may have none at a time.
    """
    for number, (flow, plan) in enumerate(zip(evidence.flows, plans, strict=True)):
        if flow.transport == "udp":
            yield flow.name, planned, evidence.datagrams(number, ["time_ns"])["time_ns"]
        elif plan["one_connection"]:
            samples = evidence.senders(number, ["time_ns", "state"])
            times = samples["time_ns"][samples["state"] != CLOSE]
            if len(times):
                end_ns = max(int(times[-1]), _open_until_ns(flow, plan))
                yield flow.name, planned[(planned >= times[0]) & (planned <= end_ns)], times


def _open_until_ns(flow: FlowRecord, plan: FlowPlan) -> int:
    """Return until when the flow's connection is open at least, 0 where that is not known."""
    planned_ns = plan["open_until_ns"] or 0
    if flow.outcome == ENDED or flow.ended_s is None:
        return planned_ns
    return min(planned_ns, nanoseconds(flow.ended_s) - 1)
