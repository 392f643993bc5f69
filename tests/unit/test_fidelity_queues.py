"""Checks of queues that drop what they hold, of policers, and of probes that tell the rate only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.fidelity import check_burst, check_drops, check_policer, check_rate
from orchestrator.fidelity.evidence import Evidence
from orchestrator.plan import plan
from orchestrator.recording import QUEUE_DTYPE, QueueRecord
from orchestrator.scenario import load
from tests.unit.test_fidelity import QUICKSTART, burst, evidence, only, quiet, sample, ticks

POLICER = "topology.bottleneck.policer={forward: {rate: 4mbit, burst: 15140B}}"


def policed(rows: list[tuple[int, ...]]) -> Evidence:
    """Evidence about the quickstart's bottleneck with a policer, which is the third queue."""
    (run,) = plan(load(QUICKSTART, (POLICER,))).runs
    queues = [
        QueueRecord("q", "bottleneck", "forward", "queue", "droptail", True, rate_bps=10_000_000),
        QueueRecord("d", "bottleneck", "forward", "delay", "netem", False),
        QueueRecord("p", "bottleneck", "forward", "policer", "police", False, rate_bps=4_000_000),
    ]
    rows = [sample(0, number) for number in range(2)] + rows
    return Evidence(run.network, quiet(), [], queues, np.array(rows, dtype=QUEUE_DTYPE))


def policer_ticks(rate_bps: float, drops: int = 3, count: int = 60) -> list[tuple[int, ...]]:
    """A policer sampled every 100 ms that lets ``rate_bps`` pass and drops in every interval."""
    return [
        sample(n * 100_000_000, 2, octets=int(n * rate_bps / 80), drops=n * drops)
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("rate_bps", "ok"), [(4e6, True), (4.03e6, True), (4.1e6, False), (3.9e6, False)]
)
def test_a_policers_rate_is_judged_while_it_drops(rate_bps: float, ok: bool) -> None:
    found = only(check_policer.check(policed(policer_ticks(rate_bps))))
    assert (found.name, found.ok) == ("policed_rate bottleneck:forward", ok)
    assert found.measured == pytest.approx(rate_bps, rel=1e-4)


def test_a_policer_that_never_or_hardly_dropped_tells_no_rate() -> None:
    assert list(check_policer.check(policed(policer_ticks(2e6, drops=0)))) == []
    assert list(check_policer.check(policed(policer_ticks(4e6, count=5)))) == []


def test_what_a_policer_drops_is_no_fault_of_the_emulation() -> None:
    assert only(check_drops.check(policed(policer_ticks(4e6)))).ok is True


@pytest.mark.parametrize(("kind", "told"), [("codel", False), ("pie", True)])
def test_dropped_packets_may_be_missing_from_a_queue_that_sheds_them(kind: str, told: bool) -> None:
    """130 kB would last the interval, unless 20 packets of them were dropped meanwhile."""
    rows = [(*row[:4], 20 * number, *row[5:]) for number, row in enumerate(ticks(10e6, 130_000))]
    found = check_rate.check(evidence([], rows, None, (f"topology.bottleneck.queue.kind={kind}",)))
    assert bool(list(found)) is told


def test_a_probe_that_did_not_overfill_tells_the_rate_only() -> None:
    short: dict[str, Any] = {**burst(frames=8), "queue_packets": None}
    found = only(check_burst.check(evidence([short])))
    assert (found.name, found.ok) == ("burst_rate bottleneck:forward", True)
