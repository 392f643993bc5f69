"""Metrics of flows and of their run, against values computed by hand."""

from __future__ import annotations

import pytest

from orchestrator.recording.model import FlowRecord
from results import metrics
from results.records.model import WHOLE, Values
from tests.support.metrics_flows import Data, compute, of_flow, receiver, sender
from tests.support.recordings import Rows, flow


def of_run(rows: Rows, *flows: FlowRecord) -> Values:
    return compute(rows, *flows)[WHOLE].run


def test_goodput_is_what_the_application_read_between_the_edges() -> None:
    rows = [
        receiver(1.9, 900_000),
        receiver(2.0, 1_000_000),
        receiver(5.0, 4_001_000, rqueue_bytes=1_000),
        receiver(10.0, 9_000_000),
        receiver(10.1, 9_500_000),
    ]
    windows = compute(rows)
    assert windows[WHOLE].run["goodput_bps"] == 8_000_000 * 8 / 8
    assert windows["quiet"].flows[0]["goodput_bps"] == 4_000_000 * 8 / 5


@pytest.mark.parametrize(("late_us", "expected_bytes"), [(10, 8_000), (11, 9_000)])
def test_a_sample_ten_microseconds_late_is_still_at_the_edge(
    late_us: int, expected_bytes: int
) -> None:
    rows = [receiver(1.0, 0), receiver(2.0 + late_us / 1e6, 1_000), receiver(10.0, 9_000)]
    assert of_flow(rows)["goodput_bps"] == pytest.approx(expected_bytes * 8 / 8)


def test_a_flow_has_nothing_before_its_first_sample_and_keeps_what_it_had_at_its_end() -> None:
    rows = [receiver(4.0, 1_000), receiver(6.0, 8_000)]
    windows = compute(rows)
    assert windows[WHOLE].flows[0]["goodput_bps"] == 8_000
    assert windows["quiet"].flows[0]["goodput_bps"] == 1_000 * 8 / 5


@pytest.mark.parametrize(
    ("state", "queued", "expected_bytes"),
    [
        (1, 0, 8_001),  # ESTABLISHED: no FIN yet, all is data
        (8, 0, 8_000),  # CLOSE_WAIT, read to the end: the last is the FIN
        (8, 401, 7_600),  # CLOSE_WAIT, 400 bytes and the FIN not yet read
        (9, 0, 8_000),  # LAST_ACK
    ],
)
def test_the_fin_is_no_byte(state: int, queued: int, expected_bytes: int) -> None:
    rows = [receiver(2.0, 0), receiver(10.0, 8_001, state=state, rqueue_bytes=queued)]
    assert of_flow(rows)["goodput_bps"] == expected_bytes * 8 / 8


def test_without_a_receiver_there_is_no_goodput() -> None:
    assert of_flow([sender(2.0), sender(10.0)])["goodput_bps"] is None


def test_a_connection_that_never_came_about_has_a_goodput_of_zero() -> None:
    starved = [{**sender(time_s, state=2), "flow": 1} for time_s in (2.0, 10.0)]
    windows = compute([receiver(2.0, 0), receiver(10.0, 8_000), *starved], flow("a"), flow("b"))
    assert [each["goodput_bps"] for each in windows[WHOLE].flows] == [8_000, 0]
    assert windows[WHOLE].run["jain_index"] == 0.5


@pytest.mark.parametrize(("options", "header_bytes"), [(0, 54), (7, 66), (6, 54)])
def test_throughput_counts_headers_and_retransmissions(options: int, header_bytes: int) -> None:
    rows = [
        sender(2.0, bytes_sent=1_000, data_segs_out=10, options=options),
        sender(10.0, bytes_sent=9_000, data_segs_out=110, options=options),
    ]
    assert of_flow(rows)["throughput_bps"] == 8_000 + 100 * header_bytes


def test_jain_index_of_unequal_flows() -> None:
    rows = [
        {"flow": index, **receiver(time_s, size)}
        for index, end in enumerate((1_000, 2_000, 3_000))
        for time_s, size in ((2.0, 0), (10.0, end))
    ]
    flows = [flow("a"), flow("b"), flow("c")]
    found = of_run(rows, *flows)
    assert found["jain_index"] == pytest.approx(36 / (3 * 14))
    assert found["goodput_bps"] == 6_000


def test_jain_index_leaves_out_flows_that_are_not_on() -> None:
    rows = [{"flow": 0, **receiver(2.0, 0)}, {"flow": 0, **receiver(10.0, 1_000)}]
    late = flow("late", start_s=10.0)
    early = flow("early", stop_s=2.0)
    assert of_run(rows, flow(), late, early)["jain_index"] == 1.0


