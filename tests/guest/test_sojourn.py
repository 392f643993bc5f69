"""Times that packets wait in queues: equal for every sampling period, and those of the packets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from results.store.store import Store
from tests.guest.conftest import Run
from tests.support.openloop import FRAME_BYTES, GAP_NS, Send
from tests.support.openloop import send as send

__all__ = ["send"]

pytestmark = pytest.mark.guest

PERIODS = ("1ms", "7ms", "100ms", "1s")
METRICS = (
    *(f"queue_delay_{name}_s" for name in ("mean", "p50", "p95", "p99", "max")),
    "drops_packets", "early_drops_packets", "overflow_drops_packets", "marks_packets",
    "policer_drops_packets", "listed_losses_packets", "impairment_losses_packets", "loss_ratio",
    "utilisation",
)  # fmt: skip
SCENARIO = """\
version: 1
name: sojourn
duration: 6s
warmup: 1s
measure: [{name: begin, from: 500ms, to: 2500ms}, {name: end, from: 3s, to: 6s}]
topology:
  kind: dumbbell
  bottleneck:
    rate: 10mbit
    delay: 5ms
    queue: QUEUE
    policer: {forward: {rate: 40mbit, burst: 100kB}}
    loss: {forward: {kind: list, packets: [1000, 2000-2003]}, reverse: 0.1%}
  groups: [{name: a, hosts: 2, access: {rate: 100mbit, delay: 2ms}}]
flows:
  - {name: one, group: a, congestion: cubic, traffic: {kind: bulk}}
"""
QUEUES = {
    "droptail": "{kind: droptail, limit: 60p}",
    "codel": "{kind: codel, limit: 100p, ecn: true}",
    "fq_codel": "{kind: fq_codel, limit: 100p}",
    "red": "{kind: red, limit: 100p, min: 10p, max: 40p, probability: 5%}",
}


def numbers(db: Path, run_id: str) -> dict[str, Any]:
    """Return the metrics of all links in all windows."""
    with Store.open_read_only(db) as store:
        stored = store.load(run_id).metrics()
    return {
        f"{window} {link} {name}": values[name]
        for window, found in stored.items()
        for link, values in found.links.items()
        for name in METRICS
    }


@pytest.mark.parametrize(
    "queue",
    [queue if queue == "fq_codel" else pytest.param(queue, marks=pytest.mark.long)
     for queue in QUEUES],
)  # fmt: skip
def test_a_queues_numbers_do_not_depend_on_sampling(
    run: Run, db: Path, tmp_path: Path, queue: str
) -> None:
    scenario = tmp_path / "sojourn.yaml"
    scenario.write_text(SCENARIO.replace("QUEUE", QUEUES[queue]), encoding="utf-8")
    documents = [
        run(f"sample={{tcp: 100ms, queue: {period}}}", scenario=scenario) for period in PERIODS
    ]
    assert {document["fidelity"]["verdict"] for document in documents} == {"faithful"}
    assert len({document["digest"] for document in documents}) == 1
    first, *others = (numbers(db, document["id"]) for document in documents)
    for window in ("", "begin", "end"):
        mean, median, p99, largest = (
            first[f"{window} bottleneck:forward queue_delay_{name}_s"]
            for name in ("mean", "p50", "p99", "max")
        )
        assert 0 < median <= p99 <= 1.01 * largest
        assert 0 < mean < largest
    for other in others:
        assert other == first


def test_the_times_are_those_of_the_packets(send: Send) -> None:
    """Datagrams come every 0.1 ms, and each takes 0.116 ms: each waits 16 us longer."""
    count, tx_ns = 3000, FRAME_BYTES * 8 * 1000 // 4
    passed = send("rate=4mbit", "queue={limit: 1000p}", count=count)
    rows = passed.recording.sojourn
    queues = [queue.name for queue in passed.recording.queues]
    mine = rows[rows["queue"] == queues.index("bottleneck:forward:queue")]
    total = mine[mine["bucket"] == -1]
    waits_ns = [number * (tx_ns - GAP_NS) for number in range(count)]
    # The run's own flow comes later, and hardly waits.
    assert int(total["packets"].sum()) > count
    assert int(total["largest_ns"].max()) == waits_ns[-1]
    assert int(total["sum_ns"].sum()) == pytest.approx(sum(waits_ns), rel=0.01)
