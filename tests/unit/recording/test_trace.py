"""What is selected of a trace, and which values a trace can have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator.recording import trace_ranges
from orchestrator.recording.trace import Trace, selected
from tests.support import traces


def kept(trace: Trace, flows: set[int], channels: set[int]) -> dict[str, int]:
    """How many rows are left of each table."""
    found = selected(trace, frozenset(flows), frozenset(channels))
    return {name: len(rows) for name, rows in found.tables.items()}


def test_without_flows_and_channels_all_is_selected() -> None:
    whole = traces.small()
    assert traces.same(selected(whole, frozenset(), frozenset()), whole)


def test_flows_select_rows_of_them_and_of_their_ends() -> None:
    whole = traces.small()
    assert kept(whole, {0}, set()) == {
        "ends": 2, "acks": 1, "events": 2, "links": 1, "drops": 1, "frames": 1, "hosts": 2,
    }  # fmt: skip
    assert kept(whole, {0, 5}, set()) == kept(whole, {0}, set())
    assert kept(whole, {5}, set()) == dict.fromkeys(whole.tables, 0) | {"hosts": 2}
    found = selected(whole, frozenset({0}), frozenset())
    assert found.tables["ends"]["end"].tolist() == [1, 2]
    assert found.tables["acks"]["end"].tolist() == [1]
    assert found.tables["frames"]["step"].tolist() == [16]
    assert found.frame_bytes == b"abc"


def test_channels_select_steps_and_frames_at_queues() -> None:
    whole = traces.small()
    every = {name: len(rows) for name, rows in whole.tables.items()}
    assert kept(whole, set(), {0}) == every | {"links": 1, "frames": 1}
    assert kept(whole, set(), {1}) == every | {"links": 1}
    assert kept(whole, set(), {0, 1}) == every
    assert kept(whole, {0}, {1}) == kept(whole, {0}, set()) | {"links": 0}
    only = selected(whole, frozenset(), frozenset({0}))
    assert only.tables["links"]["channel"].tolist() == [0]
    assert only.tables["frames"]["host"].tolist() == [0]


def test_bytes_of_frames_follow_each_other_in_the_order_of_rows() -> None:
    whole = traces.small()
    frames = whole.tables["frames"].copy()
    frames["offset"] = [2, 0]  # as those of records that are not in the order of time
    found = selected(replace(whole, tables={**whole.tables, "frames": frames}), *[frozenset()] * 2)
    assert found.frame_bytes == b"cdeab"
    assert found.tables["frames"]["offset"].tolist() == [0, 3]
    only = selected(replace(whole, full_ns=7), frozenset(), frozenset({7}))
    assert (only.frame_bytes, only.tables["frames"]["offset"].tolist()) == (b"abc", [0])
    assert (only.full_ns, only.capture) == (7, whole.capture)
    assert trace_ranges.problem(found, 1, 2) is None


def test_values_that_no_trace_can_have_are_named() -> None:
    whole = traces.small()
    assert trace_ranges.problem(whole, 1, 2) is None
    for table, column, value, why in (
        ("links", "flow", 1, "links has a row of an unknown flow"),
        ("drops", "flow", -2, "drops has a row of an unknown flow"),
        ("ends", "flow", 7, "ends has a row of an unknown flow"),
        ("links", "channel", 2, "links has a row of an unknown channel"),
        ("links", "channel", -1, "links has a row of an unknown channel"),
        ("frames", "host", 2**24, "frames has a row of an unknown host"),
        ("frames", "step", 3, "frames has a row of an unknown sort: step"),
        ("links", "to_sink", 2, "links has a row of an unknown sort: to_sink"),
        ("ends", "is_sender", 255, "ends has a row of an unknown sort: is_sender"),
        ("acks", "by", 0, "acks has a row of an unknown sort: by"),
        ("events", "what", 9, "events has a row of an unknown sort: what"),
        ("frames", "offset", 2**63 - 1, "frames has a row with bytes that are not there"),
        ("frames", "offset", -1, "frames has a row with bytes that are not there"),
        ("frames", "captured_bytes", 6, "frames has a row with bytes that are not there"),
        ("frames", "frame_bytes", 1, "frames has a row with more bytes than the frame"),
        ("frames", "channel", 0, "frames has a row that is at a host and at a queue"),
        ("acks", "time_ns", traces.CAPTURE.from_ns + 6, "acks is not in the order of time"),
        ("hosts", "host", 1, "hosts has a row of an unknown host"),
        ("hosts", "host", -1, "hosts has a row of an unknown host"),
        ("hosts", "host", 2**24, "hosts has a row of an unknown host"),
        ("hosts", "lost", 1001, "a host lost more frames than came"),
        ("hosts", "from_ns", -1, "hosts has a row outside the window that was asked for"),
        ("hosts", "to_ns", 2**62, "hosts has a row outside the window that was asked for"),
        ("acks", "time_ns", -1, "acks has a row outside the window that was asked for"),
    ):
        rows = whole.tables[table].copy()
        rows[column][0] = value
        changed = replace(whole, tables={**whole.tables, table: rows})
        assert trace_ranges.problem(changed, 1, 2) == why
    late = replace(whole, full_ns=traces.CAPTURE.to_ns)
    assert trace_ranges.problem(late, 1, 2) == "the limit was reached after the window"
    assert np.array_equal(whole.tables["ends"]["flow"], [0, 0, -1])
