"""Looks at a stored run more closely: makes it again with a trace, and keeps the trace with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from orchestrator.application import stored_plans
from orchestrator.application.events import Listener, notices
from orchestrator.application.making_runs import RunSettings, execute
from orchestrator.errors import RunError, UsageError
from orchestrator.files.temporary import temporary_folder
from orchestrator.planning import captures
from orchestrator.protocol.reports.trace_records import PORTS_END, WANTED
from orchestrator.recording.trace import Capture, Trace
from orchestrator.suggestions import suggest
from orchestrator.units import listed
from results.contract import traces as contract
from results.contract.base import SCHEMA
from results.documents import trace_document
from results.store.store import Store

if TYPE_CHECKING:
    from orchestrator.planning.runspec import RunSpec
    from results.store.parts.traces import TraceHead
    from results.store.stored import StoredRun


@dataclass(frozen=True)
class ZoomRequest:
    """What to look at of a stored run: the window, and what is traced in it."""

    run: str
    capture: Capture


@dataclass(frozen=True)
class ZoomResult:
    """What came of it. Without ``head`` the digests differ, and nothing is kept.

    ``was_stored`` tells that the run had this trace already, and was not made again.
    """

    run_id: str
    digest: str
    stored_digest: str
    head: TraceHead | None
    was_stored: bool = False

    @property
    def status(self) -> int:
        """The exit status: 1 when the digests differ."""
        return 1 if self.head is None else 0

    def document(self) -> dict[str, Any]:
        """Return the JSON contract."""
        return contract.Zoom.model_construct(
            schema_=SCHEMA,
            run=self.run_id,
            bit_identical=self.head is not None,
            digest=self.digest,
            stored_digest=self.stored_digest,
            trace=None if self.head is None else trace_document.trace(self.head),
            was_stored=self.was_stored,
        ).document()


@dataclass(frozen=True)
class TracedRun:
    """A stored run that was made again with a trace of what was asked for."""

    run_id: str
    digest: str
    stored_digest: str
    trace: Trace


def zoom(
    request: ZoomRequest,
    settings: RunSettings,
    listener: Listener,
    asker: stored_plans.Asker = stored_plans.ZOOM,
) -> ZoomResult:
    """Make a stored run again with a trace; keep the trace with it if the digests are equal.

    A run that has an equal trace already is not made again.

    Errors name ``asker``, the command of the user.

    Raises:
        StoreError: the store cannot be written. It is known before the run is made.
        UsageError: there is no such run, it cannot be made again to the bit, the window or a name
            is not of the run, or the trace is larger than its limit.
        RunError: the run failed this time.
    """
    request = _of_flows(request, settings, asker)
    if (stored := _stored(request, settings)) is not None:
        return stored
    made = made_again(request, settings, listener, asker)
    if made.digest != made.stored_digest:
        return ZoomResult(made.run_id, made.digest, made.stored_digest, None)
    _require_whole(made.trace, asker)
    return ZoomResult(made.run_id, made.digest, made.stored_digest, keep(made, settings))


def _of_flows(
    request: ZoomRequest, settings: RunSettings, asker: stored_plans.Asker
) -> ZoomRequest:
    """Return the request with the flows of the entries that it names."""
    if not request.capture.flows:
        return request
    with Store.open_read_only(settings.db) as store:
        run = store.load(request.run)
        stored_plans.require_ok(run, asker)
        flows = flows_named(run, request.capture.flows)
    return replace(request, capture=replace(request.capture, flows=tuple(flows)))


def _stored(request: ZoomRequest, settings: RunSettings) -> ZoomResult | None:
    """Return the result of a request whose trace the run has already; None for others."""
    with Store.open_read_only(settings.db) as store:
        run = store.load(request.run)
        for head in run.traces:
            if head.full_ns is None and _selection(head.capture) == _selection(request.capture):
                digest = str(run.row.digest)
                return ZoomResult(run.id, digest, digest, head, was_stored=True)
    return None


def _selection(capture: Capture) -> Capture:
    """Return what a whole trace depends on: not on its limit, nor on the order of names."""
    flows, links = (tuple(sorted(set(names))) for names in (capture.flows, capture.links))
    return replace(capture, limit_bytes=0, flows=flows, links=links)


def keep(made: TracedRun, settings: RunSettings) -> TraceHead:
    """Store the trace of a run with it."""
    with Store(settings.db) as store:
        number = store.add_trace(made.run_id, made.trace)
        return next(head for head in store.traces(made.run_id) if head.number == number)


def made_again(
    request: ZoomRequest, settings: RunSettings, listener: Listener, asker: stored_plans.Asker
) -> TracedRun:
    """Make a stored run again with a trace, and keep nothing. The digests may differ.

    Raises:
        StoreError: a trace could not be kept, since the store cannot be written.
        UsageError: there is no such run, it cannot be made again to the bit, or the window or a
            name is not of the run.
        RunError: the run failed this time.
    """
    with Store.open_existing(settings.db, notices(listener)) as store:
        store.require_writable()  # the trace is stored when all is done
        run_id = store.resolve(request.run)
        verification = stored_plans.verification([run_id], store, settings.backend, asker)
    (spec,) = verification.plan.runs
    _require_possible(request.capture, spec, asker)
    traced = replace(verification.plan, runs=[replace(spec, capture=request.capture)])
    ((_id, stored_digest),) = verification.stored[0].items()

    with temporary_folder("zoom") as folder:
        elsewhere = replace(settings, db=folder / "zoom.db")
        ids = execute(traced, elsewhere, listener, again=True, check=verification.require_kernel)
        digest, trace = _made(ids, elsewhere)
    return TracedRun(run_id, digest, stored_digest, captures.selection(trace, spec))


def _made(ids: Sequence[str], settings: RunSettings) -> tuple[str, Trace]:
    """Return digest and trace of the run that was made."""
    with Store.open_read_only(settings.db) as store:
        row = store.load(ids[0]).row
        if row.status != "ok" or row.digest is None:
            raise RunError(f"the run could not be made again: {row.status}: {row.error}")
        (head,) = store.traces(row.id)
        return row.digest, store.trace(row.id, head.number)


def _require_whole(trace: Trace, asker: stored_plans.Asker) -> None:
    """Raise UsageError when the limit was reached; the error names a window that fits."""
    options: tuple[str | None, str] = ("--trace", "--limit")
    if asker != stored_plans.ZOOM:  # it has neither, and takes what zoom has made
        options = (None, "the `--limit` of `orchestrator zoom`")
    if problem := captures.limit_problem(trace, "--window", *options):
        raise UsageError(f"{asker.name}: {problem}")


def require_flows(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise UsageError for a name that no flow has."""
    for name in names:
        if problem := captures.flow_problem(name, known):
            raise UsageError(f"--flow {name}: {problem}")


