"""Says what happened to the flows of a stored run and why, by traced events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestrator.application.events import Listener, notices
from orchestrator.application.zoom import ZoomRequest, zoom
from orchestrator.errors import RunError, UsageError
from orchestrator.recording.trace import Capture
from orchestrator.suggestions import suggest
from orchestrator.units import listed
from results.contract.base import SCHEMA
from results.store.store import Store
from results.traces.causes import what_happened
from results.traces.moments import Moment
from results.traces.view import TraceView

if TYPE_CHECKING:
    from orchestrator.application.making_runs import RunSettings
    from results.store.parts.traces import TraceHead
    from results.store.stored import StoredRun

_NS_PER_S = 1_000_000_000
SENDERS, QUEUES = frozenset({"tcp", "acks"}), ("queue", "drops")
"""What a trace must have, and one of which, so that causes can be found."""
WHOLE_RUN_LIMIT_BYTES = 512 * 2**20


@dataclass(frozen=True)
class ExplainRequest:
    """What of a stored run is to be explained: some flows, or all; a window, or the whole run."""

    run: str
    flows: Sequence[str] = ()
    window_ns: tuple[int, int] | None = None


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
        return {
            "schema": SCHEMA,
            "run": self.run_id,
            "trace": self.trace,
            "from_ns": self.window_ns[0],
            "to_ns": self.window_ns[1],
            "flows": [
                {
                    "flow": name,
                    "counts": dict(Counter(moment.kind for moment in found)),
                    "moments": [_document(moment) for moment in found],
                }
                for name, found in self.flows.items()
            ],
        }


def _document(moment: Moment) -> dict[str, Any]:
    return {
        "time_ns": moment.time_ns,
        "until_ns": moment.until_ns,
        "kind": moment.kind,
        "text": moment.text,
        "numbers": moment.numbers,
        "evidence": moment.evidence,
    }


def explain(request: ExplainRequest, settings: RunSettings, listener: Listener) -> Explanation:
    """Return what happened to flows; where no trace is stored that shows it, make one.

    Raises:
        UsageError: there is no such run or flow, the run cannot be made again to the bit, or the
            trace would be too large.
        RunError: the run was made again, and its digest differs.
    """
    with Store.open_existing(settings.db, notices(listener)) as store:
        stored = store.load(request.run)
        known = [flow.name for flow in stored.flows]
        for name in request.flows:
            if name not in known:
                raise UsageError(
                    f"--flow {name}: the run has no such flow{suggest(name, known)}; "
                    f"it has {listed(known)}"
                )
        duration_ns = round((stored.row.simulated_s or 0) * _NS_PER_S)
        window = request.window_ns or (0, duration_ns)
        head = _showing(store.traces(stored.id), window)
    if head is None:
        capture = Capture(*window, SENDERS | {"queue"})
        if request.window_ns is None:
            capture = Capture(*window, SENDERS | {"drops"}, WHOLE_RUN_LIMIT_BYTES)
        head = _traced(stored.id, capture, settings, listener)
    with Store.open_read_only(settings.db) as store:
        return _explained(store, store.load(stored.id), head, window, request.flows)


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
