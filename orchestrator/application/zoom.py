"""Looks at a stored run more closely: makes it again with a trace, and keeps the trace with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from orchestrator.application import stored_plans
from orchestrator.application.events import Listener, notices
from orchestrator.application.making_runs import RunSettings, execute
from orchestrator.errors import RunError, UsageError
from orchestrator.files.temporary import temporary_folder
from orchestrator.protocol.reports.trace_records import PORTS_END, WANTED
from orchestrator.protocol.units import NS_PER_S, nanoseconds
from orchestrator.recording.trace import MOST_LIMIT_BYTES, Capture, Trace, selected
from orchestrator.suggestions import suggest
from orchestrator.units import listed
from results.contract.base import SCHEMA
from results.store.store import Store
from results.wording import quantities

if TYPE_CHECKING:
    from orchestrator.planning.runspec import RunSpec
    from results.store.parts.traces import TraceHead

_SPARE = Decimal("0.95")
"""A window that fits is so much of what was traced: records come in bursts."""


@dataclass(frozen=True)
class ZoomRequest:
    """What to look at of a stored run: the window, and what is traced in it."""

    run: str
    capture: Capture


@dataclass(frozen=True)
class ZoomResult:
    """What came of it. Without ``head`` the digests differ, and nothing is kept."""

    run_id: str
    digest: str
    stored_digest: str
    head: TraceHead | None

    @property
    def status(self) -> int:
        """The exit status: 1 when the digests differ."""
        return 1 if self.head is None else 0

    def document(self) -> dict[str, object]:
        """Return the JSON contract."""
        document: dict[str, object] = {
            "schema": SCHEMA,
            "run": self.run_id,
            "bit_identical": self.head is not None,
            "digest": self.digest,
            "stored_digest": self.stored_digest,
            "trace": None,
        }
        if self.head is not None:
            document["trace"] = self.head.document()
        return document


def zoom(request: ZoomRequest, settings: RunSettings, listener: Listener) -> ZoomResult:
    """Make a stored run again with a trace; keep the trace with it if the digests are equal.

    Raises:
        UsageError: there is no such run, it cannot be made again to the bit, the window or a name
            is not of the run, or the trace is larger than its limit.
        RunError: the run failed this time.
    """
    with Store.open_existing(settings.db, notices(listener)) as store:
        run_id = store.resolve(request.run)
        verification = stored_plans.verification(
            [run_id], store, settings.backend, stored_plans.ZOOM
        )
    (spec,) = verification.plan.runs
    _require_window(request.capture, spec)
    flows = _flows(request.capture, spec)
    channels = _channels(request.capture.links, spec)
    traced = replace(verification.plan, runs=[replace(spec, capture=request.capture)])
    ((_id, stored_digest),) = verification.stored[0].items()

    with temporary_folder("zoom") as folder:
        elsewhere = replace(settings, db=folder / "zoom.db")
        ids = execute(traced, elsewhere, listener, again=True, check=verification.require_kernel)
        digest, trace = _made(ids, elsewhere)
    if digest != stored_digest:
        return ZoomResult(run_id, digest, stored_digest, None)
    _require_whole(trace)
    with Store(settings.db) as store:
        number = store.add_trace(run_id, selected(trace, flows, channels))
        head = next(each for each in store.traces(run_id) if each.number == number)
    return ZoomResult(run_id, digest, stored_digest, head)


def _made(ids: Sequence[str], settings: RunSettings) -> tuple[str, Trace]:
    """Return digest and trace of the run that was made."""
    with Store.open_read_only(settings.db) as store:
        row = store.load(ids[0]).row
        if row.status != "ok" or row.digest is None:
            raise RunError(f"the run could not be made again: {row.status}: {row.error}")
        (head,) = store.traces(row.id)
        return row.digest, store.trace(row.id, head.number)


def window_text(from_ns: int, to_ns: int) -> str:
    """Return a window as users write it, to the nanosecond, such as ``12s..12.5s``."""
    return f"{_seconds(from_ns)}..{_seconds(to_ns)}"


def _seconds(time_ns: int) -> str:
    text = f"{Decimal(time_ns) / NS_PER_S:f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}s"


def _require_window(capture: Capture, spec: RunSpec) -> None:
    end_ns = nanoseconds(spec.duration_s)
    if capture.to_ns > end_ns:
        raise UsageError(
            f"zoom: the window ends at {_seconds(capture.to_ns)}, after the run, which ends at "
            f"{_seconds(end_ns)}"
        )


def _require_whole(trace: Trace) -> None:
    """Raise UsageError when the limit was reached; the error names a window that fits."""
    if trace.full_ns is None:
        return
    capture = trace.capture
    fixes = ["trace less (--trace)"]
    whole_ns = _fitting_ns(trace.full_ns - capture.from_ns)
    if whole_ns > 0:
        window = window_text(capture.from_ns, capture.from_ns + whole_ns)
        fixes.insert(0, f"give --window {window}, which fits")
    if capture.limit_bytes < MOST_LIMIT_BYTES:
        fixes.append("raise --limit")
    reached = "before the window"
    if trace.full_ns >= capture.from_ns:
        reached = f"{quantities.time(trace.full_ns - capture.from_ns)} after the window's begin"
    raise UsageError(
        f"zoom: the trace is larger than its limit of {quantities.size(capture.limit_bytes)}, "
        f"which was reached {reached}; nothing is kept\n  fix: {', or '.join(fixes)}"
    )


def _fitting_ns(whole_ns: int) -> int:
    """Return a length of the window, in round numbers, whose records fit; 0 when none is known."""
    length = int(max(whole_ns, 0) * _SPARE)
    coarse: int = 10 ** max(len(str(length)) - 2, 0)
    return length // coarse * coarse


def numbers_of_flows(names: Sequence[str], known: Sequence[str]) -> frozenset[int]:
    """Return the numbers of flows by their names; UsageError for a name that none has."""
    for name in names:
        if name not in known:
            raise UsageError(
                f"--flow {name}: the run has no such flow{suggest(name, known)}; "
                f"it has {listed(known)}"
            )
    return frozenset(known.index(name) for name in names)


def require_kinds(kinds: Iterable[str]) -> None:
    """Raise UsageError for what is no kind of trace."""
    for name in kinds:
        if name not in WANTED:
            raise UsageError(
                f"--trace {name or 'without a name'}: there is no such trace"
                f"{suggest(name, WANTED)}; there are {listed(WANTED)}"
            )


def _flows(capture: Capture, spec: RunSpec) -> frozenset[int]:
    """Return the numbers of flows; UsageError for a name that none has."""
    numbers = numbers_of_flows(capture.flows, [flow.name for flow in spec.flows])
    if capture.flows and "packets" in capture.kinds and capture.snap_bytes < PORTS_END:
        raise UsageError(
            f"--snap {capture.snap_bytes}: the flow of a frame is known by its first {PORTS_END} "
            f"bytes; give --snap {PORTS_END} or more, or leave out --flow"
        )
    return numbers


def _channels(names: Sequence[str], spec: RunSpec) -> frozenset[int]:
    """Return the numbers of channels: of one such as ``core:forward``, or both of a link."""
    known = [hop.name for link in spec.network.links for hop in link.hops]
    links = [link.name for link in spec.network.links]
    numbers: set[int] = set()
    for name in names:
        meant = {n for n, each in enumerate(known) if name in (each, each.rpartition(":")[0])}
        if not meant:
            raise UsageError(
                f"--link {name}: the run has no such link{suggest(name, [*links, *known])}; "
                f"it has {listed(links)}, each also as LINK:forward and LINK:reverse"
            )
        numbers.update(meant)
    return frozenset(numbers)
