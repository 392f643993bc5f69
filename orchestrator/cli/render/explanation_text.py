"""Prints what happened to the flows of a run, and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from orchestrator.cli.render import terminal
from orchestrator.windows import decimal_seconds
from results.wording.quantities import number, plural, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestrator.application.stored.explanation import Explanation, FlowComparison, FlowStory
    from results.traces.moments import Moment


def show(explanation: Explanation, most: int) -> None:
    """Print an explanation, with at most so many moments of each flow."""
    _show_run(explanation, most)
    if explanation.against is not None:
        terminal.line("")
        _show_run(explanation.against, most)
    for comparison in explanation.comparisons:
        _show_comparison(comparison, most)


def _show_run(explanation: Explanation, most: int) -> None:
    start, end = map(decimal_seconds, explanation.window_ns)
    terminal.line(f"{explanation.run_id}, {start} s to {end} s, by its trace {explanation.trace}")
    for name, found in explanation.flows.items():
        terminal.line("")
        terminal.line(f"{name}: {_counts(found)}")
        story = explanation.stories.get(name)
        if story is not None and story.limits is not None:
            shares = story.limits.shares.items()
            terminal.line(
                f"  time limited by: {', '.join(f'{what} {share:.1%}' for what, share in shares)}"
            )
        if story is not None:
            _show_costs(story, found)
        _show_moments(found, most)


def _show_moments(found: Sequence[Moment], most: int) -> None:
    for moment in found[:most]:
        terminal.line(f"  At {moment.time_ns / 1e9:.6f} s {moment.text}.")
    if len(found) > most:
        terminal.line(f"  ... and {len(found) - most} more: --window, or --most {len(found)}")


def _show_costs(story: FlowStory, found: Sequence[Moment]) -> None:
    if story.costliest:
        terminal.line("  what cost most goodput:")
    for event in story.costliest:
        kinds = ", ".join(dict.fromkeys(found[at].kind for at in event.moments))
        level = number(event.level_bps, 1 if event.level_bps >= 1e6 else 3, 1e6)
        end = ", then back" if event.is_back else ""
        terminal.line(
            f"    At {event.time_ns / 1e9:.3f} s {kinds}: {size(event.cost_bytes)} behind "
            f"{level} Mbit/s by {event.until_ns / 1e9:.3f} s{end}"
        )


def _counts(found: Sequence[Moment]) -> str:
    """Return how many moments of each kind there are."""
    counts = Counter(moment.kind for moment in found)
    if not counts:
        return "no loss, no mark, no recovery, no timeout"
    return ", ".join(f"{kind} {plural(count, 'time')}" for kind, count in counts.most_common())


def _show_comparison(comparison: FlowComparison, most: int) -> None:
    (run, flow), (other_run, other_flow) = comparison.first, comparison.second
    labels = (flow, other_flow) if run == other_run else (run, other_run)
    of_flow = "" if run == other_run else f"{flow}: "
    found = comparison.difference
    terminal.line("")
    terminal.line(f"{of_flow}{labels[0]} against {labels[1]}")
    for kind, counts in found.counts.items():
        terminal.line(f"  {kind}: {counts[0]} against {plural(counts[1], 'time')}")
    for label, alone in zip(labels, (found.only_first, found.only_second), strict=True):
        terminal.line(f"  Only {label}: {_counts(alone) if alone else 'nothing'}")
        _show_moments(alone, most)
