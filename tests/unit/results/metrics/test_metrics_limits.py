"""Who limits a flow, its share of what it could have, and when it is complete; by hand."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.recording.model import SENDER_STATE_DTYPE, FlowRecord, QueueRecord
from results import metrics
from results.records.model import WHOLE, WindowMetrics
from results.store.writing import RecordingData
from tests.support.metrics_flows import receiver, sender
from tests.support.recordings import Rows, array, flow, head, queue, recording

SHARES = ("cwnd_limited_share", "rwnd_limited_share", "sndbuf_limited_share", "app_limited_share")


def whole(rows: Rows, *flows: FlowRecord, queues: Any = (), **parts: Any) -> WindowMetrics:
    """Metrics of a run of 10 s with 2 s of warm-up."""
    entries = [{"name": name} for name in ("a", "b", "pair")]
    run = head(resolved={"flows": entries})
    made = recording(rows, flows=flows, queues=queues, **parts)
    return metrics.compute(RecordingData(run, made))[WHOLE]


def limited(time_s: float, busy_s: float, window_s: float, buffer_s: float, flow: int = 0) -> Any:
    times = {"busy_time_us": busy_s, "rwnd_limited_us": window_s, "sndbuf_limited_us": buffer_s}
    return sender(time_s, flow=flow, **{name: round(value * 1e6) for name, value in times.items()})


def test_shares_of_the_time_are_growths_of_the_kernels_counters() -> None:
    rows = [limited(2.0, 1.0, 0.5, 0.25), limited(10.0, 8.2, 2.1, 1.05)]
    found = whole(rows, flow("a")).flows[0]
    # Of 8 s the sender was busy 7.2 s: 1.6 s by the window and 0.8 s by the buffer.
    assert [found[name] for name in SHARES] == pytest.approx([0.6, 0.2, 0.1, 0.1])


def test_the_time_of_a_flow_is_that_in_which_it_is_scheduled() -> None:
    rows = [limited(4.5, 0.5, 0, 0), limited(8.0, 3.0, 0, 0), limited(10.0, 3.0, 0, 0)]
    found = whole(rows, flow("a", start_s=4.0, stop_s=8.0)).flows[0]
    assert found["app_limited_share"] == 0.25
    assert found["cwnd_limited_share"] == 0.75


def test_a_run_weighs_flows_by_their_times() -> None:
    rows = [
        *(limited(time_s, 0, 0, 0) for time_s in (2.0, 10.0)),
        limited(8.5, 0.5, 0, 0, flow=1), limited(10.0, 2.0, 0, 0, flow=1),
    ]  # fmt: skip
    found = whole(rows, flow("a"), flow("b", start_s=8.0))
    assert [each["app_limited_share"] for each in found.flows] == [1.0, 0.0]
    assert found.run["app_limited_share"] == pytest.approx(0.8)


def test_a_counter_that_is_a_jiffy_ahead_gives_no_share_outside_of_0_to_1() -> None:
    rows = [limited(2.0, 0, 0, 0), limited(10.0, 8.004, 8.008, 0)]
    found = whole(rows, flow("a")).flows[0]
    assert [found[name] for name in SHARES] == [0.0, 1.0, 0.0, 0.0]


def test_without_a_single_connection_at_a_time_nothing_limits() -> None:
    rows = [limited(2.0, 0, 0, 0), limited(10.0, 8.0, 0, 0)]
    none = array(SENDER_STATE_DTYPE, [])
    found = whole(rows, flow("a"), sender_states=none).flows[0]
    assert {found[name] for name in SHARES} == {None}


def test_the_growth_of_the_receive_window_is_that_in_a_base_rtt() -> None:
    """The window is 16 times as large after 8 s, which are 80 RTTs of 100 ms."""
    rows = [sender(2.0, snd_wnd_bytes=65_536), sender(10.0, snd_wnd_bytes=1_048_576)]
    found = whole(rows, flow("a", base_rtt_s=0.1)).flows[0]["receive_window_growth"]
    assert found == pytest.approx(2 ** (4 / 80))
    rows = [sender(2.0, snd_wnd_bytes=65_536), sender(10.0, snd_wnd_bytes=65_536)]
    assert whole(rows, flow("a")).flows[0]["receive_window_growth"] == 1.0


def test_a_flow_that_had_no_window_yet_has_no_growth_of_it() -> None:
    late = [sender(3.0, snd_wnd_bytes=65_536), sender(10.0, snd_wnd_bytes=1_048_576)]
    syn = [sender(2.0, snd_wnd_bytes=0), sender(10.0, snd_wnd_bytes=1_048_576)]
    for rows in (late, syn):
        assert whole(rows, flow("a")).flows[0]["receive_window_growth"] is None
    known = [sender(2.0, snd_wnd_bytes=65_536), sender(10.0, snd_wnd_bytes=1_048_576)]
    assert whole(known, flow("a", base_rtt_s=0.0)).flows[0]["receive_window_growth"] is None


REVERSED = ("bottleneck:reverse",)
QUEUES = (queue(), queue(direction="reverse"))


def goodputs(*sizes: int) -> Rows:
    """Receivers that read these bytes in the 8 s after the warm-up."""
    return [
        row
        for index, size in enumerate(sizes)
        for row in (receiver(2.0, 0, flow=index), receiver(10.0, size, flow=index))
    ]


def test_jain_of_an_entry_and_of_a_direction() -> None:
    flows = [
        flow("pair[0]"), flow("pair[1]"), flow("a"), flow("b", path=REVERSED),
    ]  # fmt: skip
    found = whole(goodputs(1000, 3000, 2000, 7000), *flows, queues=QUEUES)
    assert found.run["jain_index_forward"] == pytest.approx(36 / (3 * 14))
    assert found.run["jain_index_reverse"] == 1.0
    assert [each["jain_index_entry"] for each in found.flows] == [0.8, 0.8, None, None]


def test_a_run_without_flows_in_a_direction_has_no_index_of_it() -> None:
    assert whole(goodputs(1000), flow("a"), queues=QUEUES).run["jain_index_reverse"] is None


def test_goodput_over_the_fair_share() -> None:
    """Two flows share 10 Mbit/s: 5 Mbit/s each, which is 5 MB in 8 s."""
    found = whole(goodputs(2_500_000, 5_000_000), flow("a"), flow("b"), queues=QUEUES)
    assert [each["goodput_to_fair_share"] for each in found.flows] == [0.5, 1.0]


def test_the_fair_share_is_that_of_the_narrowest_share_of_the_path() -> None:
    second = queue("second", rate_bps=4_000_000)
    path = ("bottleneck:forward", "second:forward")
    flows = [flow("a", path=path), flow("b")]
    found = whole(goodputs(1_000_000, 1_000_000), *flows, queues=(queue(), second))
    # a: min(10 / 2, 4 / 1) Mbit/s; b: 10 / 2.
    assert [each["goodput_to_fair_share"] for each in found.flows] == [0.25, 0.2]


def test_the_fair_share_of_sprayed_packets_is_that_of_all_their_links() -> None:
    """Over two links of 10 Mbit/s, a flow with half of its packets on each beside one on the first.

    The first link has 1.5 flows, so both may have 20 / 3 Mbit/s.
    """
    path = ("bottleneck:forward", "second:forward")
    shares = {"spraying": {"a": dict.fromkeys(path, 0.5)}}
    flows = [flow("a", path=path), flow("b")]
    queues = (queue(), queue("second"))
    rows = goodputs(2_500_000, 2_500_000)  # 2.5 Mbit/s in 8 s
    found = whole(rows, *flows, queues=queues, provenance=shares)
    assert [each["goodput_to_fair_share"] for each in found.flows] == [
        pytest.approx(2.5 / (10 / 1.5)), pytest.approx(2.5 / (10 / 1.5)),
    ]  # fmt: skip
    alone = whole(goodputs(2_500_000), flows[0], queues=queues, provenance=shares)
    assert alone.flows[0]["goodput_to_fair_share"] == 2.5 / 20


def test_a_rate_that_changes_counts_as_its_mean_over_the_span() -> None:
    """2 Mbit/s until 6 s, and 6 Mbit/s from then on: 4 Mbit/s in the 8 s after the warm-up."""
    steps: tuple[tuple[float, int], ...] = ((0.0, 2_000_000), (6.0, 6_000_000))
    changing: QueueRecord = queue(rate_steps=steps)
    found = whole(goodputs(2_000_000), flow("a"), queues=(changing,)).flows[0]
    assert found["goodput_to_fair_share"] == 0.5


@pytest.mark.parametrize("changes", [{"traffic": "onoff"}, {"start_s": 20.0}])
def test_flows_that_are_not_bulk_or_not_on_have_no_fair_share(changes: dict[str, Any]) -> None:
    found = whole(goodputs(1000, 1000), flow("a"), flow("b", **changes), queues=QUEUES)
    assert found.flows[1]["goodput_to_fair_share"] is None


def test_a_flow_that_has_ended_is_not_limited_by_its_application() -> None:
    rows = [limited(4.0, 0, 0, 0), limited(8.0, 4.0, 0, 0), limited(10.0, 4.0, 0, 0)]
    found = whole(rows, flow("a", start_s=4.0, ended_s=8.0)).flows[0]
    assert found["app_limited_share"] == 0.0


def completed(**changes: Any) -> Any:
    return whole([], flow("a", start_s=1.5, **changes)).flows[0]["completion_time_s"]


def test_a_flow_is_complete_when_its_receiver_has_everything() -> None:
    assert completed(ended_s=4.2) == pytest.approx(2.7)
    assert completed(ended_s=4.2, stop_s=5.0) == pytest.approx(2.7)


def test_only_bulk_flows_that_end_by_themselves_in_the_span_have_a_completion_time() -> None:
    assert completed() is None
    assert completed(ended_s=4.2, traffic="onoff") is None
    assert completed(ended_s=4.0, stop_s=4.0) is None
    assert completed(ended_s=4.2, outcome="timed_out") is None
    assert completed(ended_s=1.8) is None  # in the warm-up
