"""A store with runs like the quickstart's, from a small fluid model of AIMD."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import (
    QUEUE_DTYPE,
    RECEIVER,
    SENDER,
    SENDER_STATE_DTYPE,
    SSTHRESH_INFINITE,
    STATISTIC_SLOTS,
    TCP_DTYPE,
    Check,
    FlowRecord,
    QueueRecord,
    Recording,
)
from orchestrator.windows import Window
from results.records.model import RunHead
from results.store.store import Store

RATE_BPS = 10_000_000
LIMIT_PACKETS = 100
BASE_RTT_S = 0.1
PACKET_BYTES = 1514
MSS_BYTES = 1448
NASTY = "<script>alert('x')</script>"

HEAD = RunHead(
    experiment="quickstart",
    scenario="quickstart",
    description="Westwood+ and NewReno share a 10 Mbit/s bottleneck.",
    variant={"topology.bottleneck.rate": "10mbit"},
    repetition=0,
    seed=1,
    backend="guest",
    duration_s=60.0,
    warmup_s=10.0,
    windows=(),
    scenario_text="version: 1\nname: quickstart\n",
    scenario_sha256="ab" * 32,
    link_model=1,
    digest_version=2,
    metrics_grid_s=0.1,
    resolved={"version": 1, "name": "quickstart"},
    git_commit="c0ffee" * 6 + "c0ff",
)


def flow(name: str, congestion: str, start_s: float = 0.0) -> FlowRecord:
    """Return a flow over the bottleneck."""
    return FlowRecord(
        name=name,
        group=name[:1],
        source=f"{name[:1]}l0",
        sink=f"{name[:1]}r0",
        engine="builtin",
        congestion_asked=congestion,
        congestion_control=congestion,
        start_s=start_s,
        stop_s=None,
        base_rtt_s=BASE_RTT_S,
        base_rtt_measured_s=0.10012,
        path=("bottleneck:forward",),
    )


def channel(link: str, direction: Literal["forward", "reverse"]) -> tuple[QueueRecord, ...]:
    """Return the qdiscs of a channel. Only the link "bottleneck" is one, and "access" loses."""
    name = f"{link}:{direction}"
    if link == "bottleneck":
        return (
            QueueRecord(
                f"{name}:queue", link, direction, "queue", "bfifo", True,
                rate_bps=RATE_BPS, limit_packets=LIMIT_PACKETS, delay_s=0.02, loss=0.0,
            ),
        )  # fmt: skip
    return (
        QueueRecord(
            f"{name}:queue", link, direction, "queue", "bfifo", False,
            rate_bps=RATE_BPS, limit_packets=LIMIT_PACKETS,
        ),
        QueueRecord(
            f"{name}:delay", link, direction, "delay", "netem", False,
            limit_packets=1000, delay_s=0.01, loss=0.02,
        ),
    )  # fmt: skip


def recording(
    flows: tuple[FlowRecord, ...] = (flow("westwood", "westwood"), flow("reno", "reno", 0.1)),
    duration_s: float = 60.0,
    period_s: float = 0.1,
) -> Recording:
    """Return the recording of such a run."""
    queues = [
        queue
        for link in ("bottleneck", "access")
        for direction in ("forward", "reverse")
        for queue in channel(link, direction)
    ]
    tcp, samples = _simulate(flows, duration_s, period_s)
    return Recording(
        kernel="6.12.57",
        simulated_s=duration_s,
        digest="0123456789abcdef" * 4,
        verdict="faithful",
        flows=list(flows),
        queues=queues,
        checks=[
            Check("base RTT of westwood", "s", 0.1, 0.10012, 0.001, ok=True),
            Check("bottleneck rate when backlogged", "bit/s", 1e7, 9_999_120.0, 2e5, ok=True),
            Check("offloads", "", "off", "off", None, ok=True, detail="every interface"),
            Check("loss at a full queue", "1", 0.0, None, 0.001, ok=None, detail="too few packets"),
        ],
        tcp=tcp,
        queue_samples=samples,
        sender_states=_states(tcp),
        provenance={"kernel": "6.12.57", "sysctls": {"net.ipv4.tcp_sack": 1}, "note": NASTY},
        console="[    0.000000] Linux version 6.12.57\n",
        log="set up in 0.8 s\n",
    )


def _simulate(
    flows: tuple[FlowRecord, ...], duration_s: float, period_s: float
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
    """Run the model: windows grow by one in each RTT; a full queue halves the largest one."""
    steps = round(duration_s / period_s) + 1
    tcp = np.zeros(steps * len(flows) * 2, TCP_DTYPE)
    queue = np.zeros(steps, QUEUE_DTYPE)
    cwnd = np.full(len(flows), 10.0)
    ssthresh = np.full(len(flows), float(SSTHRESH_INFINITE))
    sent = np.zeros(len(flows))
    pipe = RATE_BPS * BASE_RTT_S / 8 / PACKET_BYTES
    drops, row = 0, 0
    for step in range(steps):
        time_s = step * period_s
        active = np.array([time_s >= one.start_s for one in flows])
        backlog = min(max(float(cwnd[active].sum()) - pipe, 0.0), LIMIT_PACKETS)
        rtt_s = BASE_RTT_S + backlog * PACKET_BYTES * 8 / RATE_BPS
        sent += active * cwnd * MSS_BYTES * period_s / rtt_s
        queue[step] = (
            round(time_s * 1e9), 0, int(sent.sum()), int(sent.sum() / MSS_BYTES), drops, 0, 0,
            int(backlog * PACKET_BYTES), int(backlog), *[0] * STATISTIC_SLOTS,
        )  # fmt: skip
        for index in np.flatnonzero(active):
            for endpoint in (SENDER, RECEIVER):
                sample = tcp[row]
                sample["time_ns"] = round(time_s * 1e9)
                sample["flow"], sample["endpoint"] = index, endpoint
                sample["state"] = 1
                sample["snd_cwnd_segments"] = int(cwnd[index])
                sample["snd_ssthresh_segments"] = int(ssthresh[index])
                sample["rtt_us"] = int(rtt_s * 1e6)
                counter = "bytes_acked" if endpoint == SENDER else "bytes_received"
                sample[counter] = int(sent[index])
                row += 1
        slow_start = cwnd < ssthresh
        cwnd = np.where(slow_start, cwnd * 2 ** (period_s / rtt_s), cwnd + period_s / rtt_s)
        if cwnd.sum() - pipe > LIMIT_PACKETS:
            largest = int(np.argmax(cwnd))
            drops += 7
            ssthresh[largest] = cwnd[largest] * (0.5 + 0.15 * (largest == 0))
            cwnd[largest] = ssthresh[largest]
    return tcp[:row], queue


def _states(tcp: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return what the metrics' grid finds of senders: the states of their samples."""
    sent = tcp[tcp["endpoint"] == SENDER]
    states = np.zeros(len(sent), SENDER_STATE_DTYPE)
    for name in set(SENDER_STATE_DTYPE.names or ()) & set(TCP_DTYPE.names or ()):
        states[name] = sent[name]
    return states


