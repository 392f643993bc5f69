"""Recordings of datagrams."""

from __future__ import annotations

from orchestrator.recording.model import Recording
from tests.support.recordings import datagrams, flow, recording, transfers

UDP = flow("u", transport="udp", traffic="cbr", congestion_asked=None, congestion_control=None,
           engine="udp", congestion_fields=())  # fmt: skip


def mixed() -> Recording:
    """A bulk flow, a UDP flow and a flow that makes transfers, two of them at one time."""
    return recording(
        [{"time_s": 10.0, "endpoint": 1, "bytes_received": 1_000}],
        flows=[flow("a"), UDP, flow("w", traffic="web")],
        datagrams=datagrams(
            [
                {"time_s": 2.0, "flow": 1, "sent_packets": 4},
                {"time_s": 10.0, "flow": 1, "sent_packets": 9, "sent_bytes": 900,
                 "received_packets": 5, "received_bytes": 500, "expected_packets": 6,
                 "delay_sum_ns": 5 * 10**7, "delay_min_ns": 9 * 10**6, "delay_max_ns": 11 * 10**6},
            ]
        ),
        transfers=transfers([(2, 3.0, 4.0, 100), (2, 3.0, None, 60), (2, 5.0, 7.0, 200)]),
    )  # fmt: skip