def flows_named(run: StoredRun, names: Sequence[str]) -> list[str]:
    """Return the flows of a run with these names or of these flow entries, or all without a name.

    Raises:
        UsageError: there is none with a name.
    """
    known = [flow.name for flow in run.flows]
    if not names:
        return known
    chosen: dict[str, None] = {}
    for name in names:
        if name not in run.entries:
            require_flows([name], known)
        of_name = (
            flow for flow, entry in zip(known, run.entries, strict=True) if name in (flow, entry)
        )
        chosen |= dict.fromkeys(of_name)
    return list(chosen)


def require_kinds(kinds: Iterable[str]) -> None:
    """Raise UsageError for what is no kind of trace."""
    for name in kinds:
        if name not in WANTED:
            raise UsageError(
                f"--trace {name or 'without a name'}: there is no such trace"
                f"{suggest(name, WANTED)}; there are {listed(WANTED)}"
            )


def _require_possible(capture: Capture, spec: RunSpec, asker: stored_plans.Asker) -> None:
    """Raise UsageError for a window or a name that the run has not."""
    if problem := captures.window_problem(capture, spec.duration_s):
        raise UsageError(f"{asker.name}: {problem}")
    require_flows(capture.flows, [flow.name for flow in spec.flows])
    if captures.hides_flows(capture):
        raise UsageError(
            f"--snap {capture.snap_bytes}: the flow of a frame is known by its first {PORTS_END} "
            f"bytes; give --snap {PORTS_END} or more, or leave out --flow"
        )
    for name in capture.links:
        if problem := captures.link_problem(name, spec.network):
            raise UsageError(f"--link {name}: {problem}")
