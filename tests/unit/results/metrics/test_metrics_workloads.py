"""Completion times by size, slowdowns, rounds of incast, and queries of RPC."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from results import metrics
from results.records.model import WHOLE
from tests.support.metrics_flows import Data
from tests.support.recordings import flow, queue, transfers

RATE_BPS = 10_000_000
WEB = [
    (0, 3.0, 3.1, 50_000),
    (0, 3.0, 3.3, 99_999),
    (0, 4.0, 5.0, 100_000),
    (0, 4.0, 6.0, 10_000_000),
    (0, 5.0, 9.0, 10_000_001),
    (0, 5.0, None, 50),
    (0, 1.0, 1.1, 10),  # in the warm-up
]


def data(
    kind: str, rows: list[tuple[int, float, float | None, int]], number: int = 1, **parts: Any
) -> Data:
    flows = [
        replace(flow(f"f[{n}]", traffic=kind), base_rtt_s=0.1, path=("link:forward",))
        for n in range(number)
    ]
    link = replace(queue("link"), rate_bps=RATE_BPS)
    return Data(flows=flows, transfers=transfers(rows), queues=[link], **parts)


def test_completion_times_are_told_by_size() -> None:
    found = metrics.compute(data("transfers", WEB))[WHOLE].run
    assert found["fct_mean_short_s"] == pytest.approx(0.2)
    assert found["fct_mean_medium_s"] == pytest.approx(1.5)
    assert found["fct_mean_long_s"] == pytest.approx(4.0)
    assert found["fct_p99_short_s"] == pytest.approx(0.3)


def test_a_slowdown_is_by_the_idle_path() -> None:
    found = metrics.compute(data("transfers", WEB[:1]))[WHOLE].run
    alone_s = 0.15 + 50_000 * 8 * 1514 / 1448 / RATE_BPS
    assert found["slowdown_mean"] == pytest.approx(0.1 / alone_s)
    assert found["slowdown_p99_short"] == found["slowdown_mean"]
    assert found["slowdown_mean_long"] is None


def test_an_idle_link_of_sprayed_packets_carries_its_share_alone() -> None:
    shares = {"spraying": {"f[0]": {"link:forward": 0.25}}}
    found = metrics.compute(data("transfers", WEB[:1], provenance=shares))[WHOLE].run
    alone_s = 0.15 + 50_000 * 8 * 1514 / 1448 / (4 * RATE_BPS)
    assert found["slowdown_mean"] == pytest.approx(0.1 / alone_s)


@pytest.mark.parametrize(
    ("kind", "completed", "time"),
    [("incast", "rounds_completed", "round_time"), ("rpc", "queries_completed", "query_time")],
)
def test_a_round_lasts_from_its_first_request_to_its_last_answer(
    kind: str, completed: str, time: str
) -> None:
    rows = [
        (0, 2.0, 2.4, 10), (1, 2.1, 2.5, 10),
        (0, 3.0, 3.2, 10), (1, 3.0, 3.1, 10),
        (0, 4.0, None, 5), (1, 4.0, 4.1, 10),
        (0, 5.0, 5.1, 10),
    ]  # fmt: skip
    found = metrics.compute(data(kind, rows, 2))[WHOLE].run
    assert found[completed] == 2
    assert found[f"{time}_mean_s"] == pytest.approx((0.5 + 0.2) / 2)
    assert found[f"{time}_p50_s"] == pytest.approx(0.2)
    assert found[f"{time}_p99_s"] == pytest.approx(0.5)


def test_echoes_are_counted_and_are_no_transfers() -> None:
    rows = [
        (0, 1.0, 1.5, 84), (0, 2.0, 2.1, 84), (0, 3.0, 3.3, 84), (0, 4.0, None, 0),
        (0, 9.5, None, 0),
    ]  # fmt: skip
    whole = data("ping", rows)
    echoes = Data(
        flows=[replace(whole.flows[0], transport="icmp")],
        transfers=transfers(rows),
        queues=[*whole.queues],
    )
    found = metrics.compute(echoes)[WHOLE]
    one = found.flows[0]
    # The first one is in the warm-up, and the last one leaves in the run's last second.
    assert (one["echoes_sent"], one["echoes_lost"]) == (4, 1)
    assert one["echo_rtt_min_s"] == pytest.approx(0.1)
    assert one["echo_rtt_mean_s"] == pytest.approx(0.2)
    assert one["echo_rtt_p99_s"] == one["echo_rtt_max_s"] == pytest.approx(0.3)
    assert one["transfers"] is None
    assert found.run["fct_mean_s"] is None
    assert metrics.compute(data("transfers", WEB))[WHOLE].flows[0]["echoes_sent"] is None


def test_other_traffic_has_no_rounds() -> None:
    found = metrics.compute(data("transfers", WEB))[WHOLE].run
    assert found["rounds_completed"] is None
    assert found["round_time_mean_s"] is None
    assert found["queries_completed"] is None
    assert found["query_time_mean_s"] is None
