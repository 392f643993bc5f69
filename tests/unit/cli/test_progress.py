"""The status line of a plan's runs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from orchestrator.cli._progress import LiveProgress
from orchestrator.cli._status import StatusLine
from orchestrator.execution.runner import Progress
from orchestrator.planning.plan import plan
from orchestrator.recording.model import Verdict
from orchestrator.scenario import load
from tests.unit.cli.test_run import SCENARIO


class Terminal(io.StringIO):
    """A stream that says it is a terminal, so that every line is shown."""

    def isatty(self) -> bool:
        return True


class Shown:
    """A progress display of runs of 2 s each, with a clock that is set by hand."""

    def __init__(self, folder: Path, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
        file = folder / "pair.yaml"
        file.write_text(SCENARIO)
        planned = plan(load(file, [f"repetitions={runs}"]))
        self.now_s = 0.0
        self.stream = Terminal()
        monkeypatch.setattr("orchestrator.cli._status.PERIOD_S", 0.0)
        monkeypatch.setenv("COLUMNS", "200")
        self.live = LiveProgress(planned, StatusLine(stream=self.stream), lambda: self.now_s)

    def tell(
        self, index: int, phase: str, simulated_s: float = 0.0, verdict: Verdict | None = None
    ) -> str:
        """What a progress adds to the terminal."""
        before = len(self.stream.getvalue())
        run_id, wall_s = f"id{index}", self.now_s
        self.live.progress(Progress(index, run_id, phase, simulated_s, wall_s, verdict))
        return self.stream.getvalue()[before:].replace("\r\x1b[K", "")


def test_one_line_has_counts_speed_and_time_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Shown(tmp_path, 4, monkeypatch)
    assert shown.tell(0, "boot") == "runs: 0 of 4 runs done, 1 running, 0 faithful"
    shown.now_s = 1.0
    assert shown.tell(0, "traffic", 1.0) == (
        "runs: 0 of 4 runs done, 1 running, 0 faithful, 1 times real time, about 7 s left"
    )
    shown.now_s = 2.0
    shown.tell(1, "traffic", 1.0)
    assert shown.tell(0, "ok", 2.0, "faithful") == (
        "runs: 1 of 4 runs done, 1 running, 1 faithful, 1.5 times real time, about 3 s left"
    )
    assert shown.tell(1, "ok", 2.0, "unfaithful") == (
        "run 2: id1 unfaithful, 2.0 s of wall time\n"
        "runs: 2 of 4 runs done, 1 faithful, 2 times real time, about 2 s left"
    )
    # A failed run has simulated nothing, and nothing is left of it.
    assert shown.tell(2, "failed") == (
        "run 3: id2 failed, 2.0 s of wall time\n"
        "runs: 3 of 4 runs done, 1 failed, 1 faithful, 2 times real time, about 1 s left"
    )
    assert shown.tell(3, "ok", 2.0, "faithful") == (
        "runs: 4 of 4 runs done, 1 failed, 2 faithful, 3 times real time\n"
    )


def test_runs_that_end_well_have_no_line_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Shown(tmp_path, 40, monkeypatch)
    for index in range(40):
        shown.now_s += 100.0
        shown.tell(index, "ok", 2.0, "faithful")
    text = shown.stream.getvalue()
    assert text.count("\n") == 1
    assert "about 65 min left" in text
    assert text.endswith("runs: 40 of 40 runs done, 40 faithful, 0.02 times real time\n")


def test_a_single_run_has_a_line_without_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Shown(tmp_path, 1, monkeypatch)
    assert shown.tell(0, "boot") == "id0: boot, 0.0 s of wall time"
    shown.now_s = 0.5
    assert shown.tell(0, "traffic", 0.5) == (
        "id0: 0.5 of 2 s simulated, 0.5 s of wall time, 1 times real time, about 2 s left"
    )
    assert shown.tell(0, "ok", 2.0, "faithful") == ""
