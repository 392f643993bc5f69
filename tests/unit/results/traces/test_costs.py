"""What events cost a flow, what limited it, and how two flows differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.model import SENDER_STATE_DTYPE
from orchestrator.recording.trace import Trace
from results.store.store import Store
from results.traces.causes import what_happened
from results.traces.comparing import KindSummary, difference
from results.traces.moments import Moment
from results.traces.stories.costs import CostlyEvent, costliest
from results.traces.stories.time_limits import time_limits
from results.traces.view import TraceView
from tests.support.recordings import head, whole
from tests.support.traced_senders import SENDER, Row, acked, counted, happened, sender_trace

MS = 1_000_000
BUSY, RECEIVE_WINDOW, IDLE = 1, 2, 0
Costs = Callable[..., list[CostlyEvent]]


def ack(time_ms: int, delivered: int, **values: int) -> Row:
    """A state after a segment of 1000 bytes, with an RTT of 10 ms and an RTO of 40 ms."""
    usual = {"mss_bytes": 1000, "srtt_us": 10_000, "rto_us": 40_000, "limited_by": BUSY}
    return acked(time_ms * MS, delivered_segments=delivered % 2**32, **{**usual, **values})


def acks(*spans_ms: tuple[int, int], first: int = 0) -> list[Row]:
    """A segment a millisecond in these spans: 8 Mbit/s."""
    times = [time for start, end in spans_ms for time in range(start, end)]
    return [ack(time, first + number) for number, time in enumerate(times)]


def moment(time_ms: int, kind: str = "full queue", until_ms: int | None = None) -> Moment:
    return Moment(time_ms * MS, 0, kind, "", None if until_ms is None else until_ms * MS)


@pytest.fixture
def view(tmp_path: Path) -> Iterator[Callable[[Trace], TraceView]]:
    with Store(tmp_path / "runs.db") as store:
        run_id = store.begin(head())
        # Without what metrics use of senders.
        store.finish(run_id, replace(whole(), sender_states=np.zeros(0, SENDER_STATE_DTYPE)), 1.0)
        yield lambda trace: TraceView(store.load(run_id), trace)


@pytest.fixture
def costs(view: Callable[[Trace], TraceView]) -> Costs:
    def costs(rows: Sequence[Row], *moments: Moment, most: int = 5) -> list[CostlyEvent]:
        """What moments cost a sender whose data end with the last state."""
        ended = [*rows[:-1], *({**row, "limited_by": IDLE} for row in rows[-1:])]
        return costliest(view(sender_trace(ended)), 0, moments, most)

    return costs


def test_an_event_costs_what_was_not_acknowledged_until_the_rate_was_back(costs: Costs) -> None:
    (event,) = costs(acks((0, 111), (160, 400)), moment(100))
    # From 100 ms to 160 ms were 60 segments at the level, and 12 were acknowledged.
    assert event == CostlyEvent(100 * MS, 160 * MS, True, 48_000, 8e6, [0])


def test_numbers_of_segments_may_wrap(costs: Costs) -> None:
    (event,) = costs(acks((0, 111), (160, 400), first=2**32 - 105), moment(100))
    assert (event.cost_bytes, event.level_bps) == (48_000, 8e6)


def test_an_event_without_a_gap_costs_nothing(costs: Costs) -> None:
    assert costs(acks((0, 400)), moment(100), moment(200)) == []


def test_nothing_is_said_without_a_level_or_without_a_sender(costs: Costs) -> None:
    assert costs(acks((100, 111), (160, 400)), moment(50)) == []
    assert costs([], moment(100)) == []


def test_the_next_event_ends_one_that_the_flow_does_not_get_over(costs: Costs) -> None:
    half = [ack(100 + 2 * number, 100 + number) for number in range(200)]
    (one,) = costs([*acks((0, 100)), *half], moment(100), moment(300, until_ms=310))
    assert (one.time_ns, one.until_ns, one.is_back) == (100 * MS, 300 * MS, False)
    assert one.cost_bytes == 99_000


def test_a_sender_that_waits_at_the_end_of_a_trace_is_behind(
    view: Callable[[Trace], TraceView],
) -> None:
    (event,) = costliest(view(sender_trace(acks((0, 200)))), 0, [moment(190)], 5)
    assert (event.until_ns, event.is_back) == (10_000 * MS, False)
    assert event.cost_bytes == 9_800_000


def test_time_without_data_does_not_count(costs: Costs) -> None:
    rows = [*acks((0, 110)), ack(110, 110, limited_by=IDLE), ack(300, 111), ack(301, 112)]
    idle = costs(rows, moment(100), moment(301))
    busy = costs([*rows[:-3], ack(110, 110), *rows[-2:]], moment(100), moment(301))
    assert idle == []
    assert [(event.time_ns, event.cost_bytes) for event in busy] == [(100 * MS, 188_000)]


def test_moments_of_one_event_are_put_together(costs: Costs) -> None:
    rows = acks((0, 150), (300, 1000))
    found = costs(
        rows,
        moment(100), moment(109),  # less than an RTT
        moment(130, "fast recovery", until_ms=160),  # a reaction, less than an RTO after them
        moment(155),  # while it lasts
        moment(299, "timeout"),  # after silence: the last ACK came 5 ms before 155 ms
        moment(500), moment(515),  # more than an RTT
        moment(600, "fast recovery"),  # the ACKs went on for more than an RTO
    )  # fmt: skip
    (event,) = found
    assert list(event.moments) == [0, 1, 2, 3, 4]
    assert (event.cost_bytes, event.until_ns, event.is_back) == (149_000, 300 * MS, True)


def test_a_window_that_holds_a_sender_back_does_not_hold_an_event_open(costs: Costs) -> None:
    held = moment(50, "receive window", until_ms=900)
    (event,) = costs(acks((0, 111), (160, 1000)), held, moment(100))
    assert (event.time_ns, list(event.moments)) == (100 * MS, [1])


def test_the_costliest_come_first_and_no_more_than_asked(costs: Costs) -> None:
    rows = acks((0, 200), (250, 400), (500, 600), (620, 1000))
    moments = [moment(190), moment(390), moment(590)]
    found = costs(rows, *moments)
    assert [event.moments for event in found] == [[1], [0], [2]]
    assert [event.moments for event in costs(rows, *moments, most=2)] == [[1], [0]]


def recovered(time_ms: int, until_ms: int, kind: str = "fast recovery") -> list[Moment]:
    """A loss, and at once the recovery from it."""
    return [moment(time_ms), moment(time_ms, kind, until_ms)]


def test_recoveries_back_to_back_are_one_chain_with_the_sum_of_their_costs(costs: Costs) -> None:
    half = [ack(200 + 2 * number, 200 + number) for number in range(200)]
    rows = [*acks((0, 200)), *half, *acks((600, 900), first=400)]
    recoveries = [recovered(200 + 50 * number, 245 + 50 * number) for number in range(4)]
    (chain,) = costs(rows, *(each for recovery in recoveries for each in recovery))
    assert (chain.time_ns, chain.events, list(chain.moments)) == (200 * MS, 4, [*range(8)])
    assert (chain.level_bps, chain.is_back) == (8e6, True)
    # The first one is behind by half of 50 segments, and the others have half of the level.
    (first,) = costs(rows, *recoveries[0], moment(250))
    assert first.cost_bytes == pytest.approx(25_000, abs=1000)
    assert chain.cost_bytes == pytest.approx(first.cost_bytes, abs=3000)


def test_recoveries_an_rtt_apart_and_events_without_one_are_no_chain(costs: Costs) -> None:
    rows = acks((0, 200), (250, 400), (450, 700), (750, 1000))
    near = costs(rows, *recovered(190, 385), *recovered(390, 460))
    apart = costs(rows, *recovered(190, 375), *recovered(390, 460))
    marks = costs(rows, *recovered(190, 385, "mark"), *recovered(390, 460, "mark"))
    assert [event.events for event in (*apart, *marks)] == [1, 1, 1, 1]
    assert [event.events for event in near] == [2]
    assert near[0].cost_bytes == sum(event.cost_bytes for event in apart)


def handshake(view: Callable[[Trace], TraceView], rows: Sequence[Row]) -> TraceView:
    """A sender whose SYN left at 10 ms, and again at 1010 ms, and that had a SYN-ACK at 1060 ms."""
    syn = acked(1010 * MS, mss_bytes=1000, by=records.BY_TIMER, rto_us=2_000_000)
    events = [
        happened(10 * MS, records.TCP_STATE, value=2, before=7),
        happened(1010 * MS, records.TIMER, value=1, before=1_000_000),
        counted(1010 * MS, "TCPTimeouts"), counted(1010 * MS, "TCPSynRetrans"),
        happened(1010 * MS, records.RETRANSMIT),
        happened(1060 * MS, records.TCP_STATE, value=1, before=2),
    ]  # fmt: skip
    return view(sender_trace([syn, *rows], events))


def test_a_handshake_costs_what_the_flow_brought_in_such_a_time(
    view: Callable[[Trace], TraceView],
) -> None:
    of = handshake(view, [*acks((1110, 2110), first=1), ack(2110, 1001, limited_by=IDLE)])
    (shaken,) = what_happened(of, 0)
    assert (shaken.kind, shaken.time_ns, shaken.until_ns) == ("handshake", 10 * MS, 1060 * MS)
    (event,) = costliest(of, 0, [shaken], 5)
    # 1000 segments in a second, and the time beyond a base RTT.
    assert event.level_bps == pytest.approx(8e6)
    assert event.cost_bytes == pytest.approx(1_000 * (1050 - of.base_rtt_ns(0) / MS))
    assert (event.until_ns, event.is_back, list(event.moments)) == (1060 * MS, False, [0])
    assert costliest(handshake(view, []), 0, [shaken], 5) == []


def test_a_handshake_beside_other_connections_with_data_costs_nothing(costs: Costs) -> None:
    (event,) = costs(acks((0, 111), (160, 1000)), moment(50, "handshake", 900), moment(100))
    assert (event.time_ns, event.cost_bytes, list(event.moments)) == (100 * MS, 48_000, [1])


def test_time_of_a_handshake_is_a_limit_of_its_own(view: Callable[[Trace], TraceView]) -> None:
    of = handshake(view, [*acks((1110, 2110)), ack(2110, 1000, limited_by=IDLE), ack(2210, 1001)])
    found = time_limits(of, 0)
    assert found is not None
    total = 1050 + 1000 + 100
    assert found.shares == pytest.approx(
        {"congestion window": 1000 / total, "receive window": 0, "send buffer": 0,
         "application": 100 / total, "handshake": 1050 / total}
    )  # fmt: skip


def test_states_tell_what_limited_a_sender_without_samples(
    view: Callable[[Trace], TraceView],
) -> None:
    rows = [ack(0, 0), ack(60, 1, limited_by=RECEIVE_WINDOW), ack(90, 2, limited_by=IDLE),
            ack(100, 3, limited_by=3)]  # fmt: skip
    found = time_limits(view(sender_trace(rows)), 0)
    assert found is not None
    assert found.shown_by == "acks"
    assert found.shares == pytest.approx(
        {"congestion window": 0.6, "receive window": 0.3, "send buffer": 0.0, "application": 0.1}
    )
    assert time_limits(view(sender_trace([ack(0, 0)])), 0) is None


def test_what_one_flow_had_and_the_other_did_not() -> None:
    first = [moment(100), moment(200, "timeout"), moment(500, until_ms=600), moment(900)]
    second = [moment(105), moment(605), moment(910), moment(950, "mark")]
    found = difference(first, second, 10 * MS)
    assert found.counts == {"mark": (0, 1), "timeout": (1, 0), "full queue": (3, 3)}
    assert list(found.only_first) == [first[1], first[3]]
    assert list(found.only_second) == [second[2], second[3]]
    same = difference(first, first, 1)
    assert (list(same.only_first), list(same.only_second)) == ([], [])


def test_kinds_have_means_over_those_moments_that_tell_them() -> None:
    def told(kind: str, until_ms: int | None = None, **numbers: float) -> Moment:
        return replace(moment(100, kind, until_ms), numbers=numbers)

    first = [
        told("fast recovery", 150, cwnd_before_segments=20, cwnd_after_segments=10),
        told("fast recovery", 130, cwnd_before_segments=20, cwnd_after_segments=20),
        told("fast recovery", cwnd_before_segments=20),  # it goes on at the trace's end
        told("timeout", rto_ms=300.0, cwnd_before_segments=0, cwnd_after_segments=1),
        told("full queue", 120, packets=3),
        told("full queue", packets=4),
    ]
    kinds = difference(first, first[4:5], 1).kinds
    none = KindSummary(0, None, None, None)
    assert kinds["fast recovery"] == (
        KindSummary(3, 0.04, 0.75, None), none,
    )  # fmt: skip
    assert kinds["timeout"] == (KindSummary(1, 0.3, None, None), none)
    assert kinds["full queue"] == (
        KindSummary(2, 0.02, None, 3.5),
        KindSummary(1, 0.02, None, 3.0),
    )


def test_costs_and_limits_may_end_earlier_than_the_trace(
    view: Callable[[Trace], TraceView],
) -> None:
    rows = [*acks((0, 111), (160, 300)), ack(400, 251, limited_by=RECEIVE_WINDOW), ack(500, 252)]
    of = view(sender_trace(rows))
    (whole,) = costliest(of, 0, [moment(100)], 5)
    (part,) = costliest(of, 0, [moment(100)], 5, 130 * MS)
    assert (whole.until_ns > 130 * MS, part.until_ns, part.is_back) == (True, 130 * MS, False)
    assert part.cost_bytes == 18_000
    limits = [time_limits(of, 0), time_limits(of, 0, 400 * MS), time_limits(of, 0, 450 * MS)]
    shares = [0.0 if each is None else each.shares["receive window"] for each in limits]
    assert shares == pytest.approx([100 / 500, 0, 50 / 450])


def test_the_sender_is_the_one_that_is_looked_at() -> None:
    assert {row["end"] for row in acks((0, 3))} == {SENDER}
