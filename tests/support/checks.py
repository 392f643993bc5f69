"""Recordings of test beds that checks judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from orchestrator.fidelity.evidence import Evidence
from orchestrator.planning.plan import plan
from orchestrator.recording.model import (
    QUEUE_DTYPE,
    STATISTIC_SLOTS,
    Check,
    FlowRecord,
    QueueRecord,
)
from orchestrator.scenario import load

QUICKSTART = Path(__file__).resolve().parents[2] / "scenarios" / "quickstart.yaml"


FRAME_NS = 1_211_200  # 1514 bytes at 10 Mbit/s


BEHIND_NS = FRAME_NS + 10_000_000  # the transmission of a frame, and the bottleneck's delay


def evidence(
    facts: Sequence[Mapping[str, Any]] = (),
    samples: list[tuple[int, ...]] | None = None,
    flows: list[FlowRecord] | None = None,
    overrides: tuple[str, ...] = (),
) -> Evidence:
    """Return evidence about the quickstart's network and its two forward bottleneck qdiscs."""
    (run,) = plan(load(QUICKSTART, overrides)).runs
    queues = [
        QueueRecord("q", "bottleneck", "forward", "queue", "droptail", True, rate_bps=10_000_000),
        QueueRecord("d", "bottleneck", "forward", "delay", "netem", False),
        QueueRecord("e", "a_src0", "forward", "delay", "netem", False),
    ]
    rows = np.array(samples or [], dtype=QUEUE_DTYPE)
    return Evidence(run.network, list(facts), flows or [], queues, rows)


def only(checks: Any) -> Check:
    (check,) = checks
    assert isinstance(check, Check)
    return check


def trip(measured_ns: int | None) -> dict[str, Any]:
    return {
        "fact": "round_trip", "source": "a_src0", "sink": "a_dst0", "frame_bytes": 50,
        "expected_ns": 100_000_000, "attempts": 12, "measured_ns": measured_ns,
    }  # fmt: skip


def burst(gap_ns: int = FRAME_NS, frames: int = 100, came: int = 160) -> dict[str, Any]:
    """A burst that came at once to a queue of 100 packets, which took ``frames`` of it.

    The one before them was transmitted at once.
    """
    passed = [[0, n, 0, n * gap_ns + BEHIND_NS] for n in range(1 + frames)]
    return {
        "fact": "burst", "channel": "bottleneck:forward", "rate_bps": 10_000_000, "came": came,
        "frame_bytes": 1514, "queue_packets": 100, "behind_ns": BEHIND_NS, "passed": passed,
    }  # fmt: skip


def small(*left_ns: int) -> dict[str, Any]:
    """A burst of 50-byte frames, which take 40 us each, by when each one left the link."""
    passed = [[0, n, 0, time_ns] for n, time_ns in enumerate(left_ns)]
    return {
        **burst(), "frame_bytes": 50, "queue_packets": None, "behind_ns": 10_040_000,
        "came": len(left_ns), "passed": passed,
    }  # fmt: skip


def sample(
    time_ns: int, queue: int, octets: int = 0, packets: int = 0, drops: int = 0, backlog: int = 0
) -> tuple[int, ...]:
    own = [0] * STATISTIC_SLOTS
    return (time_ns, queue, octets, packets, drops, 0, 0, backlog, backlog // 1514, *own)


def quiet(rx_dropped: int = 0, softnet: int = 0, gso: bool = False) -> list[dict[str, Any]]:
    """Facts about interfaces and the CPU before and after traffic."""
    facts: list[dict[str, Any]] = []
    for at, dropped, lost in (("start", 1, 5), ("end", 1 + rx_dropped, 5 + softnet)):
        state = {"offloads": {"gso": gso, "tso": False}, "rx_dropped": dropped, "tx_dropped": 0}
        facts.append({"fact": "interfaces", "at": at, "interfaces": {"h/eth0": state}})
        facts.append({"fact": "softnet", "at": at, "drops": lost})
    return facts


def ticks(rate_bps: float, backlog: int, count: int = 100) -> list[tuple[int, ...]]:
    """A queue sampled every 100 ms that sends at ``rate_bps``."""
    return [
        sample(n * 100_000_000, 0, octets=int(n * rate_bps / 80), backlog=backlog)
        for n in range(count)
    ]


def state(at: str, *differences: list[str]) -> dict[str, Any]:
    return {"fact": "host_state", "at": at, "settings": 90, "differences": list(differences)}
