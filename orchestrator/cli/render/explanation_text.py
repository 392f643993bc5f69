"""Prints what happened to the flows of a run, and why."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from orchestrator.cli.render import terminal
from orchestrator.windows import decimal_seconds
from results.traces.stories.time_limits import CONGESTION_WINDOW
from results.wording.quantities import NO_VALUE, number, plural, rough_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestrator.application.stored.explanation import Explanation, FlowComparison, FlowStory
    from results.traces.comparing import KindSummary
    from results.traces.moments import Moment
    from results.traces.stories.costs import CostlyEvent
    from results.traces.stories.rates import FlowRates
    from results.traces.stories.time_limits import TimeLimits


_REACTIONS = ("fast recovery", "timeout", "spurious timeout", "handshake")
"""Kinds whose means of durations and of cwnd are printed."""

_LEAST_SHARE = 0.0005
"""The least share that is not shown as 0.0%."""
MOST = 20
"""How many moments of a flow are printed where nothing is compared."""


def show(explanation: Explanation, most: int | None) -> None:
    """Print an explanation, with at most so many moments of each flow.

    By None these are MOST, or none where flows are compared.
    """
    if not explanation.comparisons:
        _show_run(explanation, MOST if most is None else most)
        return
    _show_compared(explanation)
    if not most:
        return
    for run in (explanation, explanation.against):
        if run is not None:
            terminal.line("")
            _show_run(run, most)
    if explanation.against is None:
        _show_alone(explanation.comparisons, most)


def _show_run(explanation: Explanation, most: int) -> None:
    start, end = map(decimal_seconds, explanation.window_ns)
    terminal.line(f"{explanation.run_id}, {start} s to {end} s, by its trace {explanation.trace}")
    if explanation.several is not None:
        terminal.line("")
        terminal.line(explanation.several)
    for name, found in explanation.flows.items():
        terminal.line("")
        terminal.line(f"{name}: {_counts(found)}")
        story = explanation.stories.get(name)
        if story is not None and story.limits is not None:
            terminal.line(f"  time limited by: {_limits(story.limits)}")
        if story is not None:
            _show_costs(story, found)
        _show_moments(found, most)


def _limits(limits: TimeLimits) -> str:
    """Return the shares of a flow's time, and how much of the first one was pacing, if any."""
    words = {what: f"{what} {share:.1%}" for what, share in limits.shares.items()}
    if _is_paced(limits):
        words[CONGESTION_WINDOW] += f" ({limits.paced_share:.1%} of it by pacing)"
    return ", ".join(words.values())


def _is_paced(limits: TimeLimits | None) -> bool:
    """Tell whether a part of the congestion window's time was pacing."""
    return limits is not None and (limits.paced_share or 0.0) >= _LEAST_SHARE


def _show_moments(found: Sequence[Moment], most: int) -> None:
    if not most:
        return
    for moment in found[:most]:
        terminal.line(f"  At {moment.time_ns / 1e9:.6f} s {moment.text}.")
    if len(found) > most:
        terminal.line(f"  ... and {len(found) - most} more: --window, or --most {len(found)}")


def _show_costs(story: FlowStory, found: Sequence[Moment]) -> None:
    if story.costliest:
        terminal.line("  what cost most goodput:")
    for event in story.costliest:
        terminal.line(f"    {_cost(event, found)}")


def _cost(event: CostlyEvent, found: Sequence[Moment]) -> str:
    kinds = ", ".join(dict.fromkeys(found[at].kind for at in event.moments))
    begin_s, until_s = event.time_ns / 1e9, event.until_ns / 1e9
    cost = rough_size(event.cost_bytes)
    level = number(event.level_bps, 1 if event.level_bps >= 1e6 else 3, 1e6)
    end = ", then back" if event.is_back else ""
    if event.events > 1:
        return (
            f"From {begin_s:.3f} s to {until_s:.3f} s a chain of {event.events} events ({kinds}), "
            f"{level} Mbit/s before it: {cost} behind in all{end}"
        )
    return f"At {begin_s:.3f} s {kinds}: {cost} behind {level} Mbit/s by {until_s:.3f} s{end}"


def _show_alone(comparisons: Sequence[FlowComparison], most: int) -> None:
    """Print the moments that only one of two flows of a run had."""
    for comparison in comparisons:
        found = comparison.difference
        flows = (comparison.first, found.only_first), (comparison.second, found.only_second)
        for (_run, flow), alone in flows:
            if alone:
                terminal.line("")
                terminal.line(f"Only {flow}:")
                _show_moments(alone, most)


