"""Metrics of what a congestion control estimates and does, against values computed by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kmods import catalogue
from results.metrics.estimate import ESTIMATES
from results.records.model import WHOLE
from tests.support.metrics_flows import Data, of_flow, sender
from tests.support.recordings import Rows, flow, queue

ESTIMATING = (("the estimate", "bytes/s"), ("RTTmin", "us"))


def estimating(name: str = "a", **changes: Any) -> Any:
    return flow(name, congestion_fields=ESTIMATING, **changes)


# ---- the estimate ----


def test_the_estimate_is_the_mean_of_its_samples_while_the_flow_runs() -> None:
    rows = [
        sender(1.0, congestion_0=999_999),  # warm-up
        sender(2.0, congestion_0=0),  # none yet
        sender(3.0, congestion_0=100_000),
        sender(4.0, congestion_0=200_000),
        sender(5.0, congestion_0=999_999, state=5),  # all is acknowledged
    ]
    metrics = of_flow(rows, estimating())
    assert metrics["estimate_bandwidth_mean_bps"] == 150_000 * 8
    assert metrics["estimate_bandwidth_deviation_bps"] == 50_000 * 8
    assert metrics["estimate_to_fair_share"] == pytest.approx(1_200_000 / 10_000_000)


def test_the_estimate_is_taken_from_where_it_is_shown() -> None:
    rows = [sender(3.0, congestion_0=7, congestion_1=100_000)]
    shown = flow(congestion_fields=(("RTTmin", "us"), ("bandwidth", "bytes/s")))
    assert of_flow(rows, shown)["estimate_bandwidth_mean_bps"] == 800_000


@pytest.mark.parametrize("fields", [(), (("enabled", ""),), (("w / RTT", "bytes/s"),)])
def test_without_an_estimate_on_show_there_is_none(fields: tuple[tuple[str, str], ...]) -> None:
    metrics = of_flow([sender(3.0, congestion_0=100_000)], flow(congestion_fields=fields))
    assert {metrics[name] for name in metrics if name.startswith("estimate_")} == {None}


def test_our_modules_that_estimate_their_share_show_it_by_its_name() -> None:
    shown = {name for name, module in catalogue.modules().items() if module.shown[0] in ESTIMATES}
    assert shown == {
        "csfq", "logwestwood", "tibet", "westwood1", "westwood2", "westwood3", "westwoodplus",
    }  # fmt: skip


def of_first(rows: Rows, *flows: Any, queues: Any = ()) -> float | None:
    from results import metrics

    data = Data(rows, flows=flows, queues=queues)
    value = metrics.compute(data)[WHOLE].flows[0]["estimate_to_fair_share"]
    return None if value is None else float(value)


def test_the_fair_share_is_that_of_the_flows_that_are_on() -> None:
    rows = [{"flow": index, **sender(3.0, congestion_0=250_000)} for index in range(4)]
    flows = [
        estimating(),
        estimating("b"),
        estimating("late", start_s=10.0),
        estimating("elsewhere", path=("other:forward",)),
    ]
    assert of_first(rows, *flows) == pytest.approx(2_000_000 / (10_000_000 / 2))


def test_the_fair_share_is_that_of_the_tightest_link_of_the_path() -> None:
    rows = [{"flow": 0, **sender(3.0, congestion_0=250_000)}]
    path = ("first:forward", "unlimited:forward", "second:forward")
    queues = [
        queue("first", rate_bps=6_000_000),
        queue("unlimited", rate_bps=None),
        queue("second", rate_bps=8_000_000),
        queue("second", direction="reverse", rate_bps=1_000_000),
        queue("third", rate_bps=1_000_000),
    ]
    flows = [estimating(path=path), estimating("b", path=("second:forward",))]
    assert of_first(rows, *flows, queues=queues) == pytest.approx(2_000_000 / 4_000_000)


def test_without_a_rate_there_is_no_fair_share() -> None:
    rows = [{"flow": 0, **sender(3.0, congestion_0=250_000)}]
    assert of_first(rows, estimating(), queues=[queue(rate_bps=None)]) is None


# ---- recovery of the window ----


def window(time_s: float, cwnd: int, retransmitted: int = 0, state: int = 0) -> dict[str, Any]:
    return sender(
        time_s,
        snd_cwnd_segments=cwnd,
        total_retrans_segments=retransmitted,
        ca_state=state,
    )


def recovery(rows: Rows) -> tuple[Any, ...]:
    metrics = of_flow(rows)
    return tuple(metrics[f"window_recovery_{name}_s"] for name in ("mean", "p50", "max"))


def test_recovery_is_from_the_window_before_the_loss_until_it_is_back() -> None:
    rows = [
        window(2.0, 99),
        window(2.5, 100),
        window(3.0, 50, retransmitted=1),
        window(3.5, 51, retransmitted=1),
        window(5.0, 99, retransmitted=1),  # but for one segment that samples may miss
        window(5.5, 100, retransmitted=1),
        window(6.0, 60, state=3, retransmitted=1),  # Recovery, nothing sent again yet
        window(6.5, 101, retransmitted=1),
    ]
    assert recovery(rows) == (pytest.approx((2.5 + 1.0) / 2), 1.0, 2.5)


def test_a_row_of_losses_is_one_and_ends_when_they_do() -> None:
    rows = [
        window(2.0, 100),
        window(3.0, 80, state=3, retransmitted=1),
        window(4.0, 120, state=3, retransmitted=2),  # still in recovery: not back yet
        window(5.0, 50, retransmitted=3),
        window(6.0, 98, retransmitted=3),
        window(7.0, 130, retransmitted=3),
    ]
    assert recovery(rows) == (5.0, 5.0, 5.0)


def test_a_loss_while_the_window_climbs_back_is_another() -> None:
    rows = [
        window(2.0, 100),
        window(3.0, 50, retransmitted=1),
        window(4.0, 70, retransmitted=1),
        window(5.0, 35, retransmitted=2),
        window(6.0, 70, retransmitted=2),
        window(9.0, 100, retransmitted=2),
    ]
    assert recovery(rows) == (pytest.approx((7.0 + 2.0) / 2), 2.0, 7.0)


def test_a_timeout_or_a_reduction_by_ecn_is_a_loss() -> None:
    for state in (2, 4):  # CWR, Loss
        assert recovery([window(2.0, 100), window(3.0, 1, state=state), window(4.0, 100)]) == (
            2.0,
            2.0,
            2.0,
        )


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [window(2.0, 100)],
        [window(2.0, 100), window(3.0, 50), window(4.0, 100)],  # no loss: Vegas, FAST
        [window(2.0, 100), window(3.0, 99, retransmitted=1), window(4.0, 101, 1)],  # no cut
        [window(2.0, 100), window(3.0, 50, 1), window(9.0, 98, 1)],  # not back
        [window(2.0, 50, state=3), window(3.0, 60), window(4.0, 100)],  # begun before
        [window(1.0, 100), window(2.0, 50, 1), window(3.0, 100, 1)],  # begun in the warm-up
        [window(2.0, 100), window(3.0, 50, 1), window(10.5, 100, 1)],  # back too late
    ],
)
def test_without_a_reduced_window_that_comes_back_nothing_is_known(rows: Rows) -> None:
    assert recovery(rows) == (None, None, None)


# ---- closed forms ----


def steady(segments: int, lost: int, rtt_us: int, least_us: int = 100_000) -> Rows:
    """That many segments delivered in the 8 s that count, of which some were sent twice."""
    return [
        sender(0.0, min_rtt_us=2**32 - 1),  # none yet
        sender(1.0, min_rtt_us=least_us),
        sender(2.0, rtt_us=rtt_us, delivered_segments=5, data_segs_out=5, min_rtt_us=110_000),
        sender(
            10.0,
            rtt_us=rtt_us,
            delivered_segments=5 + segments,
            data_segs_out=5 + segments + lost,
            total_retrans_segments=lost,
            min_rtt_us=110_000,
        ),
        sender(10.5, min_rtt_us=1),  # too late
    ]


def test_the_reno_form_is_the_papers() -> None:
    p, rtt_s = 20 / 10_000, 0.12
    form = math.sqrt(2 * (1 - p) / p) / rtt_s
    metrics = of_flow(steady(9_980, 20, 120_000))
    assert metrics["reno_form_ratio"] == pytest.approx(9_980 / 8 / form)


def test_the_westwood_form_is_the_papers() -> None:
    p, rtt_s, queueing_s = 20 / 10_000, 0.12, 0.03
    form = math.sqrt((1 - p) / p) / math.sqrt(rtt_s * queueing_s)
    metrics = of_flow(steady(9_980, 20, 120_000, least_us=90_000))
    assert metrics["westwood_form_ratio"] == pytest.approx(9_980 / 8 / form)


@pytest.mark.parametrize("rows", [[], steady(9_980, 0, 120_000), steady(9_980, 20, 0)])
def test_without_loss_or_rtt_there_is_no_form(rows: Rows) -> None:
    metrics = of_flow(rows)
    assert (metrics["reno_form_ratio"], metrics["westwood_form_ratio"]) == (None, None)


def test_without_a_queue_the_westwood_form_is_without_bound() -> None:
    metrics = of_flow(steady(9_980, 20, 100_000))
    assert metrics["westwood_form_ratio"] == pytest.approx(0.0, abs=1e-6)
    assert metrics["reno_form_ratio"] > 0.5  # type: ignore[operator]
