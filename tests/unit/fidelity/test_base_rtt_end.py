"""The base RTT after traffic, on facts made up for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.compile.probes import probes
from orchestrator.fidelity import check_base_rtt_end
from orchestrator.fidelity.evidence import Evidence
from orchestrator.planning.network_at_end import network_at_end
from orchestrator.planning.plan import plan
from orchestrator.recording.model import QUEUE_DTYPE
from orchestrator.scenario import load
from tests.support.checks import QUICKSTART, only

LATER = "events=[{at: 3s, link: bottleneck, delay: 20ms}]"

SENDING_NS = 2 * (4_000 + 40_000 + 4_000)
"""Transmission of 50 bytes at 100, 10 and 100 Mbit/s, there and back."""


def evidence(*measured_ns: int | None, quiet: bool = True, overrides: tuple[str, ...] = ()) -> Any:
    """Return evidence about the quickstart, with these round trips of its two flows."""
    (run,) = plan(load(QUICKSTART, overrides)).runs
    planned = probes(run)["round_trips_end"]
    facts = [
        {"fact": "round_trip_end", **probe, "measured_ns": each_ns, "quiet": quiet}
        for probe, each_ns in zip(planned, measured_ns, strict=False)
    ]
    samples = np.zeros(0, QUEUE_DTYPE)
    return Evidence(run.network, facts, [], [], samples, network_at_end=network_at_end(run))


@pytest.mark.parametrize(
    ("measured_ns", "ok"),
    [(120_000_000, True), (120_000_000 + 20_001, False), (100_000_000, False)],
)
def test_it_is_compared_with_the_delays_that_the_last_event_requested(
    measured_ns: int, ok: bool
) -> None:
    measured = (SENDING_NS + 120_000_000, SENDING_NS + measured_ns)
    check = only(check_base_rtt_end.check(evidence(*measured, overrides=(LATER,))))
    assert (check.name, check.expected, check.ok) == ("base_rtt_end", 0.120096, ok)


def test_jitter_widens_the_range_also_where_a_delay_is_held() -> None:
    held = "topology.bottleneck.jitter={forward: {spread: 2ms, correlation: 20ms}}"
    for measured_ns, ok in ((98_000_000, True), (97_900_000, False)):
        check = only(
            check_base_rtt_end.check(evidence(SENDING_NS + measured_ns, overrides=(held,)))
        )
        assert check.ok is ok


def test_echoes_that_do_not_return_fail_and_queues_that_hold_packets_are_a_doubt() -> None:
    assert only(check_base_rtt_end.check(evidence(None))).ok is False
    check = only(check_base_rtt_end.check(evidence(None, quiet=False)))
    assert (check.ok, check.measured) == (None, None)


def test_runs_that_were_stored_without_it_are_not_judged() -> None:
    assert not list(check_base_rtt_end.check(evidence()))
