"""How flows ended, in words."""

from __future__ import annotations

from results.wording.endings import ending, failures
from tests.support.recordings import flow

LOST = flow("a", outcome="timed_out", ended_s=3.0, errno=110)
REFUSED = flow("page", outcome="exit_status", ended_s=1.5, exit_status=22)


def test_a_program_ends_with_its_exit_status() -> None:
    assert ending(REFUSED) == "exit_status 22 at 1.5 s"
    assert ending(flow("b", outcome="not_ready", ended_s=6.0)) == "not_ready at 6 s"


def test_runs_with_programs_have_flows_that_ended_early() -> None:
    assert failures([[LOST], [flow("a")]]) == "connections failed in 1 of 2 runs: a timed_out in 1"
    assert failures([[REFUSED, LOST]]) == (
        "flows ended early in 1 of 1 run: page exit_status in 1, a timed_out in 1"
    )
    assert failures([[flow("a")]]) is None
