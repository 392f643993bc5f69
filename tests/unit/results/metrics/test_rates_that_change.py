"""A rate that changes while traffic runs, judged, measured and stored; and events judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.fidelity import check_drops, check_events, check_rate
from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording.model import Check
from results.documents import run_document
from results.store.store import Store
from tests.support.checks import evidence, only, quiet, sample
from tests.support.metrics_links import of_link
from tests.support.metrics_links import sample as row
from tests.support.recordings import head, queue, whole

STEPS = ((0.0, 10_000_000), (4.0, 5_000_000))


def changed(samples: list[tuple[int, ...]], steps: tuple[tuple[float, int], ...]) -> Evidence:
    """Evidence about a bottleneck whose rate took those steps."""
    base = evidence([], samples)
    first, *others = base.queues
    return replace(base, queues=[replace(first, rate_steps=steps), *others])


def backlogged(rates_bps: list[float]) -> list[tuple[int, ...]]:
    """A queue sampled every 100 ms, always full, that sends at those rates for a second each."""
    octets, rows = 0.0, [sample(0, 0, backlog=150_000)]
    for second, rate_bps in enumerate(rates_bps):
        for tick in range(1, 11):
            octets += rate_bps / 80
            time_ns = second * 10**9 + tick * 10**8
            rows.append(sample(time_ns, 0, octets=int(octets), backlog=150_000))
    return rows


def test_a_rate_that_changes_is_judged_by_what_it_is_at_each_time() -> None:
    followed = backlogged([10e6] * 4 + [5e6] * 4)
    good = only(check_rate.check(changed(followed, STEPS)))
    assert good.ok
    assert good.expected == pytest.approx(7.5e6)
    assert good.measured == pytest.approx(7.5e6, rel=1e-4)
    late = only(check_rate.check(changed(backlogged([10e6] * 5 + [5e6] * 3), STEPS)))
    assert late.ok is False


def test_no_frame_may_leave_early_at_a_change() -> None:
    steps = tuple((n / 100, 10_000_000 if n % 2 else 9_000_000) for n in range(800))
    good = only(check_rate.check(changed(backlogged([9.5e6] * 8), steps)))
    assert good.ok
    one_frame = 1514 / 9.5e6  # that of the whole backlogged span, of 8 s
    assert good.tolerance == pytest.approx((0.005 + one_frame) * 9.5e6, rel=1e-3)
    early_bps = 20 * 1514 * 8  # a frame at a fifth of the changes
    assert not only(check_rate.check(changed(backlogged([9.5e6 + early_bps] * 8), steps))).ok


def light(backlogs: list[int], steps: tuple[tuple[float, int], ...]) -> list[Check]:
    """Judge a queue sampled every 100 ms, at 4 Mbit/s, with these backlogs again and again."""
    rows = [
        sample(n * 10**8, 0, octets=n * 50_000, backlog=backlogs[n % len(backlogs)])
        for n in range(80)
    ]
    return list(check_rate.check(changed(rows, steps)))


def test_a_rate_that_changes_and_cannot_be_told_is_doubtful_where_packets_waited() -> None:
    (found,) = light([30_280, 0, 0, 0], STEPS)
    assert (found.name, found.ok, found.measured) == (
        "backlogged_rate bottleneck:forward", None, None,
    )  # fmt: skip
    assert found.detail.startswith("packets waited at 25% of the readings")


def test_a_rate_that_nothing_waited_for_is_no_doubt() -> None:
    assert light([1514, 0], STEPS) == []
    assert light([0], STEPS) == []
    assert light([30_280] + [0] * 39, STEPS) == []  # at 2.5% of the samples
    assert light([30_280, 0, 0, 0], ()) == []  # measured before traffic
    idle = [sample(n * 10**8, 0) for n in range(80)]
    assert list(check_rate.check(changed(idle, STEPS))) == []
    assert list(check_rate.check(changed([], STEPS))) == []


def test_a_trace_that_packets_waited_for_is_no_doubt(tmp_path: Path) -> None:
    trace = tmp_path / "cell.trace"
    trace.write_text("1\n2\n100\n", encoding="ascii")
    link = f"{{capacity: {{trace: {trace}}}, delay: 10ms, queue: {{limit: 100p}}}}"
    rows = [sample(n * 10**8, 0, backlog=30_280 if n % 4 else 0) for n in range(80)]
    traced = evidence([], rows, overrides=(f"topology.bottleneck={link}",))
    first, *others = traced.queues
    traced = replace(traced, queues=[replace(first, rate_steps=STEPS), *others])
    assert list(check_rate.check(traced)) == []


def test_a_link_that_sends_nothing_though_it_could_fails() -> None:
    stuck = only(check_rate.check(changed(backlogged([0.0] * 4), ())))
    assert (stuck.ok, stuck.measured) == (False, 0.0)


def timeline(**values: Any) -> list[Check]:
    fact = {"fact": "timeline", "steps": 3, "due": 3, "late_ns": {}, "impairments": {}, **values}
    return list(check_events.check(evidence([fact])))


def test_events_that_come_all_and_in_time() -> None:
    checks = timeline(late_ns={"rate": 0, "netem": 1999, "route": 60_000})
    assert [(check.name, check.ok) for check in checks] == [
        ("events_applied", True), ("event_lateness", True), ("reroute_lateness", True),
    ]  # fmt: skip
    assert checks[1].measured == 1999e-9
    assert checks[1].detail == "latest: netem"
    assert timeline(steps=0, due=0) == []


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"steps": 2}, "events_applied"),
        ({"late_ns": {"queue": 20_001}}, "event_lateness"),
        ({"late_ns": {"route": 1_000_001}}, "reroute_lateness"),
    ],
)
def test_events_that_are_missing_or_late_fail(values: dict[str, Any], name: str) -> None:
    assert [check.name for check in timeline(**values) if not check.ok] == [name]


def test_drops_that_an_event_asks_for_are_no_fault() -> None:
    lost = [sample(0, 1), sample(10**9, 1, packets=90, drops=10)]
    down = "events=[{at: 1s, link: bottleneck, direction: forward, state: down}]"
    assert only(check_drops.check(evidence(quiet(), lost, overrides=(down,)))).ok
    assert not only(check_drops.check(evidence(quiet(), lost))).ok


def test_utilisation_integrates_the_rate() -> None:
    # 2 s of warm-up; 2 s at 10 Mbit/s and 6 s at 5 Mbit/s are 6.25 MB
    rows = [row(2.0, bytes=0), row(10.0, bytes=5_000_000)]
    metrics = of_link(rows, queue(rate_steps=STEPS))
    assert metrics["utilisation"] == pytest.approx(0.8)


def test_queue_delay_is_the_time_to_drain_as_the_rate_goes_on() -> None:
    # 12.5 kB take 10 ms at 10 Mbit/s, and 20 ms from 4 s on
    rows = [row(2.0, backlog_bytes=12_500), row(3.995, backlog_bytes=12_500)]
    rows += [row(5.0, backlog_bytes=12_500), row(10.0)]
    metrics = of_link(rows, queue(rate_steps=STEPS))
    assert metrics["queue_delay_mean_s"] == pytest.approx((0.010 + 0.015 + 0.020) / 4)
    assert metrics["queue_delay_p95_s"] == pytest.approx(0.020)


def test_rate_steps_and_events_are_stored(tmp_path: Path) -> None:
    events = [{"time_s": 4.0, "applied_s": 4.0, "link": "bottleneck", "rate": "5mbit"}]
    recording = whole()
    recording.queues = [queue(rate_steps=STEPS)]
    recording.provenance["events"] = events
    with Store(tmp_path / "runs.db") as store:
        run_id = store.begin(head())
        store.finish(run_id, recording, 1.0)
        stored = store.load(run_id)
        assert stored.queues[0].rate_steps == STEPS
        (document,) = run_document.of_ids(store, [run_id])["runs"]
    # 8 MB in 6.25 MB of room
    assert document["links"][0]["utilisation"] == pytest.approx(1.28)
    assert document["events"] == events
