"""Arrays of what pictures of a trace show: segments and SACK, queues by flow, thinned spans."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import StoreError, UsageError
from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import Capture, Trace
from results.store.store import Store
from results.traces.choice import TraceNeed
from results.traces.pictures import needs, thinning, time_sequence
from results.traces.pictures import occupancy as queues
from results.traces.pictures.time_sequence import Spans
from results.traces.pictures.windows import windows_of
from tests.support import traced_frames
from tests.support.trace_rows import BACK, MS, sack_frame, state, step, tcp_frame, trace
from tests.support.traced_frames import DROPS


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def sequence(store: Store, made: Trace) -> Any:
    run = traced_frames.run_with(store, made)
    head = needs.trace_for(run, TraceNeed(("acks",)))
    return time_sequence.time_sequence(run, needs.read(run, head, time_sequence.TABLES), 0)


def test_segments_that_were_sent_before_are_told_apart_over_the_period(store: Store) -> None:
    """The sequence numbers begin again after 2^32."""
    start = 2**32 - 200
    sent = [(start, 100), (start + 100, 100), (start + 200, 100), (start + 100, 100)]
    frames = [
        (MS * at, records.SENT, tcp_frame(seq, size)) for at, (seq, size) in enumerate(sent, 1)
    ]
    blocks = (start + 200, start + 300)
    frames.append((9 * MS, records.RECEIVED, sack_frame(blocks, (start, start + 50))))
    frames.append((9 * MS, records.RECEIVED, sack_frame(blocks, ports=(1, 2))))
    frames.append((9 * MS, records.SENT, tcp_frame(start, 100, (40000, 7))))
    acks = [state(MS // 2, start, start), state(8 * MS, start + 200, start + 300)]
    made = sequence(store, trace("packets,acks", frames, acks=acks))
    assert made.new.time_s.tolist() == [0.001, 0.002, 0.003]
    assert made.new.first.tolist() == [0, 100, 200]
    assert made.new.end.tolist() == [100, 200, 300]
    assert (made.again.first.tolist(), made.again.end.tolist()) == ([100], [200])
    assert (made.sacks.first.tolist(), made.sacks.end.tolist()) == ([200, 0], [300, 50])
    assert made.acked.tolist() == [0, 200]
    assert made.edge.tolist() == [1000, 1200]
    assert made.has_sacks
    assert made.ports == (40000, 5001)


def test_what_was_sent_before_the_window_is_known_by_the_state(store: Store) -> None:
    frames = [
        (2 * MS, records.SENT, tcp_frame(500, 100)),
        (3 * MS, records.SENT, tcp_frame(900, 100)),
    ]
    made = sequence(store, trace("packets,acks", frames, acks=[state(MS, 500, 900)]))
    assert (made.again.first.tolist(), made.new.first.tolist()) == ([0], [400])


def test_positions_begin_after_the_syn(store: Store) -> None:
    frames = [(1, records.SENT, tcp_frame(99, 0, flags=2)), (MS, records.SENT, tcp_frame(100, 50))]
    made = sequence(store, trace("packets,acks", frames, acks=[state(2 * MS, 120, 150)]))
    assert (made.new.first.tolist(), made.acked.tolist()) == ([0], [20])


def test_without_packets_segments_are_those_at_the_first_link(store: Store) -> None:
    step = {"channel": 0, "flow": 0, "to_sink": 1, "payload_bytes": 100, "source_port": 40000,
            "sink_port": 5001}  # fmt: skip
    links = [
        {**step, "time_ns": MS, "step": records.ENQUEUED, "seq": 0},
        {**step, "time_ns": 2 * MS, "step": records.REFUSED, "seq": 100},
        {**step, "time_ns": 3 * MS, "step": records.BEGUN, "seq": 0},
        {**step, "time_ns": 4 * MS, "step": records.ENQUEUED, "seq": 100},
    ]
    made = sequence(store, trace("queue,acks", acks=[state(0, 0, 0)], links=links))
    assert (made.new.first.tolist(), made.again.first.tolist()) == ([0, 100], [100])
    assert made.has_segments
    assert not made.has_sacks


def test_with_neither_what_the_kernel_says_that_it_sent_again_is_there(store: Store) -> None:
    events = [{"time_ns": MS, "end": 1, "what": records.RETRANSMIT, "seq": 5, "end_seq": 9}]
    made = sequence(store, trace("tcp,acks", acks=[state(0, 5, 50)], events=events))
    assert (made.again.first.tolist(), made.again.end.tolist()) == ([0], [4])
    assert not made.has_segments
    assert not len(made.new.time_s)


@pytest.mark.parametrize(
    "options",
    [b"\x05\x00\x00\x00", b"\x05\x0a\x00\x00", b"\x08\xff\x00\x00", b"\x00\x05\x0a\x00",
     b"\x01\x01\x01\x05", b"\x05\xff" + bytes(38)],
)  # fmt: skip
def test_malformed_options_are_read_as_far_as_they_are_there(store: Store, options: bytes) -> None:
    frames = [(MS, records.RECEIVED, tcp_frame(0, 0, BACK, options))]
    made = sequence(store, trace("packets,acks", frames, acks=[state(0, 0, 0)]))
    assert len(made.sacks.time_s) == (4 if len(options) == 40 else 0)


def test_a_flow_without_acks_has_no_sequence(store: Store) -> None:
    assert sequence(store, trace("packets,acks")) is None


def test_a_queue_knows_the_packets_of_each_flow() -> None:
    """Three came before the trace began: one of the flow 0 leaves, two stay and are of nobody."""
    links = [
        step(1, records.ENQUEUED, 1, 4),
        step(2, records.BEGUN, 0, 3),
        step(3, records.REFUSED, 1, 3),  # the packet that comes
        step(4, records.ENQUEUED, 0, 3), step(4, records.REFUSED, 1, 3),  # in favour of it
        step(5, records.ENQUEUED, 0, 4),
        step(6, records.REFUSED, 0, 3), step(6, records.REFUSED, 0, 3),  # itself and another
        step(7, records.DROPPED, 0, 2),
        step(8, records.LOST_BY_LINE, 0, 2),
    ]  # fmt: skip
    made = queues.occupancy(trace("queue", links=links), 0)
    assert made.packets.tolist() == [4, 3, 3, 3, 4, 3, 2]
    assert made.by_flow[0].tolist() == [1, 0, 0, 1, 2, 1, 0]
    assert made.by_flow[1].tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert made.lost.time_s.tolist() == [t / 1e9 for t in (3, 4, 6, 6, 7, 8)]


def test_windows_after_acks() -> None:
    acks = [state(MS, 0, 9, cwnd_segments=10, ssthresh_segments=0x7FFFFFFF, srtt_us=0,
                  packets_out_segments=9, sacked_segments=2, lost_out_segments=1,
                  retrans_out_segments=1)]  # fmt: skip
    (one,) = windows_of(trace("acks", acks=acks), 0)
    assert (one.cwnd.tolist(), one.in_flight.tolist()) == ([10], [7])
    assert np.isnan([one.ssthresh[0], one.srtt_s[0]]).all()


def test_thinned_spans_cover_the_same_bytes() -> None:
    draw = np.random.default_rng(1)
    time_s = np.sort(draw.uniform(0, 10, 5000))
    first = np.floor(time_s * 1000) * 100
    first[::7] -= 20_000
    spans = Spans(time_s, first, first + 100)
    thin = thinning.merged(spans, 1.0, 9.0, 200)
    assert 200 < len(thin.time_s) < 1000
    assert (np.diff(thin.time_s) >= 0).all()
    gap = 1e-3 * (spans.end.max() - spans.first.min())
    width = 8.0 / 200
    for t, a, b in zip(time_s, spans.first, spans.end, strict=True):
        near = np.abs(thin.time_s - t) <= width
        covered = ((thin.first <= a) & (thin.end >= b))[near].any()
        assert covered == (1.0 <= t <= 9.0) or not near.any()
    for t, a, b in zip(thin.time_s, thin.first, thin.end, strict=True):
        near = (np.abs(time_s - t) <= width) & (spans.end >= a) & (spans.first <= b)
        edges = np.sort(np.concatenate([spans.first[near], spans.end[near], [a, b]]))
        assert np.diff(edges).max() <= gap + 100


def test_steps_keep_extremes_and_the_step_before() -> None:
    time_s = np.arange(1000) / 100
    values = np.zeros(1000)
    values[[333, 700]] = (5, -5)
    assert thinning.steps(time_s, [values], 0.005, 0.025, 10).tolist() == [0, 1, 2]
    found = thinning.steps(time_s, [values], 1.0, 9.0, 50)
    assert {100, 333, 700} <= set(found.tolist())
    assert len(found) <= 52
    assert (found[0], found[-1]) == (100, 900)


def test_an_outline_is_a_line_where_steps_go_up_and_down_and_keeps_peaks_and_long_dips() -> None:
    """Of 10 s, with a step each ms: 40, 38, 40, ..., a peak of a step, and a dip of 0.5 s."""
    time_s = np.arange(10_000) / 1000
    values = np.where(np.arange(10_000) % 2, 38.0, 40.0)
    values[3333] = 90
    values[5000:5500] = 3
    at, most = thinning.outline(time_s, values, 1.0, 9.0)
    assert (len(at), at[0], at[-1]) == (601, 1.0, 9.0)
    changes = np.flatnonzero(np.diff(most, prepend=np.nan))
    assert most[changes].tolist() == [40, 90, 40, 3, 40]
    assert np.abs(at[changes] - [1.0, 3.333, 3.334, 5.0, 5.5]).max() < 8 / 600
    few = thinning.outline(time_s, values, 4.9995, 5.0025)
    assert [each.tolist() for each in few] == [[4.999, 5.0, 5.001, 5.002], [38, 3, 3, 3]]


def test_a_need_names_the_command_that_makes_the_trace(store: Store) -> None:
    run = traced_frames.run_with(store, traced_frames.trace(DROPS))
    need = TraceNeed(("acks",), ("packets", "queue"), (10**8, 15 * 10**8))
    command = f"orchestrator zoom {run.id} --window 0.1s..1.5s --trace acks,packets"
    with pytest.raises(UsageError, match=command) as refused:
        needs.trace_for(run, need)
    assert "trace 1: it has no acks" in str(refused.value)
    with pytest.raises(UsageError, match="it has no acks"):
        needs.trace_for(run, need, 1)
    with pytest.raises(UsageError, match="has no trace 7; it has 1"):
        needs.trace_for(run, need, 7)


def test_a_trace_that_left_out_flows_links_or_time_does_not_show_them(store: Store) -> None:
    part = Trace(Capture(0, 10**9, frozenset({"queue"}), flows=("a",), links=("up", "x:forward")))
    run = traced_frames.run_with(store, part)
    (head,) = run.traces
    for lacking, need in {
        "only the flows a": TraceNeed(("queue",)),
        "only the links up, x:forward": TraceNeed(("queue",), flows=("a",)),
        "it is of 0s..1s": TraceNeed(("queue",), window_ns=(5, 10**9 + 1)),
    }.items():
        assert lacking in need.lacks(head)
    assert not TraceNeed(("queue",), flows=("a",), channels=("up:forward", "x:forward")).lacks(head)
    assert TraceNeed(("queue",), flows=("a",), channels=("x:reverse",)).lacks(head)


def test_a_trace_of_another_run_is_damage(store: Store) -> None:
    run = traced_frames.run_with(store, trace("queue", links=[step(1, 1, 99, 0)]))
    with pytest.raises(StoreError, match="unknown flow"):
        needs.read(run, run.traces[0], queues.TABLES)
