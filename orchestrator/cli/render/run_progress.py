"""Shows the progress of a plan's runs on a status line."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from orchestrator.cli.render.estimate_text import earlier
from orchestrator.cli.render.status_line import StatusLine
from orchestrator.planning.costs.estimate import wall_s
from orchestrator.planning.costs.learning import least_certain

if TYPE_CHECKING:
    from orchestrator.execution.runner import Progress
    from orchestrator.planning.costs.learning import Estimator
    from orchestrator.planning.plan import Plan

_LEAST_SHARE = 0.02
"""Before this share of the work is done, its time says nothing of the rest."""


class LiveProgress:
    """An observer of the runner: one status line for all runs.

    A run that did not end well, or is not faithful, has a line of its own. ``jobs`` runs go on at a
    time; None if that is not known.
    """

    def __init__(
        self,
        plan: Plan,
        line: StatusLine,
        clock: Callable[[], float] = time.monotonic,
        jobs: int | None = None,
    ) -> None:
        self._runs = plan.runs
        self._durations_s = [run.duration_s for run in plan.runs]
        self._work_s = [wall_s(run) for run in plan.runs]
        self._earlier = 0
        self._jobs = jobs
        self._failed: set[int] = set()
        self._line = line
        self._clock = clock
        self._began_s: float | None = None
        self._simulated_s: dict[int, float] = {}
        self._running: set[int] = set()
        self._ended: Counter[str] = Counter()
        self._verdicts: Counter[str | None] = Counter()

    def learn(self, estimator: Estimator) -> None:
        """Estimate the runs by earlier ones from now on; it may be called beside ``progress``."""
        estimates = [estimator(run) for run in self._runs]
        self._work_s = [estimate.wall_s for estimate in estimates]
        self._earlier = least_certain(estimates).runs

    def progress(self, progress: Progress) -> None:
        """Show the phase of a run."""
        if self._began_s is None:
            self._began_s = self._clock() - progress.wall_s
        if progress.has_ended:
            self._end(progress)
        else:
            self._running.add(progress.index)
            self._simulated_s[progress.index] = progress.simulated_s
        total = len(self._durations_s)
        if total > 1:
            words = [f"{self._ended.total()} of {total} runs done", *self._counts(), *self._rates()]
            if self._ended.total() == total:
                self._line.say(f"runs: {', '.join(words)}")
            else:
                self._line.show("runs:", ", ".join(words))
        elif not progress.has_ended:
            self._line.show(f"{progress.run_id}:", self._of_one(progress))

    def _end(self, progress: Progress) -> None:
        self._running.discard(progress.index)
        ended_well = progress.phase == "ok"
        # A run that failed is done, too, but has not simulated anything.
        self._simulated_s[progress.index] = self._durations_s[progress.index] if ended_well else 0.0
        if not ended_well:
            self._failed.add(progress.index)
        self._ended[progress.phase] += 1
        self._verdicts[progress.verdict] += 1
        what = progress.verdict if ended_well else progress.phase
        if len(self._durations_s) > 1 and what not in ("faithful", None):
            number = progress.index + 1
            self._line.say(f"run {number}: {progress.run_id} {what}, {_wall(progress)}")

    def _counts(self) -> list[str]:
        shown = {
            "running": len(self._running),
            "failed": self._ended["failed"],
            "interrupted": self._ended["interrupted"],
        }
        counts = [f"{count} {word}" for word, count in shown.items() if count]
        return [*counts, f"{self._verdicts['faithful']} faithful"]

    def _rates(self) -> list[str]:
        """Return how fast the runs simulate together, and the time that the others need."""
        assert self._began_s is not None
        elapsed_s = max(self._clock() - self._began_s, 1e-9)
        words = []
        if speed := sum(self._simulated_s.values()) / elapsed_s:
            words.append(f"{speed:.3g} times real time")
        left_s = self._left_s(elapsed_s)
        if left_s is not None:
            known = f" (from {earlier(self._earlier)})" if self._earlier else ""
            words.append(f"about {_time(left_s)} left{known}")
        return words

    def _left_s(self, elapsed_s: float) -> float | None:
        """Return the wall time that the other runs need, None where it is not known or zero.

        Estimates say how much of the work is done. The time that it took tells how fast this
        machine works now. Before that is known, estimates by earlier runs stand for themselves.
        """
        work_s = [0.0 if index in self._failed else work for index, work in enumerate(self._work_s)]
        done_s = sum(
            work_s[index] * simulated_s / self._durations_s[index]
            for index, simulated_s in self._simulated_s.items()
        )
        left_s = sum(work_s) - done_s
        if left_s <= 0:
            return None
        if done_s > _LEAST_SHARE * sum(work_s):
            return elapsed_s * left_s / done_s
        if self._earlier and self._jobs is not None:
            return left_s / min(self._jobs, len(work_s))
        return None

    def _of_one(self, progress: Progress) -> str:
        if progress.phase != "traffic":
            return f"{progress.phase}, {_wall(progress)}"
        whole_s = self._durations_s[progress.index]
        simulated = f"{progress.simulated_s:.1f} of {whole_s:g} s simulated, {_wall(progress)}"
        return ", ".join([simulated, *self._rates()])


def _wall(progress: Progress) -> str:
    return f"{progress.wall_s:.1f} s of wall time"


def _time(time_s: float) -> str:
    if time_s < 99.5:
        return f"{time_s:.0f} s"
    return f"{time_s / 60:.0f} min" if time_s < 99.5 * 60 else f"{time_s / 3600:.1f} h"
