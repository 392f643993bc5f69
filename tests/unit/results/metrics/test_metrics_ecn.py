"""Packets, segments and bytes by their ECN field, of hosts and of tcp_info."""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.recording.counters import ECN_PACKETS, KEPT, CounterNames
from orchestrator.recording.model import (
    ABSENT,
    COUNTER_DTYPE,
    ECN_COUNTERS,
    ECN_STATES,
    RECEIVER,
)
from results import metrics
from results.records.model import WHOLE, Values
from tests.support.metrics_flows import Data, sender
from tests.support.recordings import flow

NAMES = tuple(ECN_PACKETS.values())
OF_HOSTS = ("ce_packets", "ect0_packets", "ect1_packets", "not_ect_packets")
RECEIVED = ("received_ce_segments", "received_ce_bytes", "received_ect0_bytes",
            "received_ect1_bytes")  # fmt: skip
TOLD = ("delivered_ce_bytes", "delivered_ect0_bytes", "delivered_ect1_bytes")
NOT_THERE = dict.fromkeys((*ECN_COUNTERS, *ECN_STATES), ABSENT)


def receiver(time_s: float, **fields: int) -> dict[str, Any]:
    return {"time_s": time_s, "endpoint": RECEIVER, **fields}


def counted(*rows: tuple[float, int, str, int], **parts: Any) -> Data:
    """A run with (time in s, host, ECN field, packets since the begin of traffic)."""
    counters = np.array(
        [(round(time_s * 1e9), host, NAMES.index(ECN_PACKETS[field]), value)
         for time_s, host, field, value in rows],
        COUNTER_DTYPE,
    )  # fmt: skip
    hosts = tuple((name,) for name in ("s", "d", "d2"))
    provenance = {"counters": CounterNames(hosts, parts.pop("names", NAMES)).document()}
    return Data(counters=counters, provenance=provenance, **parts)


def taken(found: Values, names: tuple[str, ...]) -> list[Any]:
    return [found[name] for name in names]


def test_packets_that_came_to_the_receivers_host_count_for_tcp_and_udp() -> None:
    udp = flow("u", source="s2", sink="d2", transport="udp", congestion_asked=None)
    found = metrics.compute(
        counted(
            (2.0, 1, "ce", 3),
            (10.0, 1, "ce", 8),
            (10.0, 1, "ect0", 40),
            (10.0, 2, "ect1", 70),
            (10.0, 0, "not_ect", 900),
            flows=[flow("t"), udp],
        )
    )[WHOLE]
    assert taken(found.flows[0], OF_HOSTS) == [5, 40, 0, 0], "ACKs came to the sender"
    assert taken(found.flows[1], OF_HOSTS) == [0, 0, 70, 0]
    assert taken(found.run, OF_HOSTS) == [5, 40, 70, 0]


def test_flows_of_any_transport_that_share_a_receiver_have_a_sum() -> None:
    udp = flow("u", source="s", sink="d", transport="udp", congestion_asked=None)
    found = metrics.compute(counted((10.0, 1, "ce", 8), flows=[flow("t"), udp]))[WHOLE]
    assert [one["ce_packets"] for one in found.flows] == [None, None]
    assert found.run["ce_packets"] == 8


def test_a_run_in_which_nobody_kept_these_names_does_not_know() -> None:
    """Zero is told from unknown by the names that a run keeps."""
    found = metrics.compute(counted(names=("TcpExt:TCPTimeouts",)))[WHOLE].run
    assert taken(found, OF_HOSTS) == [None] * 4
    assert set(NAMES) <= KEPT


def test_bytes_by_their_ecn_field_of_both_ends() -> None:
    fields = {"received_ce_segments": 2, "received_ce_bytes": 20, "received_e0_bytes": 300,
              "received_e1_bytes": 4000}  # fmt: skip
    told = {"delivered_ce_bytes": 10, "delivered_e0_bytes": 250, "delivered_e1_bytes": 3000}
    rows = [
        receiver(2.0, received_ce_segments=1, received_ce_bytes=5),
        receiver(10.0, **fields),
        sender(2.0, accecn_opt_seen=2, delivered_ce_bytes=3),
        sender(10.0, accecn_opt_seen=2, **told),
    ]
    found = metrics.compute(Data(rows))[WHOLE]
    assert taken(found.flows[0], (*RECEIVED, *TOLD)) == [1, 15, 300, 4000, 7, 250, 3000]
    assert taken(found.run, RECEIVED) == [1, 15, 300, 4000]


def test_a_counter_of_32_bits_goes_on_when_it_wraps_and_may_fall() -> None:
    sizes = {2.0: 2**32 - 100, 5.0: 2**32 - 300, 10.0: 50}
    rows = [receiver(time_s, received_e1_bytes=size) for time_s, size in sizes.items()]
    found = metrics.compute(Data(rows))[WHOLE].run
    assert found["received_ect1_bytes"] == 150
    assert metrics.compute(Data(rows[:1]))[WHOLE].run["received_ect1_bytes"] == 0


def test_a_kernel_without_these_fields_has_no_value_and_not_zero() -> None:
    rows = [receiver(10.0, **NOT_THERE), sender(10.0, **NOT_THERE)]
    found = metrics.compute(Data(rows))[WHOLE]
    for values in (found.run, found.flows[0]):
        assert taken(values, (*RECEIVED, *TOLD)) == [None] * 7


def test_nothing_is_known_of_delivered_bytes_without_an_option() -> None:
    for seen in (0, 1, 3):
        rows = [receiver(10.0), sender(10.0, accecn_opt_seen=seen)]
        found = metrics.compute(Data(rows))[WHOLE].run
        assert taken(found, TOLD) == [None] * 3
        assert taken(found, RECEIVED) == [0] * 4
