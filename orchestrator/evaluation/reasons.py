"""One sentence of what happened in a run of a criterion that is not met, by traced events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.application.stored.explain import ExplainRequest, explain
from orchestrator.errors import RunError, UsageError
from orchestrator.evaluation import wording
from orchestrator.evaluation.model import CANDIDATE
from orchestrator.evaluation.verdicts import DOES_NOT
from results.wording.quantities import plural, rough_size

if TYPE_CHECKING:
    from orchestrator.application.events import Listener
    from orchestrator.application.making_runs import RunSettings
    from orchestrator.application.stored.explanation import Explanation, FlowStory
    from orchestrator.evaluation.judging import JudgedCriterion
    from results.records.model import RunRow
    from results.traces.moments import Moment

PANIC = "Kernel panic - not syncing:"
"""What the kernel says last. "Kernel mode signal 8" is a division by zero in User Mode Linux."""

MOST_KINDS = 3
"""So many kinds of events are counted in the sentence, the most frequent first."""


def explained(
    judged: JudgedCriterion, settings: RunSettings, listener: Listener
) -> JudgedCriterion:
    """Return a criterion with its sentence, if it is not met; others as they are.

    Where a run of the candidate failed, the sentence says how.

    The run is the first one of the cell that decides. It is made again with a trace, where none is
    stored. The flow is that of the row, or the first one under test.
    """
    worst = wording.worst_cell(judged)
    if judged.grade != DOES_NOT or worst is None:
        return judged
    if worst.candidate.left_out.failed:
        return replace(judged, explained=_failure(judged.rows))
    entry = worst.row.flow or judged.criterion.entries(CANDIDATE)[0]
    run = worst.candidate.runs[0]
    try:
        found = explain(ExplainRequest(run, (entry,)), settings, listener)
    except (UsageError, RunError) as error:
        first = str(error).partition("\n")[0]
        return replace(judged, explained=f"run {run} cannot be explained: {first}")
    return replace(judged, explained=sentence(found))


def _failure(rows: Sequence[RunRow]) -> str | None:
    """Return how the first run that failed ended: the kernel's last words, or its error."""
    for row in rows:
        if row.failed:
            lines = (row.error or "").splitlines() or ["without an error"]
            panics = [line.partition(PANIC)[2] for line in lines if PANIC in line]
            said = f"the kernel panicked: {panics[0].strip()}" if panics else lines[0]
            return f"run {row.id} failed: {said}"
    return None


def sentence(found: Explanation) -> str:
    """Return what happened to the first flow of an explanation of a whole run."""
    flow, moments = next(iter(found.flows.items()))
    story = found.stories[flow]
    limits = "" if story.limits is None else f"{_limit(story)}; "
    return (
        f"run {found.run_id}, flow {flow}: {limits}{_counts(moments)}{_costliest(story, moments)}"
    )


def _limit(story: FlowStory) -> str:
    shares = {} if story.limits is None else story.limits.shares
    what = max(shares, key=lambda name: shares[name])
    return f"limited by the {what} for {shares[what]:.0%} of its time"


def _counts(moments: Sequence[Moment]) -> str:
    counts = Counter(moment.kind for moment in moments)
    said = [f"{kind}: {number}" for kind, number in counts.most_common(MOST_KINDS)]
    return ", ".join(said) or "no event"


def _costliest(story: FlowStory, moments: Sequence[Moment]) -> str:
    if not story.costliest:
        return ""
    event = story.costliest[0]
    kinds = ", ".join(dict.fromkeys(moments[at].kind for at in event.moments))
    chain = "" if event.events == 1 else f"a chain of {plural(event.events, 'event')}, "
    return (
        f"; what cost most goodput began at {event.time_ns / 1e9:.3f} s ({chain}{kinds}), "
        f"{rough_size(event.cost_bytes)} behind"
    )
