"""How engines note the ends of connections, without sockets of a network that fails."""

from __future__ import annotations

import errno
from typing import Any

from orchestrator.testbed.traffic.iperf import _code_of
from orchestrator.testbed.traffic.outcomes import Outcomes


def reported(outcomes: Outcomes) -> dict[str, Any]:
    return dict(outcomes.report())


def connected(*keys: int) -> Outcomes:
    outcomes = Outcomes()
    for key in keys:
        outcomes.begins(key, 10 * key)
        outcomes.connected(key)
    return outcomes


def test_a_connection_ends_fails_or_goes_on() -> None:
    outcomes = connected(1, 2, 3)
    outcomes.ended(1, 100)
    outcomes.failed(2, 200, errno.ETIMEDOUT)
    assert reported(outcomes) == {
        "begun": 3, "connected": True, "going_on": 1, "ended_ns": 100,
        "failures": [(20, 200, errno.ETIMEDOUT, True)],
    }  # fmt: skip


def test_what_either_end_reports_first_counts() -> None:
    outcomes = connected(1, 2)
    outcomes.ended(1, 100)
    outcomes.failed(1, 900, errno.ETIMEDOUT)
    outcomes.failed(2, 300, errno.ECONNRESET)
    outcomes.ended(2, 400)
    found = reported(outcomes)
    assert (found["ended_ns"], found["failures"]) == (100, [(20, 300, errno.ECONNRESET, True)])


def test_what_fails_after_the_stop_time_has_ended_then() -> None:
    outcomes = connected(1, 2, 3)
    outcomes.stopped(500)
    outcomes.failed(1, 900, errno.ETIMEDOUT)
    outcomes.ended(2, 507)
    found = reported(outcomes)  # the third one is not even delivered by the end of the run
    assert (found["ended_ns"], found["failures"], found["going_on"]) == (507, [], 0)
    assert reported(connected())["ended_ns"] is None


def test_a_connection_without_an_answer_is_given_up_at_the_stop_time() -> None:
    outcomes = Outcomes()
    outcomes.begins(1, 10)
    outcomes.begins(2, 20)
    outcomes.stopped(30, key=1)
    found = reported(outcomes)
    assert found["failures"] == [(10, 30, 0, False), (20, -1, 0, False)]
    assert not found["connected"]


def test_only_errors_of_the_network_are_outcomes_of_iperf3() -> None:
    timed_out = "error - unable to write to stream socket: Connection timed out"
    assert _code_of(timed_out) == errno.ETIMEDOUT
    refused = "error - unable to connect to server: Connection refused"
    assert _code_of(refused) == errno.ECONNREFUSED
    assert _code_of("error - control socket has closed unexpectedly") == errno.ECONNRESET
    for text in (
        "no JSON:  ",
        "the server has terminated",
        "error - unable to set TCP_CONGESTION: No such file or directory",
    ):
        assert _code_of(text) is None