def fill(path: Path) -> dict[str, str]:
    """Make a store with one run of each kind; return their ids by kind."""
    ids = {}
    with Store(path) as store:
        ids["ok"] = store.begin(HEAD)
        store.finish(ids["ok"], recording(), wall_s=2.31)
        ids["off"] = store.begin(
            replace(
                HEAD, variant={"flows.reno.congestion": "cubic"}, seed=2, repetition=1,
                windows=(Window("quiet", 10.0, 30.0), Window("late", 30.0, 60.0)),
            )
        )  # fmt: skip
        off = recording()
        off.verdict = "unfaithful"
        off.checks[1] = Check(
            "bottleneck rate when backlogged", "bit/s", 1e7, 9_500_000.0, 2e5, ok=False,
            detail="over 812 busy samples",
        )  # fmt: skip
        off.flows[1] = replace(off.flows[1], congestion_control="cubic")
        store.finish(ids["off"], off, wall_s=2.4)
        ids["failed"] = store.begin(
            replace(HEAD, scenario=NASTY, description=NASTY, experiment="broken", seed=3)
        )
        store.fail(ids["failed"], f"the guest ended early: {NASTY}", console="Kernel panic\n" * 99)
        ids["interrupted"] = store.begin(replace(HEAD, seed=4))
        store.fail(ids["interrupted"], "interrupted by the user", status="interrupted")
        ids["running"] = store.begin(replace(HEAD, scenario="still-going", seed=5))
    return ids
