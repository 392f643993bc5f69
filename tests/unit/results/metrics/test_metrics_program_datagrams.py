"""UDP datagrams of programs, by counters of the hosts where they run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.recording.counters import CounterNames
from orchestrator.recording.model import COUNTER_DTYPE, FlowRecord
from results import metrics
from results.records.model import WHOLE
from tests.support.metrics_flows import Data
from tests.support.recordings import flow

SENT, RECEIVED = NAMES = ("Udp:OutDatagrams", "Udp:InDatagrams")
HOSTS = ("s", "d", "x")
METRICS = ("udp_sent_packets", "udp_received_packets", "udp_reverse_sent_packets",
           "udp_reverse_received_packets")  # fmt: skip
PROGRAM = flow("p", engine="program")


def values(*flows: FlowRecord, names: tuple[str, ...] = NAMES, **counts: Any) -> list[Any]:
    """Return the metrics of the first flow; counts are (time in s, counter, value) by host."""
    rows = [
        (round(time_s * 1e9), HOSTS.index(host), names.index(name), value)
        for host, each in counts.items()
        for time_s, name, value in each
    ]
    provenance = {"counters": CounterNames(tuple((one,) for one in HOSTS), names).document()}
    counters = np.array(sorted(rows), COUNTER_DTYPE)
    found = metrics.compute(Data(counters=counters, provenance=provenance, flows=list(flows)))
    return [found[WHOLE].flows[0][name] for name in METRICS]


def test_both_ends_count_in_both_directions_after_the_warm_up() -> None:
    assert values(
        PROGRAM,
        s=[(2.0, SENT, 10), (10.0, SENT, 110), (10.0, RECEIVED, 7)],
        d=[(2.0, RECEIVED, 9), (10.0, RECEIVED, 99), (10.0, SENT, 8)],
    ) == [100, 90, 8, 7]


def test_a_counter_that_grew_nowhere_is_zero_where_the_other_grew() -> None:
    assert values(PROGRAM, names=(SENT,), s=[(10.0, SENT, 5)]) == [5, 0, 0, 0]
    # What was sent in the warm-up tells that the flow uses UDP.
    assert values(PROGRAM, s=[(1.0, SENT, 5)], d=[]) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "other",
    [
        flow("q", engine="program", source="x", sink="d"),
        flow("u", transport="udp", congestion_asked=None, source="s", sink="x"),
    ],
)
def test_flows_that_share_a_host_have_no_count_of_their_own(other: FlowRecord) -> None:
    assert values(PROGRAM, other, s=[(10.0, SENT, 5)]) == [None] * 4


def test_tcp_beside_a_program_does_not_count() -> None:
    assert values(PROGRAM, flow("t"), s=[(10.0, SENT, 5)])[0] == 5


@pytest.mark.parametrize("record", [flow("t"), flow("u", transport="udp", congestion_asked=None)])
def test_flows_without_programs_have_none(record: FlowRecord) -> None:
    assert values(record, s=[(10.0, SENT, 5)]) == [None] * 4


def test_a_program_without_udp_has_none() -> None:
    assert values(PROGRAM) == [None] * 4
    assert values(PROGRAM, x=[(10.0, SENT, 5)]) == [None] * 4
