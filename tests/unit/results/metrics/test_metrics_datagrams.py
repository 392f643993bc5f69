"""Metrics of UDP flows and of transfers, against values computed by hand."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from results import metrics
from results.records.model import WHOLE, WindowMetrics
from tests.support.metrics_flows import Data, receiver
from tests.support.recordings import Rows, datagrams, flow, transfers

UDP = flow("u", transport="udp", traffic="cbr", congestion_asked=None, congestion_control=None)


def sample(time_s: float, sent: int, received: int, **fields: Any) -> dict[str, Any]:
    """A sample of packets of 1000 bytes, all expected ones received unless it is said."""
    counted = {
        "time_s": time_s,
        "sent_packets": sent,
        "sent_bytes": 1000 * sent,
        "received_packets": received,
        "received_bytes": 1000 * received,
        "expected_packets": received,
    }
    return counted | fields


def compute(rows: Rows, **parts: Any) -> dict[str, WindowMetrics]:
    return metrics.compute(Data(flows=[UDP], datagrams=datagrams(rows), **parts))


def test_packets_and_rates_of_the_span() -> None:
    rows = [sample(0, 0, 0), sample(2, 200, 190), sample(5, 500, 480), sample(10, 1000, 900)]
    windows = compute(rows)
    (values,) = windows[WHOLE].flows
    assert (values["sent_packets"], values["received_packets"]) == (800, 710)
    assert values["goodput_bps"] == 710_000 * 8 / 8
    assert values["throughput_bps"] == 800 * 1042 * 8 / 8
    assert windows[WHOLE].run["goodput_bps"] == values["goodput_bps"]
    assert windows["quiet"].flows[0]["sent_packets"] == 500


def test_what_is_on_its_way_is_not_lost() -> None:
    rows = [
        sample(2, 200, 100, expected_packets=110),
        sample(10, 1000, 480, expected_packets=510),
    ]
    assert compute(rows)[WHOLE].flows[0]["loss_ratio"] == pytest.approx(1 - 380 / 400)
    nothing = [sample(2, 200, 0), sample(10, 1000, 0)]
    assert compute(nothing)[WHOLE].flows[0]["loss_ratio"] is None


def test_delays_are_of_the_packets_of_the_span() -> None:
    ms = 10**6
    rows = [
        sample(2, 2, 2, delay_sum_ns=900 * ms, delay_min_ns=1 * ms, delay_max_ns=899 * ms),
        sample(5, 3, 3, delay_sum_ns=910 * ms, delay_min_ns=10 * ms, delay_max_ns=10 * ms),
        sample(7, 3, 3, delay_sum_ns=910 * ms),
        sample(10, 6, 5, delay_sum_ns=960 * ms, delay_min_ns=20 * ms, delay_max_ns=30 * ms),
    ]
    squares = (0, 10**8, 10**8, 10**8 + 4 * 10**8 + 9 * 10**8)
    for row, squares_us2 in zip(rows, squares, strict=True):
        row["delay_squares_us2"] = 5 * 10**11 + squares_us2
    (values,) = compute(rows)[WHOLE].flows
    assert values["one_way_delay_mean_s"] == pytest.approx(0.020)
    assert values["one_way_delay_min_s"] == pytest.approx(0.010)
    assert values["one_way_delay_max_s"] == pytest.approx(0.030)
    assert values["one_way_delay_deviation_s"] == pytest.approx((200 / 3) ** 0.5 / 1e3)


@pytest.mark.parametrize(("before", "jitter_s"), [(0, 0.003), (2, 0.002)])
def test_jitter_is_the_mean_change_between_packets(before: int, jitter_s: float) -> None:
    """Of four packets the first has none before it, unless some came before the span."""
    rows = [
        sample(2, before, before, delay_changes_ns=0),
        sample(10, 9, before + (4 if before == 0 else 3), delay_changes_ns=9_000_000),
    ]
    if before:
        rows[1]["delay_changes_ns"] = 6_000_000
    assert compute(rows)[WHOLE].flows[0]["jitter_s"] == pytest.approx(jitter_s)


def test_one_packet_has_no_jitter_and_none_has_no_delay() -> None:
    (one,) = compute([sample(10, 1, 1, delay_sum_ns=5)])[WHOLE].flows
    assert one["jitter_s"] is None
    assert one["one_way_delay_mean_s"] == 5e-9
    (none,) = compute([sample(10, 1, 0)])[WHOLE].flows
    delays = ("mean_s", "min_s", "max_s", "deviation_s")
    assert [none[f"one_way_delay_{part}"] for part in delays] == [None] * 4


def test_tcp_has_no_such_values_and_udp_none_of_tcp() -> None:
    data = Data([receiver(10.0, 1_000)], flows=[flow("a"), UDP], datagrams=datagrams([]))
    tcp, udp = metrics.compute(data)[WHOLE].flows
    for name in ("sent_packets", "one_way_delay_mean_s", "jitter_s", "transfers", "fct_mean_s"):
        assert tcp[name] is None
    for name in ("rtt_mean_s", "retransmitted_segments", "loss_ratio", "goodput_bps"):
        assert udp[name] is None


@pytest.mark.parametrize(("traffic", "index"), [("bulk", 0.8), ("onoff", 1.0)])
def test_jain_is_of_bulk_traffic_alone(traffic: str, index: float) -> None:
    flows = [flow("a"), flow("b", traffic=traffic), UDP]
    tcp_rows = [receiver(10.0, 1_000), receiver(10.0, 3_000, flow=1)]
    rows = [sample(10, 9, 9, flow=2)]
    found = metrics.compute(Data(tcp_rows, flows=flows, datagrams=datagrams(rows)))[WHOLE].run
    assert found["jain_index"] == pytest.approx(index)


TRANSFERS = transfers(
    [
        (0, 1.0, 1.5, 1_000),
        (0, 2.0, 4.0, 10_000),
        (0, 2.0, 3.0, 10_000),
        (0, 9.0, 9.5, 5_000),
        (0, 9.9, None, 700),
        (1, 3.0, 7.0, 2_000),
    ]
)


def test_transfers_belong_to_where_they_begin() -> None:
    data = Data(flows=[flow("a", traffic="web"), flow("b")], transfers=TRANSFERS)
    windows = metrics.compute(data)
    first, second = windows[WHOLE].flows
    assert (first["transfers"], first["transfers_completed"]) == (4, 3)
    assert first["transfer_bytes"] == 25_000
    assert first["fct_mean_s"] == pytest.approx(3.5 / 3)
    assert [first[f"fct_p{n}_s"] for n in (50, 95, 99)] == [1.0, 2.0, 2.0]
    assert first["transfer_goodput_bps"] == pytest.approx(25_000 * 8 / 3.5)
    goodputs = [40_000.0, 80_000.0, 80_000.0]
    assert first["transfer_goodput_mean_bps"] == pytest.approx(sum(goodputs) / 3)
    # Student's t of two degrees of freedom, 4.302653, times the standard error.
    half_width = 4.302653 * statistics.stdev(goodputs) / 3**0.5
    assert first["transfer_goodput_ci95_bps"] == pytest.approx(half_width)
    assert second["transfer_goodput_mean_bps"] == 4_000
    assert second["transfer_goodput_ci95_bps"] is None
    assert second["fct_p50_s"] == 4.0
    assert windows[WHOLE].run["transfers"] == 5
    assert windows[WHOLE].run["fct_mean_s"] == pytest.approx(7.5 / 4)
    assert windows["quiet"].flows[0]["transfers"] == 3
    assert windows["quiet"].flows[0]["fct_p99_s"] == 2.0


def test_transfers_that_never_ended_have_no_times() -> None:
    data = Data(flows=[flow("a")], transfers=transfers([(0, 3.0, None, 5)]))
    (values,) = metrics.compute(data)[WHOLE].flows
    counted = ("transfers", "transfers_completed", "transfer_bytes")
    assert [values[name] for name in counted] == [1, 0, 0]
    assert values["fct_mean_s"] is values["fct_p95_s"] is values["transfer_goodput_bps"] is None
