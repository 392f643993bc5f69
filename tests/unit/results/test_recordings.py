"""Synthetic recordings that the tests of the store start from, and how samples are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import StoreError
from orchestrator.recording.model import (
    DATAGRAM_DTYPE,
    QUEUE_DTYPE,
    RECEIVER,
    SENDER,
    SSTHRESH_INFINITE,
    TCP_DTYPE,
    TRANSFER_DTYPE,
    Check,
    FlowRecord,
    QueueRecord,
    Recording,
)
from orchestrator.windows import Window
from results.model import RunHead
from results.samples import queue_series, tcp_series

Rows = Sequence[dict[str, Any]]

UNLIMITED = 2**64 - 1


def head(**changes: Any) -> RunHead:
    """A run of 10 s, 2 s of them warm-up, with one window."""
    base = RunHead(
        experiment="trial",
        scenario="quickstart",
        description="Two flows.",
        variant={"flows.a.congestion": "reno"},
        repetition=0,
        seed=1,
        backend="guest",
        duration_s=10.0,
        warmup_s=2.0,
        windows=(Window("quiet", 0.0, 5.0),),
        scenario_text="version: 1\n",
        scenario_sha256="5a",
        link_model=1,
        digest_version=2,
        resolved={"seed": 1, "flows": [{"name": "a", "congestion": "reno"}]},
        links=[{"name": "bottleneck"}],
        git_commit="abc",
    )
    return replace(base, **changes)


def flow(name: str = "a", **changes: Any) -> FlowRecord:
    """A flow from the start to the end over the bottleneck, with a base RTT of 100 ms."""
    base = FlowRecord(
        name=name,
        group="g",
        source="s",
        sink="d",
        engine="builtin",
        congestion_asked="reno",
        congestion_control="reno",
        start_s=0.0,
        stop_s=None,
        base_rtt_s=0.1,
        base_rtt_measured_s=0.1002,
        path=("bottleneck:forward",),
        congestion_fields=(("enabled", ""), ("min_rtt", "us")),
    )
    return replace(base, **changes)


def queue(link: str = "bottleneck", **changes: Any) -> QueueRecord:
    """A forward bottleneck queue of 10 Mbit/s."""
    base = QueueRecord(
        name="",
        link=link,
        direction="forward",
        role="queue",
        kind="droptail",
        bottleneck=True,
        rate_bps=10_000_000,
        limit_packets=100,
    )
    new = replace(base, **changes)
    return replace(new, name=f"{new.link}:{new.direction}:{new.role}")


def array(dtype: np.dtype[np.void], rows: Rows) -> npt.NDArray[np.void]:
    """An array of samples in the order given; fields that are not named are zero."""
    out = np.zeros(len(rows), dtype)
    for index, row in enumerate(rows):
        for name, value in row.items():
            if name == "time_s":
                out["time_ns"][index] = round(value * 1e9)
            else:
                out[name][index] = value
    return out


def tcp(rows: Rows) -> npt.NDArray[np.void]:
    """TCP samples; an end is established, its ssthresh infinite and its pacing free by default."""
    usual = {
        "state": 1,
        "snd_ssthresh_segments": SSTHRESH_INFINITE,
        "pacing_rate_bytes_per_s": UNLIMITED,
        "max_pacing_rate_bytes_per_s": UNLIMITED,
    }
    return array(TCP_DTYPE, [usual | row for row in rows])


def datagrams(rows: Rows) -> npt.NDArray[np.void]:
    """Samples of UDP flows; nothing came unless it is said."""
    nothing = {"delay_min_ns": -1, "delay_max_ns": -1}
    return array(DATAGRAM_DTYPE, [nothing | row for row in rows])


def transfers(rows: Sequence[tuple[int, float, float | None, int]]) -> npt.NDArray[np.void]:
    """Transfers as (flow, start in s, end in s or None, bytes)."""
    return np.array(
        [
            (flow, round(start * 1e9), -1 if end is None else round(end * 1e9), size)
            for flow, start, end, size in rows
        ],
        TRANSFER_DTYPE,
    )


def recording(
    tcp_rows: Rows = (),
    queue_rows: Rows = (),
    flows: Sequence[FlowRecord] = (),
    queues: Sequence[QueueRecord] = (),
    **changes: Any,
) -> Recording:
    """A recording of those samples; one flow and one queue unless others are given."""
    base = Recording(
        kernel="6.12.0",
        simulated_s=10.0,
        digest="d1",
        verdict="faithful",
        flows=list(flows or [flow()]),
        queues=list(queues or [queue()]),
        checks=[
            Check("base_rtt", "s", 0.1, 0.1002, 0.001, True),
            Check("congestion_control", "", "reno", "reno", None, True),
            Check("queue_rtt", "s", 0.2, None, 0.01, None, "the queue was never full"),
        ],
        tcp=tcp(tcp_rows),
        queue_samples=array(QUEUE_DTYPE, queue_rows),
        provenance={"sysctls": {"net.ipv4.tcp_sack": 1}, "modules": {"tcp_reno": "1f"}},
        console="Linux version 6.12\n",
        log="ready\n",
    )
    return replace(base, **changes)


def whole() -> Recording:
    """A recording with something of everything."""
    return recording(
        [
            {
                "time_s": 2.0,
                "endpoint": SENDER,
                "rtt_us": 100_000,
                "bytes_sent": 1,
                "congestion_1": 7,
            },
            {"time_s": 2.0, "endpoint": RECEIVER, "bytes_received": 1_000},
            {"time_s": 10.0, "endpoint": SENDER, "rtt_us": 120_000, "snd_ssthresh_segments": 9},
            {"time_s": 10.0, "endpoint": RECEIVER, "bytes_received": 1_001_000},
        ],
        [
            {"time_s": 0.0, "bytes": 500},
            {"time_s": 2.0, "bytes": 1_000, "backlog_bytes": 1_250},
            {"time_s": 10.0, "bytes": 8_001_000, "packets": 90, "drops": 10},
        ],
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
