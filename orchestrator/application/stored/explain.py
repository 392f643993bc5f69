"""Says what happened to the flows of a stored run and why, by traced events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestrator.application.events import Listener, notices
from orchestrator.application.zoom import ZoomRequest, require_flows, zoom
from orchestrator.errors import RunError, UsageError
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.trace import Capture
from results.contract import traces as contract
from results.contract.base import SCHEMA
from results.store.store import Store
from results.traces.causes import what_happened
from results.traces.moments import Moment
from results.traces.view import TraceView

if TYPE_CHECKING:
    from orchestrator.application.making_runs import RunSettings
    from results.store.parts.traces import TraceHead
    from results.store.stored import StoredRun

SENDERS, QUEUES = frozenset({"tcp", "acks"}), ("queue", "drops")
"""What a trace must have, and one of which, so that causes can be found."""
WHOLE_RUN_LIMIT_BYTES = 512 * 2**20

AROUND_NS = 500_000_000
"""A moment is explained by what happened so long before and after it."""


@dataclass(frozen=True)
class ExplainRequest:
    """What of a stored run is to be explained: some flows, or all; a window, or the whole run.

    ``at_ns`` means a window around that moment, as far as the run goes.
    """

    run: str
    flows: Sequence[str] = ()
    window_ns: tuple[int, int] | None = None
    at_ns: int | None = None


@dataclass(frozen=True)
class Explanation:
    """What happened to each flow in a window, in the order of time.

    ``trace`` is the number of the stored trace that shows it.
    """

    run_id: str
    trace: int
    window_ns: tuple[int, int]
    flows: Mapping[str, Sequence[Moment]]

    def document(self) -> dict[str, Any]:
        """Return the JSON contract."""
        return contract.Explanation.model_construct(
            schema_=SCHEMA,
            run=self.run_id,
            trace=self.trace,
            from_ns=self.window_ns[0],
            to_ns=self.window_ns[1],
            flows=[_flow(name, moments) for name, moments in self.flows.items()],
        ).document()


def _flow(name: str, moments: Sequence[Moment]) -> contract.ExplainedFlow:
    return contract.ExplainedFlow.model_construct(
        flow=name,
        counts=dict(Counter(moment.kind for moment in moments)),
        moments=[_moment(moment) for moment in moments],
    )


def _moment(moment: Moment) -> contract.Moment:
    return contract.Moment.model_construct(
        time_ns=moment.time_ns,
        until_ns=moment.until_ns,
        kind=moment.kind,
        text=moment.text,
        numbers=moment.numbers,
        evidence=moment.evidence,
    )


def explain(request: ExplainRequest, settings: RunSettings, listener: Listener) -> Explanation:
    """Return what happened to flows; where no trace is stored that shows it, make one.

    Raises:
        UsageError: there is no such run or flow, the run cannot be made again to the bit, or the
            trace would be too large.
        RunError: the run was made again, and its digest differs.
    """
    with Store.open_existing(settings.db, notices(listener)) as store:
        stored = store.load(request.run)
        require_flows(request.flows, [flow.name for flow in stored.flows])
        end_ns = nanoseconds(stored.row.simulated_s or 0.0)
        asked = request.window_ns
        if request.at_ns is not None:
            asked = _around(request.at_ns, end_ns)
        window = asked or (0, end_ns)
        head = _showing(store.traces(stored.id), window)
    if head is None:
        capture = Capture(*window, SENDERS | {"queue"})
        if asked is None:
            capture = Capture(*window, SENDERS | {"drops"}, WHOLE_RUN_LIMIT_BYTES)
        head = _traced(stored.id, capture, settings, listener)
    with Store.open_read_only(settings.db) as store:
        return _explained(store, store.load(stored.id), head, window, request.flows)


def _around(at_ns: int, end_ns: int) -> tuple[int, int]:
    """Return the window around a moment; UsageError when it is after the run's end."""
    if not 0 <= at_ns <= end_ns:
        raise UsageError(f"--at {at_ns / 1e9:g}s: the run goes from 0s to {end_ns / 1e9:g}s")
    return max(at_ns - AROUND_NS, 0), min(at_ns + AROUND_NS, end_ns)


def _showing(heads: Sequence[TraceHead], window: tuple[int, int]) -> TraceHead | None:
    """Return the smallest stored trace that has all that happened in a window."""
    showing = [
        head
        for head in heads
        if head.capture.kinds >= SENDERS
        and head.capture.kinds.intersection(QUEUES)
        and head.capture.from_ns <= window[0]
        and head.capture.to_ns >= window[1]
        and not head.capture.flows
        and not head.capture.links
    ]
    return min(showing, key=lambda head: head.stored_bytes, default=None)


def _traced(run_id: str, capture: Capture, settings: RunSettings, listener: Listener) -> TraceHead:
    """Make a trace of a run and return it."""
    made = zoom(ZoomRequest(run_id, capture), settings, listener)
    if made.head is None:
        raise RunError(
            f"run {run_id} was made again, and its digest differs: it is {made.digest[:12]}, and "
            f"{made.stored_digest[:12]} was stored; nothing can be said of what happened"
        )
    return made.head


def _explained(
    store: Store,
    run: StoredRun,
    head: TraceHead,
    window: tuple[int, int],
    flows: Sequence[str],
) -> Explanation:
    trace = store.trace(run.id, head.number, sorted({"ends", "acks", "events", "links", "drops"}))
    view = TraceView(run, trace)
    found = {
        name: [
            moment
            for moment in what_happened(view, number)
            if moment.time_ns < window[1] and (moment.until_ns or moment.time_ns) >= window[0]
        ]
        for number, name in enumerate(view.flows)
        if not flows or name in flows
    }
    return Explanation(run.id, head.number, window, found)
