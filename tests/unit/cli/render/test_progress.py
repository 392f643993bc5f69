"""The status line of a plan's runs."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from orchestrator.cli.render.run_progress import LiveProgress
from orchestrator.cli.render.status_line import StatusLine
from orchestrator.execution.runner import Progress
from orchestrator.planning.costs.estimate import costs
from orchestrator.planning.costs.learning import EarlierRun, Estimator, identity
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.model import Verdict
from orchestrator.scenario import load
from tests.support.run import SCENARIO


class Terminal(io.StringIO):
    """A stream that says it is a terminal, so that every line is shown."""

    def isatty(self) -> bool:
        return True


def taken(run: RunSpec, *seconds: float) -> list[EarlierRun]:
    """Earlier runs of the same variant, which took so long."""
    return [EarlierRun(run.scenario_name, identity(run), costs(run), second) for second in seconds]


class Shown:
    """A progress display of runs of 2 s each, with a clock that is set by hand."""

    def __init__(
        self,
        folder: Path,
        runs: int,
        monkeypatch: pytest.MonkeyPatch,
        *overrides: str,
        jobs: int | None = None,
    ) -> None:
        file = folder / "pair.yaml"
        file.write_text(SCENARIO)
        self.planned = plan(load(file, [f"repetitions={runs}", *overrides]))
        self.now_s = 0.0
        self.stream = Terminal()
        monkeypatch.setattr("orchestrator.cli.render.status_line.PERIOD_S", 0.0)
        monkeypatch.setenv("COLUMNS", "200")
        line = StatusLine(stream=self.stream)
        self.live = LiveProgress(self.planned, line, lambda: self.now_s, jobs)

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


@pytest.mark.parametrize(("jobs", "known"), [(1, 4.0), (2, 2.0), (8, 1.0), (None, None)])
def test_earlier_runs_say_the_time_left_before_a_share_of_the_work_is_done(
    jobs: int | None, known: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Shown(tmp_path, 4, monkeypatch, jobs=jobs)
    assert shown.tell(0, "boot") == "runs: 0 of 4 runs done, 1 running, 0 faithful"
    estimator = Estimator(taken(shown.planned.runs[0], *[6.0] * 5))
    each_s = estimator(shown.planned.runs[0]).wall_s
    assert each_s == pytest.approx(6.0, rel=0.1)
    shown.live.learn(estimator)
    left = "" if known is None else f", about {known * each_s:.0f} s left (from 5 earlier runs)"
    assert shown.tell(0, "setup") == f"runs: 0 of 4 runs done, 1 running, 0 faithful{left}"
    # From then on, the time that the work took counts: this machine is slower than it was.
    shown.now_s = 20.0
    assert shown.tell(0, "ok", 2.0, "faithful").endswith(
        "1 faithful, 0.1 times real time, about 60 s left (from 5 earlier runs)"
    )


def test_the_shares_of_the_work_are_those_that_earlier_runs_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    axis = "matrix={topology.bottleneck.delay: [5ms, 30ms]}"
    shown = Shown(tmp_path, 1, monkeypatch, axis)
    slow, fast = shown.planned.runs
    shown.tell(0, "boot")
    shown.now_s = 90.0
    assert "about 90 s left" in shown.tell(0, "traffic", 2.0)
    shown.live.learn(Estimator([*taken(slow, *[90.0] * 10), *taken(fast, *[10.0] * 4)]))
    text = shown.tell(0, "ok", 2.0, "faithful")
    left_s = float(text.partition("about ")[2].partition(" s left (from 4 earlier runs)")[0])
    assert left_s == pytest.approx(10.0, abs=3.0)
    # Nothing is left of a run that failed.
    assert "left" not in shown.tell(1, "failed")