def _show_compared(explanation: Explanation) -> None:
    """Print a table for each pair of flows, of one run or of two."""
    against = explanation.against
    first, end = (time_ns / 1e9 for time_ns in explanation.window_ns)
    runs = [explanation] if against is None else [explanation, against]
    named = " against ".join(run.run_id for run in runs)
    shown_by = " and ".join(str(run.trace) for run in runs)
    traces = f"its trace {shown_by}" if against is None else f"their traces {shown_by}"
    terminal.line(f"{named}, {first:g} s to {end:g} s, by {traces}")
    if explanation.shorter is not None:
        terminal.line(f"The time that both have is compared: {explanation.shorter} is the shorter.")
    for comparison in explanation.comparisons:
        (run, flow), (other_run, other_flow) = comparison.first, comparison.second
        labels = (flow, other_flow) if against is None else (run, other_run)
        stories = (explanation.stories.get(flow), (against or explanation).stories.get(other_flow))
        rates = [explanation.rates[flow], (against or explanation).rates[other_flow]]
        happened = [*_rows(comparison), *_story_rows(stories)]
        rows = [*_rate_rows(rates), *happened]
        terminal.line("")
        if rows:
            heading = flow if against is not None else ""
            terminal.console().print(terminal.table([heading, *labels], rows, right=(1, 2)))
        if not happened:
            terminal.line(f"{flow}: nothing in both runs" if against else "nothing in both flows")
        elif against is None:
            _show_only(comparison)


def _counts(found: Sequence[Moment]) -> str:
    """Return how many moments of each kind there are."""
    counted = Counter(moment.kind for moment in found)
    if not counted:
        return "no loss, no mark, no recovery, no timeout"
    return ", ".join(f"{kind} {plural(count, 'time')}" for kind, count in counted.most_common())


def _show_only(comparison: FlowComparison) -> None:
    found = comparison.difference
    flows = (comparison.first, found.only_first), (comparison.second, found.only_second)
    for (_run, flow), alone in flows:
        terminal.line(f"Only {flow}: {_counts(alone) if alone else 'nothing'}")


def _rate_rows(both: Sequence[FlowRates]) -> Iterator[Sequence[str]]:
    """Yield what both flows achieved, where it is known of one."""
    goodputs = [number(each.goodput_bps, 3, 1e6) for each in both]
    cwnds = [number(each.cwnd_mean_segments, 1) for each in both]
    named = {"goodput, mean (Mbit/s)": goodputs, "cwnd, mean (segments)": cwnds}
    for what, texts in named.items():
        if texts != [NO_VALUE, NO_VALUE]:
            yield [what, *texts]


def _rows(comparison: FlowComparison) -> Iterator[Sequence[str]]:
    """Yield how often and how something of each kind happened."""
    for kind, both in comparison.difference.kinds.items():
        yield [kind, *(str(each.count) for each in both)]
        for what, texts in _means(kind, both).items():
            if texts != [NO_VALUE, NO_VALUE]:
                yield [f"  {what}", *texts]


def _means(kind: str, both: Sequence[KindSummary]) -> dict[str, list[str]]:
    """Return the means of both flows by their names; NO_VALUE where there is none."""
    found = {"packets, mean": [number(each.mean_packets, 1) for each in both]}
    if kind in _REACTIONS:
        of = "RTO, mean (ms)" if "timeout" in kind else "duration, mean (ms)"
        found[of] = [number(each.mean_duration_s, 1, 1e-3) for each in both]
        found["cwnd after / before, mean"] = [number(each.mean_cwnd_ratio, 2) for each in both]
    return found


def _story_rows(stories: Sequence[FlowStory | None]) -> Iterator[Sequence[str]]:
    """Yield what limited both senders, and what cost both flows most; nothing of a part."""
    limits = [None if story is None else story.limits for story in stories]
    shares = [{} if each is None else each.shares for each in limits]
    for what in dict.fromkeys(what for of_flow in shares for what in of_flow):
        texts = [f"{each[what]:.1%}" if what in each else NO_VALUE for each in shares]
        yield [f"limited by {what}", *texts]
        if what == CONGESTION_WINDOW and any(map(_is_paced, limits)):
            paced = [None if each is None else each.paced_share for each in limits]
            texts = [NO_VALUE if share is None else f"{share:.1%}" for share in paced]
            yield ["  of it by pacing", *texts]
    costs = [() if story is None else story.costliest for story in stories]
    if any(costs):
        sums = [rough_size(sum(event.cost_bytes for event in events)) for events in costs]
        yield ["five costliest events, in all", *sums]
