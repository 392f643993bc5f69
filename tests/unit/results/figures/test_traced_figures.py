"""Figures from a stored trace: segments, queues, events; and where no trace shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import UsageError
from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import Capture, Trace
from results.figures._style import LINES, OTHER_MARK
from results.store.store import Store
from tests.support.figures import canvas, drawn, legend
from tests.support.recordings import flow
from tests.support.trace_rows import END, MS, state, step, told, trace, traced_run

AGAIN = [0xC8 / 255, 0x10 / 255, 0x2E / 255, 1.0]
KEYS: dict[str, dict[str, Any]] = {
    "sequence": {"segments": True, "flow": "a"}, "queue": {}, "events": {},
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("form", ["pdf", "svg", "png"])
def test_every_kind_draws_twice_the_same(store: Store, kind: str, form: str) -> None:
    traced_run(store, told())
    keys = {**KEYS[kind], "file": f"fig.{form}"}
    data = drawn(store, kind, **keys)
    assert len(data) > 2000
    assert drawn(store, kind, **keys) == data


def test_segments_that_were_sent_again_have_another_colour(store: Store) -> None:
    traced_run(store, told())
    with canvas(store, "sequence", **KEYS["sequence"], to="20ms") as shown:
        assert legend(shown) == ["acknowledged", "receive window", "sent", "SACK", "sent again"]
        (panel,) = shown.axes
        new, sacked, again = panel.collections
        assert [path.vertices.tolist() for path in new.get_paths()] == [
            [[0.001, 0], [0.001, 1000]], [[0.002, 1000], [0.002, 2000]],
            [[0.003, 2000], [0.003, 3000]],
        ]  # fmt: skip
        assert [path.vertices.tolist() for path in sacked.get_paths()] == [
            [[0.008, 2000], [0.008, 3000]]
        ]
        assert again.get_color()[0].tolist() == AGAIN
        assert len(again.get_paths()) == 1
        assert panel.get_xlim() == (0.0, 0.02)
        assert panel.get_ylabel() == "Sequence number (kB)"


def test_a_queue_has_areas_of_flows_and_crosses_of_drops(store: Store) -> None:
    traced_run(store, told())
    with canvas(store, "queue", names={"b": "Beta"}) as shown:
        assert legend(shown) == ["a", "Beta", "others", "dropped"]
        (panel,) = shown.axes
        total, dropped = panel.lines
        assert total.get_ydata().tolist() == [99, 100, 100, 99]
        assert (dropped.get_xdata().tolist(), dropped.get_ydata().tolist()) == ([0.003], [100])
        assert dropped.get_color() == LINES[0].color
        assert panel.get_xlim() == (0.0, 10.0)
    with pytest.raises(UsageError, match="has no link botleneck"):
        drawn(store, "queue", link="botleneck")


def test_events_have_a_row_for_each_kind(store: Store) -> None:
    traced_run(store, told())
    with canvas(store, "events", flow="a") as shown:
        above, below = shown.axes
        assert [label.get_text() for label in above.get_yticklabels()] == [
            "fast recovery", "full queue",
        ]  # fmt: skip
        (marks,) = above.lines
        assert sorted(marks.get_xdata()) == [0.003, 0.008]
        assert below.lines[0].get_ydata().tolist() == [10, 11, 5]


def test_of_many_flows_the_first_have_colours_and_the_events_of_others_are_grey(
    store: Store,
) -> None:
    """Those of TCP are first: f1 to f8, and grey are the UDP flow f0, and f9."""
    drops = [
        step((number + 1) * MS, records.REFUSED, number, 100, to_sink=1, payload_bytes=1000)
        for number in (0, 1, 8, 9)
    ]
    acks = [state(0, 0, 0, cwnd_segments=10), state(7 * MS, 1000, 3000, cwnd_segments=11)]
    flows = [flow(f"f{number}", transport="tcp" if number else "udp") for number in range(10)]
    ends = [{**END, "flow": 1}]
    traced_run(store, trace("acks,tcp,queue", acks=acks, links=drops, ends=ends), flows=flows)
    with canvas(store, "events") as shown:
        above, below = shown.axes
        assert [marks.get_color() for marks in above.lines] == [
            OTHER_MARK, LINES[0].color, LINES[7].color, OTHER_MARK,
        ]  # fmt: skip
        assert [line.get_color() for line in below.lines] == [LINES[0].color]
        assert legend(shown) == ["f1", "f8", "others"]
        heights = [line.get_ydata()[0] for line in above.lines]
        assert heights[1] < heights[2] < heights[0] == heights[3]


def test_events_of_udp_have_rows_and_no_panel_of_cwnd(store: Store) -> None:
    drops = [step(MS, records.REFUSED, 0, 100, to_sink=1, payload_bytes=1000)]
    whole = trace("acks,tcp,queue", ends=[], links=drops)
    traced_run(store, whole, flows=[flow("a", transport="udp")])
    with canvas(store, "events") as shown:
        (rows,) = shown.axes
        assert [label.get_text() for label in rows.get_yticklabels()] == ["full queue"]
        assert rows.get_xlabel() == "Time (s)"


def test_a_trace_with_nothing_of_the_flows_is_an_error(store: Store) -> None:
    traced_run(store, told())
    with pytest.raises(UsageError, match=r"no event of these flows, and no ACK .* by `flow`"):
        drawn(store, "events", flow="b")


def test_more_flows_than_colours_are_refused_with_the_option_that_keeps_few(store: Store) -> None:
    traced_run(store, flows=[flow(f"f{number}") for number in range(9)])
    with pytest.raises(UsageError, match=r"9 lines .* at most 8 of them by `flow`, .* --flow of"):
        drawn(store, "time")


@pytest.mark.parametrize("kind", KEYS)
def test_without_a_trace_there_is_the_command_to_copy(store: Store, kind: str) -> None:
    run_id = traced_run(store)
    kinds = {"sequence": "acks,packets", "queue": "queue", "events": "tcp,acks,drops"}[kind]
    with pytest.raises(UsageError) as refused:
        drawn(store, kind, **KEYS[kind], **{"from": "1s", "to": "2500ms"})
    command = f"orchestrator zoom {run_id} --window 1s..2.5s --trace {kinds}"
    assert str(refused.value).endswith(f"\n  fix: make one: {command}")


@pytest.mark.parametrize("kind", KEYS)
def test_an_end_after_the_run_is_refused(store: Store, kind: str) -> None:
    run_id = traced_run(store, told())
    with pytest.raises(UsageError) as refused:
        drawn(store, kind, **KEYS[kind], **{"from": "1s", "to": "11s"})
    assert str(refused.value) == (
        f"to: the figure ends at 11 s, after run {run_id}, which ends at 10 s"
    )


def test_a_trace_of_other_flows_shows_no_queue(store: Store) -> None:
    traced_run(store, Trace(Capture(0, 10**9, frozenset({"queue"}), flows=("a",))))
    with pytest.raises(UsageError, match="trace 1: it has only the flows a"):
        drawn(store, "queue")


def test_segments_are_of_one_flow(store: Store) -> None:
    traced_run(store, told())
    with pytest.raises(UsageError, match="choose one of a, b by `flow`, which is --flow of"):
        drawn(store, "sequence", segments=True)
    with pytest.raises(UsageError, match="no ACK came to b"):
        drawn(store, "sequence", trace=1, flow="b")


def test_a_trace_without_packets_notes_that_sack_is_not_drawn(store: Store) -> None:
    whole = told()
    traced_run(store, Trace(Capture(0, 10**10, frozenset({"acks", "queue"})),
                     {**whole.tables, "frames": whole.tables["frames"][:0]}))  # fmt: skip
    with canvas(store, "sequence", **KEYS["sequence"]) as shown:
        assert "SACK" not in legend(shown)
        assert np.isfinite(shown.axes[0].get_ylim()).all()
