"""What is shown of a run in progress, and that it never outlives or harms the run."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from orchestrator.decode.decode import TcpDecoder
from orchestrator.decode.output import OutputFolder
from orchestrator.execution import live_view
from orchestrator.execution.live_view import BINS, LiveView
from orchestrator.recording.model import RECEIVER, SENDER, TCP_DTYPE
from results.store import live
from results.store.store import Store
from tests.support import smallest
from tests.web import synthetic

RUN = "20261125-120000-abcd"
BOOTING = live.LiveRun(
    phase="boot", simulated_s=0.0, duration_s=60.0, wall_s=0.1, speed=None, left_s=None,
    problem="", time_s=[], flows=[], queues=[],
)  # fmt: skip


class Decoded(TcpDecoder):
    """A decoder of given parts."""

    def __init__(self, output: OutputFolder, parts: list[npt.NDArray[np.void]]) -> None:
        super().__init__(output, [])
        self._parts = parts


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def samples(times_s: list[float], flow: int = 0) -> npt.NDArray[np.void]:
    """Samples of both ends: cwnd 10 t, RTT t ms, 1000 t bytes received."""
    out = np.zeros(2 * len(times_s), TCP_DTYPE)
    out["time_ns"] = np.repeat(np.array(times_s) * 1e9, 2)
    out["flow"] = flow
    out["endpoint"] = [SENDER, RECEIVER] * len(times_s)
    out["snd_cwnd_segments"] = out["time_ns"] / 1e8
    out["rtt_us"] = out["time_ns"] / 1e6
    out["bytes_received"] = out["time_ns"] / 1e6
    return out


def view(tmp_path: Path, clock: Clock) -> LiveView:
    spec = smallest.planned(tmp_path, "{kind: bulk}")
    return LiveView(tmp_path / "runs.db", RUN, spec, OutputFolder(tmp_path / "out"), clock)


def shown(tmp_path: Path) -> dict[str, Any]:
    text = live.read(tmp_path / "runs.db", RUN)
    assert text is not None
    document: dict[str, Any] = json.loads(text)
    return document


def test_samples_are_put_into_bins_and_go_with_the_run(tmp_path: Path) -> None:
    clock = Clock()
    with view(tmp_path, clock) as watched:
        watched.take(Decoded(OutputFolder(tmp_path / "out"), [samples([2.0, 4.0]), samples([8.0])]))
        watched.report("traffic", 0.0, 1.0)
        clock.now_s += 2
        watched.report("traffic", 10.0, 3.0)
        state = shown(tmp_path)
        assert (state["phase"], state["simulated_s"], state["duration_s"]) == ("traffic", 10.0, 20)
        assert (state["speed"], state["left_s"]) == (5.0, 2.0)
        assert len(state["time_s"]) == BINS // 2
        (flow,) = state["flows"]
        at = [round(time_s / 20 * BINS) for time_s in (2, 4, 8)]
        assert [flow["cwnd_segments"][one] for one in at] == [20, 40, 80]
        assert [flow["rtt_ms"][one] for one in at] == [2, 4, 8]
        assert [flow["goodput_bps"][one] for one in at] == [None, 8000, 8000]
        assert sum(value is not None for value in flow["cwnd_segments"]) == 3
        assert flow["base_rtt_s"] == smallest.planned(tmp_path, "{kind: bulk}").flows[0].base_rtt_s
    assert not live.folder(tmp_path / "runs.db").exists()


def test_times_and_flows_that_cannot_be_are_left_out(tmp_path: Path) -> None:
    clock = Clock()
    with view(tmp_path, clock) as watched:
        wrong = samples([1.0, 2.0])
        wrong["time_ns"] = [-5, 2**62, 20 * 10**9, -(2**63)]
        watched.take(Decoded(OutputFolder(tmp_path / "out"), [wrong, samples([0.0])]))
        watched.report("traffic", 10.0, 3.0)
        state = shown(tmp_path)
        assert state["problem"] == ""
        assert state["flows"][0]["rtt_ms"] == [None] * (BINS // 2)  # an RTT of 0 is none


def test_malformed_output_ends_the_live_view_only(tmp_path: Path) -> None:
    clock = Clock()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "facts.jsonl").symlink_to("/etc/passwd")
    with view(tmp_path, clock) as watched:
        watched.report("traffic", 10.0, 3.0)
        state = shown(tmp_path)
        assert "facts.jsonl" in state["problem"]
        assert state["time_s"] == []


def test_writings_are_spaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(live_view, "WAITS", 0)
    with view(tmp_path, clock) as watched:
        for step in range(100):
            watched.report("traffic", step / 100, 1.0)
            clock.now_s += 0.01
        assert shown(tmp_path)["simulated_s"] == 0.5
        watched.report("done", 20.0, 3.0)  # a new phase is written at once
        assert shown(tmp_path)["phase"] == "done"


def test_a_run_that_cannot_be_shown_goes_on(tmp_path: Path) -> None:
    live.folder(tmp_path / "runs.db").write_text("a file in the folder's place")
    with view(tmp_path, Clock()) as watched:
        watched.report("traffic", 10.0, 3.0)
        assert live.read(tmp_path / "runs.db", RUN) is None


def test_the_largest_view_fits(tmp_path: Path) -> None:
    most = live_view.MOST_FLOWS
    curve = [123456789012.25] * BINS
    flow = live.LiveFlow("n" * 64, 0.1, cwnd_segments=curve, rtt_ms=curve, goodput_bps=curve)
    queue = live.LiveQueue("n" * 64, curve)
    largest = replace(
        BOOTING, time_s=curve, flows=[flow] * most, queues=[queue] * live_view.MOST_QUEUES
    )
    live.write(tmp_path / "runs.db", RUN, largest)
    assert live.read(tmp_path / "runs.db", RUN) is not None


def test_files_of_dead_runs_are_removed_when_the_store_is_opened(tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    with Store(db) as store:
        running = store.begin(synthetic.HEAD)
    live.write(db, running, BOOTING)
    live.write(db, RUN, BOOTING)
    with Store(db) as store:
        assert [file.name for file in live.folder(db).iterdir()] == [f"{running}.json"]
        store.fail(running, "why")
    Store(db).close()
    assert not live.folder(db).exists()


def test_what_is_no_document_is_not_read(tmp_path: Path) -> None:
    db = tmp_path / "runs.db"
    live.folder(db).mkdir()
    place = live.folder(db) / f"{RUN}.json"
    for text in ("", "[1]", '{"phase"', "[" * 100_000, " " * live.MOST_BYTES + "{}"):
        place.write_text(text)
        assert live.read(db, RUN) is None
    place.unlink()
    os.mkfifo(place)
    assert live.read(db, RUN) is None
