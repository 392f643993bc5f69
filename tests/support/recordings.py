"""Recordings that are made up, with known samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.recording.counters import CounterNames
from orchestrator.recording.model import (
    COUNTER_DTYPE,
    DATAGRAM_DTYPE,
    QUEUE_DTYPE,
    RECEIVER,
    SENDER,
    SENDER_STATE_DTYPE,
    SOJOURN_DTYPE,
    SSTHRESH_INFINITE,
    TCP_DTYPE,
    TOTAL,
    TRANSFER_DTYPE,
    Check,
    FlowRecord,
    QueueRecord,
    Recording,
)
from orchestrator.windows import Window
from results.records.links import ChannelSummary, LinkSummary
from results.records.model import RunHead

Rows = Sequence[dict[str, Any]]


UNLIMITED = 2**64 - 1


GRID_S = 0.1


CHANNEL = ChannelSummary(
    rate_bps=10_000_000, delay_s=0.01, loss=0.0, bottleneck=True, queue_kind="droptail",
    limit_packets=100, limit_bytes=None,
)  # fmt: skip
"""Of the head's link, in both directions."""

_STATE_NAMES = {"time_s", *(SENDER_STATE_DTYPE.names or ())}


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
        links=(LinkSummary("bottleneck", "r1", "r2", CHANNEL, CHANNEL),),
        git_commit="abc",
        metrics_grid_s=GRID_S,
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


COUNTED = CounterNames((("s",), ("d",)), ("TcpExt:TCPTimeouts", "TcpExt:TCPLossProbes"))
"""What :func:`whole` counts of its hosts."""

PROVENANCE: dict[str, Any] = {
    "sysctls": {"net.ipv4.tcp_sack": 1},
    "modules": {"tcp_reno": "1f"},
}

SIMULATED_S = 10.0
"""Of every recording here; a test bed reports nothing after its end."""


def sender_states(rows: Rows) -> npt.NDArray[np.void]:
    """What the metrics' grid of 100 ms shows of senders: each row holds until the next time."""
    found = []
    for row in rows:
        if row.get("endpoint", SENDER) != SENDER or "time_s" not in row:
            continue
        known = {name: value for name, value in row.items() if name in _STATE_NAMES}
        state = {"state": 1, "estimate_bytes_per_s": row.get("congestion_0", 0)} | known
        gone = {"time_s": row["time_s"] + GRID_S, "flow": row.get("flow", 0), "state": 7}
        found += [state, gone] if gone["time_s"] <= SIMULATED_S else [state]
    states = array(SENDER_STATE_DTYPE, found)
    order = np.lexsort((states["state"] != 7, states["time_ns"], states["flow"]))
    return states[order]


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
        simulated_s=SIMULATED_S,
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
        sender_states=sender_states(tcp_rows),
        queue_samples=array(QUEUE_DTYPE, queue_rows),
        provenance=dict(PROVENANCE),
        console="Linux version 6.12\n",
        log="ready\n",
    )
    return replace(base, **changes)


def whole() -> Recording:
    """A recording of 10 s with something of everything."""
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
        sojourn=np.array(
            [
                (time_ns, 0, bucket, 3, 1500 * (bucket == TOTAL), 900 * (bucket == TOTAL), 0, 0)
                for time_ns in (2_000_000_000, 5_000_000_000, 10_000_000_000)
                for bucket in (TOTAL, 60)
            ],
            SOJOURN_DTYPE,
        ),
        counters=np.array([(10_000_000_000, 0, 0, 1)], COUNTER_DTYPE),
        provenance={**PROVENANCE, "counters": COUNTED.document()},
        checks=[
            Check("base_rtt", "s", 0.1, 0.1002, 0.001, True),
            Check("congestion_control", "", "reno", "reno", None, True),
        ],
    )
