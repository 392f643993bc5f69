"""How a flow ended, from what the ends of its connections report."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.decode.flows.outcomes import FlowEnd, flow_ends
from orchestrator.planning.plan import plan
from orchestrator.protocol.reports.outcomes import OUTCOMES
from orchestrator.recording.model import SENDER, TCP_DTYPE
from orchestrator.scenario import load

QUICKSTART = Path(__file__).resolve().parents[4] / "scenarios" / "quickstart.yaml"
S = 1_000_000_000
MANY = "flows.westwood.traffic={kind: transfers, size: 10kB, arrivals: 1/s}"


def end_of(*reports: dict[str, Any], many: bool = False, sampled: bool = False) -> FlowEnd:
    """Return how the first flow of a run of 60 s ended; its base RTT is 0.1 s."""
    (run,) = plan(load(QUICKSTART, [MANY] if many else [])).runs
    facts = [
        {
            "fact": "outcome", "flow": "westwood", "begun": 1, "connected": True, "going_on": 0,
            "ended_ns": None, "failures": [], **report,
        }
        for report in reports
    ]  # fmt: skip
    tcp = np.zeros(1, TCP_DTYPE)
    tcp["endpoint"], tcp["state"] = SENDER, 1 if sampled else 2
    ends = flow_ends(run, facts, tcp)
    assert ends[1] == FlowEnd()  # of the other flow nothing is known
    return ends[0]


def test_a_flow_that_goes_on_until_the_end_has_ended_at_no_time() -> None:
    assert end_of({"going_on": 1}) == FlowEnd("ended", None, None, ())
    assert end_of() == FlowEnd()


def test_a_flow_has_ended_when_its_receiver_has_everything() -> None:
    assert end_of({"ended_ns": 30 * S}) == FlowEnd("ended", 30.0, None, ())


@pytest.mark.parametrize(
    ("code", "connected", "outcome"),
    [
        (errno.ETIMEDOUT, True, "timed_out"),
        (errno.ETIMEDOUT, False, "never_connected"),
        (errno.ECONNRESET, True, "reset"),
        (errno.EPIPE, True, "reset"),
        (errno.ECONNREFUSED, False, "reset"),
        (errno.EHOSTUNREACH, True, "unreachable"),
        (errno.ENETUNREACH, False, "unreachable"),
    ],
)
def test_an_error_of_the_kernel_is_an_outcome(code: int, connected: bool, outcome: str) -> None:
    assert outcome in OUTCOMES
    failures = [[0, 40 * S, code, connected]]
    assert end_of({"failures": failures}) == FlowEnd(outcome, 40.0, code, (40.0,))


def test_nobody_answered_by_the_end_of_the_run_or_of_the_flow() -> None:
    """The first SYN is repeated after a second, and two base RTTs are 0.2 s."""
    unanswered = end_of({"failures": [[0, -1, 0, False]]})
    assert unanswered == FlowEnd("never_connected", None, None, (60.0,))
    assert end_of({"failures": [[0, 30 * S, 0, False]]}).ended_s == 30.0
    for begun_ns, fails in ((58_799_000_000, True), (58_801_000_000, False)):
        found = end_of({"failures": [[begun_ns, -1, 0, False]]})
        assert (found.outcome == "never_connected") is fails


def test_samples_tell_that_a_program_is_connected() -> None:
    assert end_of({"failures": [[0, -1, 0, False]]}, sampled=True) == FlowEnd()


def test_of_several_connections_the_first_that_failed_counts() -> None:
    failures = [[0, 50 * S, 110, False], [5 * S, 20 * S, 104, True], [9 * S, -1, 0, False]]
    found = end_of({"failures": failures, "ended_ns": 55 * S, "begun": 9}, many=True)
    assert found == FlowEnd("reset", 20.0, errno.ECONNRESET, (20.0, 50.0, 60.0))


def test_both_ends_on_two_machines_tell_of_one_connection() -> None:
    """The receiver had everything before the sender timed out: no data were lost."""
    sender = {"failures": [[0, 50 * S, errno.ETIMEDOUT, True]]}
    assert end_of(sender, {"ended_ns": 20 * S}) == FlowEnd("ended", 20.0, None, ())
    assert end_of(sender, {"going_on": 1}).outcome == "timed_out"
    assert end_of({"going_on": 1}, {"ended_ns": 20 * S}).ended_s == 20.0
