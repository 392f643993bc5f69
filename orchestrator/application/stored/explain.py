"""Says what happened to the flows of a stored run and why, by traced events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator.application import stored_plans
from orchestrator.application.events import Listener
from orchestrator.application.stored.explanation import Explanation, FlowComparison, FlowStory
from orchestrator.application.zoom import ZoomRequest, flows_named, zoom
from orchestrator.errors import RunError, UsageError
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.trace import Capture
from orchestrator.units import listed_in_ranges
from orchestrator.windows import seconds_text, window_text
from results.store.store import Store
from results.traces.causes import what_happened
from results.traces.choice import TraceNeed, Window, showing, trace_of_number, window_of
from results.traces.comparing import difference
from results.traces.stories.costs import costliest
from results.traces.stories.rates import rates
from results.traces.stories.time_limits import time_limits
from results.traces.view import TraceView

if TYPE_CHECKING:
    from orchestrator.application.making_runs import RunSettings
    from results.store.parts.traces import TraceHead
    from results.store.stored import StoredRun

SENDERS, QUEUES = ("tcp", "acks"), ("queue", "drops")
"""What a trace must have, and one of which, the most telling first, so that causes can be found."""
WHOLE_RUN_LIMIT_BYTES = 512 * 2**20

COSTLIEST = 5
"""How many of the events that cost a flow most are told."""

AROUND_NS = 500_000_000
"""A moment is explained by what happened so long before and after it."""


@dataclass(frozen=True)
class ExplainRequest:
    """What of a stored run is to be explained: some flows, or all; a window, or the whole run.

    ``flows`` are names of flows, or of flow entries for all flows of one.
    ``at_ns`` means a window around that moment, as far as the run goes. ``against`` is another run,
    whose flows of the same names are compared with these. ``traces`` are numbers of the traces to
    read, of the run and then of the other one; without a time, the time that they show is meant.
    """

    run: str
    flows: Sequence[str] = ()
    window_ns: tuple[int, int] | None = None
    at_ns: int | None = None
    against: str | None = None
    traces: Sequence[int] = ()


def explain(request: ExplainRequest, settings: RunSettings, listener: Listener) -> Explanation:
    """Return what happened to flows; where no trace is stored that shows it, make one.

    Two flows that are named are compared, and those of two runs.

    Raises:
        UsageError: there is no such run or flow, a run did not end well or cannot be made again to
            the bit, the trace would be too large, or the other run has no flow of such a name. A
            trace that is named is not there, or does not show it.
        RunError: the run was made again, and its digest differs.
    """
    if len(request.traces) > (1 if request.against is None else 2):
        raise UsageError("--trace: give one, or with --against one of each run")
    if request.against is None:
        explained = _explain(request, settings, listener)
        if len(explained.flows) != 2 or not request.flows:
            return replace(explained, several=_several(request.flows, list(explained.flows)))
        comparison = _comparison((explained, explained), *explained.flows)
        return replace(explained, comparisons=[comparison])
    names, ends_ns, window_ns = _in_common(request, request.against, settings)
    one, other = (
        _explain(
            replace(request, run=run, flows=names, window_ns=window_ns, traces=traces),
            settings,
            listener,
            min(ends_ns),
        )
        for run, traces in (
            (request.run, request.traces[:1]), (request.against, request.traces[1:]),
        )
    )  # fmt: skip
    compared = [_comparison((one, other), name, name) for name in names]
    shorter = None
    if ends_ns[0] != ends_ns[1] and one.window_ns[1] == min(ends_ns):
        shorter = (one if ends_ns[0] < ends_ns[1] else other).run_id
    return replace(one, against=other, comparisons=compared, shorter=shorter)


def _several(named: Sequence[str], flows: Sequence[str]) -> str | None:
    """Return why there is no table of the flows that were named; None unless two names are more."""
    if len(named) != 2 or len(flows) < 3:
        return None
    first, second = flows[0], flows[-1]
    return (
        f"--flow {named[0]} --flow {named[1]} are {len(flows)} flows, and two are compared side by "
        f"side. For the table name two, such as --flow '{first}' --flow '{second}'."
    )


def _in_common(
    request: ExplainRequest, against: str, settings: RunSettings
) -> tuple[Sequence[str], Sequence[int], Window | None]:
    """Return which flows of two runs are compared, when the runs end, and in which window.

    The flows are those that are named, or those that both runs have. The window is the one that is
    asked for, or that which both of the named traces show, None for the whole time.

    Raises:
        UsageError: a run did not end well, does not have a flow or a trace that is named, or both
            have no flow or no time in common.
    """
    with Store.open_read_only(settings.db) as store:
        runs = [store.load(run) for run in (request.run, against)]
        for run in runs:
            stored_plans.require_ok(run, stored_plans.EXPLAIN)
        names = [flows_named(run, request.flows) for run in runs]
        ends_ns = [_end_ns(run) for run in runs]
        shown = [
            window_of(trace_of_number(run, number))
            for run, number in zip(runs, request.traces, strict=False)
        ]
    common = [name for name in names[0] if name in names[1]]
    if not common:
        raise UsageError(
            f"--against {against}: no flow of it has the name of one of {request.run}; "
            f"they have {listed_in_ranges(names[1])}, and {listed_in_ranges(names[0])}"
        )
    whole = 0, min(ends_ns)
    begins_ns, untils_ns = zip(whole, *shown, strict=True)
    both = max(begins_ns), min(untils_ns)
    if request.window_ns or request.at_ns is not None or both == whole:
        return common, ends_ns, request.window_ns
    if both[0] >= both[1]:
        windows = " and ".join(window_text(*window) for window in shown)
        raise UsageError(f"--trace: the runs have no time in common that it shows: {windows}")
    return common, ends_ns, both


def _end_ns(run: StoredRun) -> int:
    """Return when the traffic of a run ended."""
    return nanoseconds(run.row.simulated_s or 0.0)


def _comparison(
    explained: tuple[Explanation, Explanation], first: str, second: str
) -> FlowComparison:
    """Return what one flow suffered and the other did not; moments within an RTT are the same."""
    one, other = explained
    gap_ns = max(one.base_rtts_ns[first], other.base_rtts_ns[second])
    found = difference(one.flows[first], other.flows[second], gap_ns)
    return FlowComparison((one.run_id, first), (other.run_id, second), found)


def _explain(
    request: ExplainRequest,
    settings: RunSettings,
    listener: Listener,
    most_ns: int | None = None,
) -> Explanation:
    """Return what happened to the flows of one run, if no window is asked for until a time."""
    with Store.open_read_only(settings.db) as store:
        stored = store.load(request.run)
        stored_plans.require_ok(stored, stored_plans.EXPLAIN)
        flows = flows_named(stored, request.flows)
        end_ns = _end_ns(stored)
        asked = request.window_ns
        if request.at_ns is not None:
            asked = _around(request.at_ns, end_ns)
        head: TraceHead | None
        if request.traces:
            head = trace_of_number(stored, request.traces[0])
            until_ns = end_ns if most_ns is None else min(end_ns, most_ns)
            shown = window_of(head)
            if asked is None and not shown[0] == 0 <= until_ns <= shown[1]:
                asked = shown[0], min(shown[1], until_ns)
            window = asked or (0, until_ns)
            _require(stored, head, TraceNeed(SENDERS, QUEUES, window, tuple(flows)))
        else:
            window = asked or (0, end_ns)
            head = _telling(stored.traces, window)
    if head is None:
        capture = Capture(*window, frozenset((*SENDERS, "queue")))
        if asked is None:
            capture = Capture(*window, frozenset((*SENDERS, "drops")), WHOLE_RUN_LIMIT_BYTES)
        head = _traced(stored.id, capture, settings, listener)
    if request.window_ns is None and most_ns is not None:
        window = window[0], min(window[1], most_ns)
    with Store.open_read_only(settings.db) as store:
        return _explained(store.load(stored.id), head, window, flows, asked is None)


def _telling(heads: Sequence[TraceHead], window: Window) -> TraceHead | None:
    """Return the trace that tells most of a window: one of drops knows no packet in the queue."""
    for queue in QUEUES:
        if (head := showing(heads, TraceNeed((*SENDERS, queue), window_ns=window))) is not None:
            return head
    return None


def _require(run: StoredRun, head: TraceHead, need: TraceNeed) -> None:
    """Raise UsageError unless a trace that was named shows what is needed."""
    if lack := need.lacks(head):
        raise UsageError(
            f"--trace {head.number}: trace {head.number} of run {run.id} does not show it: {lack}\n"
            "  fix: leave --trace out: another trace is taken then, or made"
        )


def _around(at_ns: int, end_ns: int) -> tuple[int, int]:
    """Return the window around a moment; UsageError when it is after the run's end."""
    if not 0 <= at_ns <= end_ns:
        raise UsageError(
            f"--at {seconds_text(at_ns)}: the run goes from 0s to {seconds_text(end_ns)}"
        )
    return max(at_ns - AROUND_NS, 0), min(at_ns + AROUND_NS, end_ns)


