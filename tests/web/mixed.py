"""A stored run with many samples, a UDP flow and a flow that makes transfers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import DATAGRAM_DTYPE, TRANSFER_DTYPE, Recording
from results.store.store import Store
from tests.web import synthetic

TRANSFERS = 400
DELAY_S = 0.05
LOST = 0.1
"""Share of the UDP flow's packets that are lost from 20 to 40 s."""


def recording() -> Recording:
    """Return it: flows ``fast``, ``slow`` (of twice the base RTT), ``call`` and ``pages``."""
    made = synthetic.recording(
        flows=(
            synthetic.flow("fast", "reno"),
            replace(synthetic.flow("slow", "cubic"), base_rtt_s=2 * synthetic.BASE_RTT_S),
        ),
        period_s=0.01,
    )
    made.flows += [
        replace(
            synthetic.flow("call", ""), transport="udp", traffic="cbr", engine="udp",
            congestion_asked=None, congestion_control=None,
        ),
        replace(synthetic.flow("pages", "reno"), traffic="web"),
    ]  # fmt: skip
    made.datagrams, made.transfers = _datagrams(2), _transfers(3)
    return made


def _datagrams(flow: int) -> npt.NDArray[np.void]:
    """Return samples each 0.1 s of 50 packets a second. A delay is DELAY_S to twice that."""
    rows = np.zeros(601, DATAGRAM_DTYPE)
    ticks = np.arange(601)
    lossy = np.clip(ticks - 200, 0, 200)
    rows["time_ns"], rows["flow"] = ticks * 10**8, flow
    rows["sent_packets"] = rows["expected_packets"] = 50 * ticks
    rows["received_packets"] = 50 * ticks - (lossy * 50 * LOST).astype(np.int64)
    rows["received_bytes"] = 1000 * rows["received_packets"]
    rows["delay_sum_ns"] = rows["received_packets"] * round(1.2 * DELAY_S * 1e9)
    rows["delay_min_ns"], rows["delay_max_ns"] = DELAY_S * 1e9, 2 * DELAY_S * 1e9
    return rows


def _transfers(flow: int) -> npt.NDArray[np.void]:
    """Return transfers that take 10 ms to 40 s; the last one does not complete."""
    rows = np.zeros(TRANSFERS, TRANSFER_DTYPE)
    rows["flow"], rows["bytes"] = flow, 10_000
    rows["start_ns"] = np.arange(TRANSFERS) * 4 * 10**7
    rows["end_ns"] = rows["start_ns"] + np.geomspace(1e7, 4e10, TRANSFERS).astype(np.int64)
    rows["end_ns"][-1] = -1
    return rows


def fill(path: Path) -> str:
    """Make a store with this run, and return its id."""
    with Store(path) as store:
        run = store.begin(synthetic.HEAD)
        store.finish(run, recording(), wall_s=2.3)
    return run
