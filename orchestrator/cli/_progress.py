"""Shows the progress of a plan's runs on a status line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.cli._status import StatusLine

if TYPE_CHECKING:
    from orchestrator.execution.runner import Progress
    from orchestrator.planning.plan import Plan

FINAL_PHASES = ("ok", "failed", "interrupted")


class LiveProgress:
    """An observer of the runner: one status line for all running runs, one line per ended run."""

    def __init__(self, plan: Plan, line: StatusLine) -> None:
        self._durations_s = [run.duration_s for run in plan.runs]
        self._line = line
        self._running: dict[int, str] = {}
        self._ended = 0

    def progress(self, progress: Progress) -> None:
        """Show the phase of a run."""
        total = len(self._durations_s)
        wall = f"{progress.wall_s:.1f} s of wall time"
        if progress.phase in FINAL_PHASES:
            self._running.pop(progress.index, None)
            self._ended += 1
            if total > 1:
                ended = f"run {self._ended} of {total}"
                self._line.say(f"{ended}: {progress.run_id} {progress.phase}, {wall}")
            return
        state = f"{progress.phase}, {wall}"
        if progress.phase == "traffic":
            whole_s = self._durations_s[progress.index]
            state = f"{progress.simulated_s:.1f} of {whole_s:g} s simulated, {wall}"
        if total == 1:
            self._line.show(f"{progress.run_id}:", state)
            return
        self._running[progress.index] = f"#{progress.index + 1} {state}"
        running = "; ".join(self._running.values())
        self._line.show(f"{self._ended} of {total} runs done;", running)
