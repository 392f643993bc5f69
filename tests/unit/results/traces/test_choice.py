"""Which stored trace shows something, and what is told where none does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.recording.trace import Capture, Trace, is_of_link
from results.store.parts.traces import TraceHead
from results.store.store import Store
from results.traces.choice import TraceNeed, showing, trace_with
from results.traces.pictures import needs
from tests.support import traced_frames

S = 10**9
KINDS = frozenset({"tcp", "acks"})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def test_of_several_traces_the_smallest_shows_a_window_and_else_the_newest(store: Store) -> None:
    run = traced_frames.run_with(
        store,
        Trace(Capture(0, 2 * S, KINDS)),
        Trace(Capture(0, 2 * S, KINDS), frame_bytes=bytes(range(256)) * 9),
        Trace(Capture(S, 2 * S, KINDS | {"queue"})),
        Trace(Capture(0, S, KINDS), full_ns=S // 2),
    )
    first, larger, late, full = run.traces
    assert first.stored_bytes < larger.stored_bytes

    def number(need: TraceNeed) -> int | None:
        head = showing(run.traces, need)
        return None if head is None else head.number

    assert number(TraceNeed(("tcp",), window_ns=(0, 2 * S))) == first.number
    assert number(TraceNeed(("tcp",), ("queue", "drops"), (S, 2 * S))) == late.number
    assert number(TraceNeed(("tcp",))) == full.number
    assert number(TraceNeed(("tcp",), ("drops",))) is None
    assert number(TraceNeed(("tcp",), window_ns=(0, 3 * S))) is None
    assert showing([full], TraceNeed(("tcp",), window_ns=(0, S // 2 + 1))) is None


@pytest.mark.parametrize(
    ("name", "are"),
    [("up", (True, True)), ("up:forward", (True, False)), ("u", (False, False)),
     ("forward", (False, False)), ("up:", (False, False))],
)  # fmt: skip
def test_a_link_means_both_of_its_channels(name: str, are: tuple[bool, bool]) -> None:
    assert tuple(is_of_link(channel, name) for channel in ("up:forward", "up:reverse")) == are


def test_of_a_run_in_real_time_no_command_is_told_that_cannot_work(store: Store) -> None:
    packets = Trace(Capture(0, S, frozenset({"packets"})))
    run = traced_frames.run_with(store, packets, backend="lab")
    refused: Callable[[], TraceHead]
    for refused in (
        lambda: needs.trace_for(run, TraceNeed(("acks",))),
        lambda: trace_with(run, None, "acks"),
        lambda: trace_with(run, 1, "events"),
    ):
        with pytest.raises(UsageError) as error:
            refused()
        assert str(error.value).endswith(
            "\n  it ran with --backend lab: no trace of it can be made later"
        )
        assert "orchestrator zoom" not in str(error.value)
