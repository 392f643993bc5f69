"""UDP datagrams of programs, as they are counted at both hosts of a flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.protocol.reports.counter_facts import DATAGRAMS, datagrams_line
from orchestrator.recording.counters import CounterNames
from orchestrator.recording.model import COUNTER_DTYPE, FlowRecord
from results import metrics
from results.records.model import WHOLE
from tests.support.metrics_flows import Data
from tests.support.recordings import flow

SENT, SENT_BYTES, CAME, CAME_BYTES, OTHER = DATAGRAMS
HOSTS = ("s", "d", "x")
NAMES = tuple(f"{datagrams_line(place)}:{name}" for place in range(2) for name in DATAGRAMS)
PROGRAM = flow("p", engine="program")
SIX = ("sent_packets", "received_packets", "sent_bytes", "received_bytes", "goodput_bps",
       "loss_ratio")  # fmt: skip


def values(
    *flows: FlowRecord, of: int = 0, names: tuple[str, ...] = NAMES, **counts: Any
) -> list[list[Any]]:
    """Return SIX of a flow, and SIX against its direction, of what ``computed`` takes."""
    own = computed(flows, of, names, counts)
    return [[own[f"{kind}_{name}"] for name in SIX] for kind in ("udp", "udp_reverse")]


def computed(
    flows: tuple[FlowRecord, ...], of: int, names: tuple[str, ...], counts: dict[str, Any]
) -> Any:
    """Return the metrics of a flow.

    Counts are (time in s, place of the flow at the host, counter, value) by host.
    """
    rows = [
        (round(time_s * 1e9), HOSTS.index(host), names.index(f"{datagrams_line(place)}:{name}"),
         value)
        for host, each in counts.items()
        for time_s, place, name, value in each
    ]  # fmt: skip
    provenance = {"counters": CounterNames(tuple((one,) for one in HOSTS), names).document()}
    counters = np.array(sorted(rows), COUNTER_DTYPE)
    found = metrics.compute(Data(counters=counters, provenance=provenance, flows=list(flows)))
    return found[WHOLE].flows[of]


def test_both_ends_count_in_both_directions_after_the_warm_up() -> None:
    forward, reverse = values(
        PROGRAM,
        s=[(2.0, 0, SENT, 10), (10.0, 0, SENT, 110), (10.0, 0, SENT_BYTES, 1000),
           (10.0, 0, CAME, 7), (10.0, 0, CAME_BYTES, 70)],
        d=[(2.0, 0, CAME, 9), (10.0, 0, CAME, 99), (10.0, 0, CAME_BYTES, 900),
           (10.0, 0, SENT, 8), (10.0, 0, SENT_BYTES, 80)],
    )  # fmt: skip
    assert forward == [100, 90, 1000, 900, 900.0, pytest.approx(0.1)]  # in 8 s
    assert reverse == [8, 7, 80, 70, 70.0, pytest.approx(0.125)]


def test_a_counter_that_grew_nowhere_is_zero_where_another_grew() -> None:
    alone = values(PROGRAM, names=(NAMES[0],), s=[(10.0, 0, SENT, 5)])
    assert alone == [[5, 0, 0, 0, 0.0, 1.0], [0, 0, 0, 0, 0.0, None]]
    # What was sent in the warm-up tells that the flow uses UDP.
    assert values(PROGRAM, s=[(1.0, 0, SENT, 5)])[0] == [0, 0, 0, 0, 0.0, None]


def test_copies_are_no_negative_loss() -> None:
    assert values(PROGRAM, s=[(10.0, 0, SENT, 5)], d=[(10.0, 0, CAME, 6)])[0][-1] == 0.0


def test_flows_of_programs_at_one_host_have_counts_of_their_own() -> None:
    """The place is the one among the flows of programs at that host."""
    flows = (
        flow("t", source="s", sink="x"),
        flow("q", engine="program", source="s", sink="x"),
        PROGRAM,
        flow("u", transport="udp", congestion_asked=None, source="s", sink="d"),
    )
    counts: dict[str, Any] = {
        "s": [(10.0, 0, SENT, 3), (10.0, 1, SENT, 10)],
        "x": [(10.0, 0, CAME, 3)],
        "d": [(10.0, 0, CAME, 8)],
    }
    assert values(*flows, of=1, **counts)[0][:2] == [3, 3]
    assert values(*flows, of=2, **counts)[0][:2] == [10, 8]
    for other in (0, 3):
        assert values(*flows, of=other, **counts) == [[None] * 6] * 2


def test_what_other_ports_sent_is_told_of_the_flow() -> None:
    """Both hosts count what they send, after the warm-up."""
    counts: dict[str, Any] = {
        "s": [(2.0, 0, OTHER, 10), (10.0, 0, OTHER, 110)],
        "d": [(10.0, 0, OTHER, 7)],
    }
    own = computed((PROGRAM,), 0, NAMES, counts)
    assert own["udp_other_packets"] == 107
    assert own["udp_sent_packets"] is None
    beside = flow("u", transport="udp", congestion_asked=None, source="s", sink="d")
    assert computed((PROGRAM, beside), 1, NAMES, counts)["udp_other_packets"] is None
    early = computed((PROGRAM,), 0, NAMES, {"s": [(1.0, 0, OTHER, 10)]})
    assert early["udp_other_packets"] == 0
    assert computed((PROGRAM,), 0, NAMES, {})["udp_other_packets"] is None


def test_a_program_without_udp_and_a_run_without_the_module_have_none() -> None:
    assert values(PROGRAM) == [[None] * 6] * 2
    assert values(PROGRAM, x=[(10.0, 0, SENT, 5)]) == [[None] * 6] * 2
    assert values(PROGRAM, names=()) == [[None] * 6] * 2
