"""Synthetic recordings that the tests of the store start from, and how samples are told apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import StoreError
from orchestrator.recording.model import (
    QUEUE_DTYPE,
    RECEIVER,
    SENDER,
)
from results.samples.sample_tables import queue_series, tcp_series
from tests.support.recordings import (
    array,
    tcp,
)


def test_series_are_in_the_order_of_time_and_told_apart() -> None:
    samples = tcp(
        [
            {"time_s": 2.0, "flow": 1, "endpoint": RECEIVER, "bytes_received": 5},
            {"time_s": 3.0, "flow": 0, "endpoint": SENDER, "bytes_sent": 4},
            {"time_s": 1.0, "flow": 0, "endpoint": SENDER, "bytes_sent": 2},
        ]
    )
    series = tcp_series(samples, 2)
    assert list(series) == [(0, SENDER), (1, RECEIVER)]
    assert series.columns((0, SENDER))["bytes_sent"].tolist() == [2, 4]
    assert series.columns((1, RECEIVER))["bytes_received"].tolist() == [5]
    assert series.columns((1, SENDER))["bytes_sent"].tolist() == []


def test_of_samples_at_one_time_the_last_is_kept() -> None:
    samples = tcp([{"time_s": 1.0, "bytes_sent": size} for size in (3, 1, 2)])
    assert tcp_series(samples, 1).columns((0, SENDER))["bytes_sent"].tolist() == [2]


def test_what_the_kernel_calls_infinite_is_not_a_number() -> None:
    columns = tcp_series(
        tcp([{"time_s": 1.0}, {"time_s": 2.0, "snd_ssthresh_segments": 9}]), 1
    ).columns((0, SENDER))
    assert np.isnan(columns["snd_ssthresh_segments"][0])
    assert columns["snd_ssthresh_segments"][1] == 9
    assert np.isnan(columns["max_pacing_rate_bytes_per_s"]).all()


def test_a_sample_of_no_flow_is_refused() -> None:
    with pytest.raises(StoreError, match=r"flow is not within 0\.\.0"):
        tcp_series(tcp([{"flow": 1}]), 1)
    with pytest.raises(StoreError, match="queue is not within"):
        queue_series(array(QUEUE_DTYPE, [{"queue": -1}]), 1)


def test_samples_of_another_layout_are_refused() -> None:
    with pytest.raises(StoreError, match="not of"):
        tcp_series(np.zeros(1, QUEUE_DTYPE), 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=40))
def test_series_hold_every_moment_once(drawn: list[tuple[int, int]]) -> None:
    rows = [{"queue": key, "time_ns": time} for key, time in drawn]
    series = queue_series(array(QUEUE_DTYPE, rows), 4)
    found = [
        (key, time) for (key,) in series for time in series.columns((key,))["time_ns"].tolist()
    ]
    assert found == sorted(set(drawn))