def _traced(run_id: str, capture: Capture, settings: RunSettings, listener: Listener) -> TraceHead:
    """Make a trace of a run and return it."""
    made = zoom(ZoomRequest(run_id, capture), settings, listener, stored_plans.EXPLAIN)
    if made.head is None:
        raise RunError(
            f"run {run_id} was made again, and its digest differs: it is {made.digest[:12]}, and "
            f"{made.stored_digest[:12]} was stored; nothing can be said of what happened"
        )
    return made.head


def _explained(
    run: StoredRun, head: TraceHead, window: tuple[int, int], flows: Sequence[str], whole: bool
) -> Explanation:
    """Return what a trace shows of a window of a run, and the story of a whole run."""
    view = TraceView(run, run.trace(head.number, ("acks", "drops", "ends", "events", "links")))
    found, stories = {}, {}
    end_ns = None if window[1] == _end_ns(run) else window[1]
    numbers = {name: view.flows.index(name) for name in flows}
    for name, number in numbers.items():
        moments = found[name] = [
            moment
            for moment in what_happened(view, number)
            if moment.time_ns < window[1] and (moment.until_ns or moment.time_ns) >= window[0]
        ]
        if whole:
            costly = costliest(view, number, moments, COSTLIEST, end_ns)
            stories[name] = FlowStory(time_limits(view, number, end_ns), costly)
    return Explanation(
        run.id,
        head.number,
        window,
        found,
        stories,
        {name: view.base_rtt_ns(number) for name, number in numbers.items()},
        {name: rates(view, number, window) for name, number in numbers.items()},
    )
