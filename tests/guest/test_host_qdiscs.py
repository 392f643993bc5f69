"""Queueing disciplines of hosts: what Linux has in front of a network card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from results.store.store import Store
from tests.guest.conftest import Run
from tests.support.failed_checks import failed_checks

pytestmark = pytest.mark.guest

PATH = (
    "duration=3s", "warmup=1s",
    "topology.bottleneck={rate: 100mbit, delay: 10ms, queue: {kind: droptail, limit: 3000p}}",
    "topology.groups=[{name: a, hosts: 1, access: {rate: 1gbit, delay: 1ms}}]",
    "flows=[{name: f, group: a, congestion: cubic}]",
)  # fmt: skip
OWN_LINK = (
    "duration=4s", "warmup=1s",
    "topology.bottleneck={rate: 100mbit, delay: 5ms, queue: {kind: droptail, limit: 3000p}}",
    "topology.groups=[{name: a, hosts: 1, access: {rate: 20mbit, delay: 1ms}}]",
    "flows=[{name: f, group: a, congestion: cubic}, {name: g, group: a, congestion: cubic}]",
)  # fmt: skip
FQ = "host={qdisc: fq, small_queues: true}"


def statistic(db: Path, found: dict[str, Any], queue: str, name: str) -> int:
    """Return the last value that a queue counted."""
    with Store.open_read_only(db) as store:
        stored = store.load(found["id"])
        (number,) = (at for at, each in enumerate(stored.queues) if each.name == queue)
        place = [each for each, _unit in stored.queues[number].statistics].index(name)
        return int(stored.queue_samples(number)[f"statistic_{place}"][-1])


def test_fq_paces_a_control_that_does_not_pace_itself(run: Run, db: Path) -> None:
    """sch_fq holds packets of any TCP at the rate of tcp_update_pacing_rate().

    That is twice the window in a round trip in slow start, and 1.2 times the window after it.
    """
    paced = run(*PATH, FQ)
    assert failed_checks(paced) == set(), paced["fidelity"]
    assert statistic(db, paced, "a_src0:forward:queue", "throttled") > 50


def test_equal_runs_give_equal_bits(run: Run) -> None:
    asked = "host={offloads: [tso, gro], coalesce: 50us, qdisc: fq, small_queues: true}"
    digests = {run(*PATH, asked)["digest"] for _again in range(3)}
    assert len(digests) == 1


@pytest.mark.parametrize("qdisc", ["pfifo_fast", "fq_codel", "fq"])
def test_a_host_whose_own_link_is_the_slowest_has_the_delay_of_its_discipline(
    run: Run, qdisc: str
) -> None:
    small = "true" if qdisc == "fq" else "false"
    found = run(*OWN_LINK, f"host={{qdisc: {qdisc}, small_queues: {small}}}")
    assert failed_checks(found) == set(), found["fidelity"]
    delays = [flow["rtt_mean_s"] - flow["base_rtt_s"] for flow in found["flows"]]
    if qdisc == "pfifo_fast":  # up to 1000 frames, which are 0.6 s
        assert min(delays) > 0.1
    else:
        assert max(delays) < 0.05


def test_super_packets_that_find_the_queue_full_are_lost_whole_and_counted_by_frames(
    run: Run,
) -> None:
    found = run(
        *OWN_LINK, "duration=15s", "host={offloads: [tso], qdisc: pfifo_fast}",
        "flows=[{name: f, group: a, congestion: cubic, count: 30}]",
    )  # fmt: skip
    assert failed_checks(found) == set(), found["fidelity"]
    checks = {check["name"]: check for check in found["fidelity"]["checks"]}
    assert "conservation" in checks, "each frame is accounted for"
    assert sum(flow["retransmitted_segments"] for flow in found["flows"]) > 100
