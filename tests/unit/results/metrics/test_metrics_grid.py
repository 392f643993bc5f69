"""Metrics use what every run of a digest has: the metrics' grid, and samples every 100 ms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.recording.model import SENDER, SENDER_STATE_DTYPE
from orchestrator.windows import Window
from results import metrics
from results.metrics.base import Span
from results.metrics.regular import RegularRun, on_grid
from results.records.model import WHOLE
from results.store.writing import RecordingData
from tests.support.recordings import array, datagrams, flow, head, recording

CLOSE = 7


def run(
    states: list[dict[str, Any]], grid_s: float | None = 0.024, flow_values: Any = (), **parts: Any
) -> RecordingData:
    """A run of 10 s whose sender had these states."""
    rows = array(SENDER_STATE_DTYPE, [{"state": 1} | state for state in states])
    made = recording(flows=[flow(**dict(flow_values))], sender_states=rows, **parts)
    return RecordingData(head(metrics_grid_s=grid_s), made)


def test_a_state_counts_at_each_time_of_the_grid_at_which_it_held() -> None:
    data = run([{"time_s": 0.0, "rtt_us": 10}, {"time_s": 0.048, "rtt_us": 30}], flow_values=())
    found = on_grid(data, 0, Span(0.0, 0.12), ["rtt_us"])
    assert found.sampled("rtt_us").tolist() == [10, 10, 30, 30, 30, 30]  # 0, 24, ..., 120 ms
    whole = metrics.compute(data)[WHOLE].flows[0]
    assert whole["rtt_mean_s"] == 30e-6
    assert whole["rtt_max_s"] == 30e-6


def test_a_state_found_at_a_windows_edge_holds_from_the_next_time_of_the_grid() -> None:
    """Another user of the digest has no such window, and must read the same."""
    plain = run([{"time_s": 0.0, "rtt_us": 10}, {"time_s": 0.048, "rtt_us": 30}])
    edged = run(
        [{"time_s": 0.0, "rtt_us": 10}, {"time_s": 0.03, "rtt_us": 20},
         {"time_s": 0.048, "rtt_us": 30}],
    )  # fmt: skip
    span = Span(0.0, 0.1)
    first, second = (
        on_grid(each, 0, span, ["rtt_us"]).sampled("rtt_us") for each in (plain, edged)
    )
    assert first.tolist() == second.tolist()


def test_a_window_without_a_time_of_the_grid_has_the_state_at_its_end() -> None:
    data = run([{"time_s": 0.0, "rtt_us": 10}, {"time_s": 0.03, "rtt_us": 20}])
    assert on_grid(data, 0, Span(0.025, 0.03), ["rtt_us"]).sampled("rtt_us").tolist() == [20]


def test_states_count_only_while_the_flow_is_scheduled_and_connected() -> None:
    states = [
        {"time_s": 0.0, "rtt_us": 10},
        {"time_s": 1.0, "state": CLOSE},
        {"time_s": 2.0, "rtt_us": 20},
    ]
    data = run(states, 0.1, {"start_s": 0.5, "stop_s": 3.0})
    found = on_grid(data, 0, Span(0.0, 10.0), ["rtt_us"]).sampled("rtt_us").tolist()
    assert found == [10] * 5 + [20] * 11


def test_a_run_without_a_grid_has_no_values_of_it() -> None:
    found = metrics.compute(run([], None))[WHOLE].flows[0]
    assert found["rtt_mean_s"] is None
    assert found["window_recovery_p50_s"] is None


def test_a_recovery_ends_at_the_first_time_of_the_grid_with_the_window_of_before() -> None:
    """The window of 100 falls at 1.2 s, and 99 is reached at 2.4 s."""
    states = [
        {"time_s": 0.0, "snd_cwnd_segments": 100},
        {"time_s": 1.2, "snd_cwnd_segments": 50, "total_retrans_segments": 1},
        {"time_s": 1.44, "snd_cwnd_segments": 80, "total_retrans_segments": 1},
        {"time_s": 2.4, "snd_cwnd_segments": 99, "total_retrans_segments": 1},
    ]
    found = metrics.compute(run(states))["quiet"].flows[0]
    assert found["window_recovery_mean_s"] == pytest.approx(2.4 - (1.2 - 0.024))


def test_a_window_does_not_recover_in_another_connection() -> None:
    states = [
        {"time_s": 0.0, "snd_cwnd_segments": 100},
        {"time_s": 1.2, "snd_cwnd_segments": 50, "total_retrans_segments": 1},
        {"time_s": 2.4, "snd_cwnd_segments": 100, "connection": 1},
    ]
    assert metrics.compute(run(states))["quiet"].flows[0]["window_recovery_mean_s"] is None


def sampled(period: int, closed: int | None = None) -> list[dict[str, Any]]:
    """Samples of a sender as a run with that period has them; all times in units of 0.1 ms."""
    times = sorted({*range(0, 100_001, 1000), 12_345, 20_000, 50_000, *range(0, 100_001, period)})

    def row(time: int, sent: int, **fields: int) -> dict[str, Any]:
        counters = {"bytes_sent": 100 * sent, "data_segs_out": sent}
        return {"time_s": time / 1e4, "endpoint": SENDER, **counters, **fields}

    if closed is None:
        return [row(time, time) for time in times]
    noted = next(time for time in times if time >= closed)
    open_rows = [row(time, time) for time in times if time < closed]
    return [*open_rows, row(noted, closed, state=CLOSE)]


@pytest.mark.parametrize("closed", [None, 42_173])
def test_counters_do_not_depend_on_the_sampling_period(closed: int | None) -> None:
    found = []
    for period in (10, 70, 1000, 10_000):
        made = recording(sampled(period, closed))
        data = RecordingData(head(windows=(Window("part", 1.2345, 5.0),)), made)
        columns = RegularRun(data).tcp_columns(0, SENDER)
        shown = [columns[name].tolist() for name in ("time_ns", "bytes_sent", "state")]
        throughput = metrics.METRICS["throughput_bps", "flow"]
        parts = metrics.in_parts(data, throughput, 0, Span(0.0, 10.0), 7)
        found.append((shown, metrics.compute(data)["part"].flows[0]["throughput_bps"], parts))
    assert all(each == found[0] for each in found)


def test_extremes_of_delays_do_not_depend_on_the_sampling_period() -> None:
    """The extremes of a row are those since the row before."""
    rng = np.random.default_rng(1)
    delays_ns = rng.integers(1_000_000, 9_000_000, 10_001)  # one packet each millisecond

    def rows(period_ms: int) -> list[dict[str, Any]]:
        times = sorted({*range(0, 10_001, 100), 1_234, *range(0, 10_001, period_ms)})
        found, before = [], 0
        for time_ms in times:
            some = delays_ns[before + 1 : time_ms + 1]
            extremes = {"delay_min_ns": some.min(), "delay_max_ns": some.max()} if time_ms else {}
            found.append(
                {"time_s": time_ms / 1e3, "received_packets": time_ms,
                 "delay_sum_ns": delays_ns[1 : time_ms + 1].sum(), **extremes}
            )  # fmt: skip
            before = time_ms
        return found

    seen = []
    for period_ms in (1, 7, 100, 1000):
        made = recording(flows=[flow(transport="udp")], datagrams=datagrams(rows(period_ms)))
        data = RecordingData(head(windows=(Window("part", 1.234, 5.0),)), made)
        seen.append(metrics.compute(data)["part"].flows[0])
    assert seen[0]["one_way_delay_min_s"] == delays_ns[1235:5001].min() / 1e9
    assert seen[0]["one_way_delay_max_s"] == delays_ns[1235:5001].max() / 1e9
    assert all(each == seen[0] for each in seen)