@pytest.mark.parametrize("after", [[], [sender(10.0, state=5)]])
def test_jain_index_leaves_out_flows_that_sent_their_bytes_before(after: Rows) -> None:
    rows = [
        *({"flow": 1, **row} for row in (receiver(1.0, 500), sender(1.5, state=5), *after)),
        *(receiver(2.0, 0), receiver(10.0, 1_000)),
        *(sender(2.0), sender(10.0)),
    ]
    assert of_run(rows, flow("a"), flow("done"))["jain_index"] == 1.0


@pytest.mark.parametrize("rows", [[], [receiver(2.0, 5), receiver(10.0, 5)]])
def test_jain_index_of_nothing_is_null(rows: Rows) -> None:
    assert of_run(rows)["jain_index"] is None


def test_jain_index_needs_every_flow() -> None:
    rows = [receiver(2.0, 0), receiver(10.0, 1_000)]
    assert of_run(rows, flow("a"), flow("unseen"))["jain_index"] is None


def test_retransmissions() -> None:
    rows = [
        sender(2.0, data_segs_out=100, total_retrans_segments=1, dsack_dups=0),
        sender(10.0, data_segs_out=300, total_retrans_segments=11, dsack_dups=4),
    ]
    found = of_flow(rows)
    assert found["retransmitted_segments"] == 10
    assert isinstance(found["retransmitted_segments"], int)
    assert found["retransmission_ratio"] == 10 / 200
    assert found["loss_ratio"] == 6 / 200
    assert of_run(rows)["retransmission_ratio"] == 10 / 200


def test_acks_for_each_segment_are_those_without_data() -> None:
    rows = [
        sender(2.0, data_segs_out=100, segs_in=60, data_segs_in=10),
        sender(10.0, data_segs_out=300, segs_in=130, data_segs_in=20),
    ]
    assert of_flow(rows)["acks_per_segment"] == of_run(rows)["acks_per_segment"] == 60 / 200
    rows[1]["data_segs_out"] = 100
    assert of_flow(rows)["acks_per_segment"] is None


def test_ratios_of_nothing_sent_are_null() -> None:
    rows = [sender(2.0, data_segs_out=5), sender(10.0, data_segs_out=5)]
    found = of_flow(rows)
    assert (found["retransmission_ratio"], found["loss_ratio"]) == (None, None)


def test_rtt_is_of_samples_after_warmup() -> None:
    values_us = [100_000, 110_000, 120_000, 190_000]
    rows = [
        sender(1.0, rtt_us=999_000),  # warm-up
        *(sender(2.0 + index, rtt_us=rtt) for index, rtt in enumerate(values_us)),
        sender(9.0, rtt_us=0),  # not measured
        sender(10.1, rtt_us=999_000),  # too late
    ]
    found = of_flow(rows)
    assert found["rtt_min_s"] == 0.1
    assert found["rtt_max_s"] == 0.999  # unlike the others it counts the warm-up
    assert found["rtt_mean_s"] == pytest.approx(0.13)
    assert found["rtt_p50_s"] == 0.11
    assert found["rtt_p95_s"] == 0.19
    assert found["queueing_delay_mean_s"] == pytest.approx(0.03)


def test_rtt_is_of_samples_while_the_flow_runs() -> None:
    rows = [
        sender(3.0, rtt_us=500_000),
        sender(4.0, rtt_us=100_000),
        sender(5.0, rtt_us=100_000, state=4),  # FIN_WAIT1: still sending what is queued
        sender(6.0, rtt_us=500_000, state=5),  # FIN_WAIT2: all is acknowledged
        sender(8.0, rtt_us=500_000),
    ]
    assert of_flow(rows, flow(start_s=3.5, stop_s=7.0))["rtt_max_s"] == 0.1


def test_rtt_of_a_run_is_of_all_samples() -> None:
    rows = [
        {"flow": 0, **sender(3.0, rtt_us=100_000)},
        {"flow": 1, **sender(3.0, rtt_us=200_000)},
        {"flow": 1, **sender(4.0, rtt_us=300_000)},
    ]
    assert of_run(rows, flow("a"), flow("b"))["rtt_mean_s"] == pytest.approx(0.2)


def test_nothing_is_known_without_samples() -> None:
    windows = compute([])
    for values in (windows[WHOLE].run, windows[WHOLE].flows[0]):
        assert values.pop("connections_failed") == 0  # ends of flows are no samples
        assert set(values.values()) == {None}


def test_nothing_is_known_of_an_empty_span() -> None:
    data = Data([receiver(2.0, 0), receiver(10.0, 1_000)])
    data.warmup_s = 10.0
    assert metrics.compute(data)[WHOLE].run["goodput_bps"] is None
