"""Runs a plan on a back end, several runs at a time; stores each run or marks it as failed.

While a run is judged and stored, the bed of the next one is at work already, where the back end
lets it. ``Slots`` count beds at work.

Ctrl-C, SIGTERM and SIGHUP end the beds, mark their runs ``interrupted`` and remove all files. When
this process is killed by SIGKILL, the crash reaper does the same.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Protocol

from orchestrator import fidelity
from orchestrator.backends.contract import Backend, RunContext, Slot, Slots
from orchestrator.compile import bounds
from orchestrator.decode.decode import TcpDecoder
from orchestrator.decode.output import believing_nothing, console_text, malformed
from orchestrator.errors import CleanupError, OrchestratorError, RunError, StoreError
from orchestrator.execution import costing, judging, refusals
from orchestrator.execution.commit import git_commit
from orchestrator.execution.crash_reaper import CrashReaper
from orchestrator.execution.live_view import LiveView
from orchestrator.execution.slots import LocalSlots, RunOrder
from orchestrator.files.temporary import (
    RUN_FOLDER,
    TemporaryFolder,
    explain_full_disk,
    remove_with_retries,
)
from orchestrator.planning import captures
from orchestrator.planning.plan import Plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol import engines
from orchestrator.protocol.units import NS_PER_S
from orchestrator.protocol.version import DIGEST_VERSION, LINK_MODEL
from orchestrator.recording.model import Recording, Verdict
from orchestrator.recording.trace import Trace
from orchestrator.sandbox import orphans
from results.records.links import summarise_links
from results.records.model import RunHead
from results.schema.database import say_nothing
from results.store.store import Store, prepare_storing

_WAKE_S = 0.2
_VALUE_ERRORS = (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError,
                 sqlite3.ProgrammingError)  # fmt: skip
"""What SQLite raises for values that it rejects. Its other errors concern the file or the disk."""


@dataclass(frozen=True)
class RunOptions:
    """How to run a plan: where to store it, on what, and how many runs at a time.

    ``timeout_s`` limits the wall time of each run; the default depends on the run's estimate.
    ``slots`` decides when runs begin; by default, up to ``jobs`` beds are at work at a time, with a
    CPU each.
    ``tell`` is called with what a migration of the store does. ``meanwhile`` is called once, in the
    main thread while the first beds run: there a command loads what it needs after the runs.
    ``keep`` returns what is stored of the trace of a run; it raises RunError to fail the run.
    """

    db: Path
    backend: Backend
    jobs: int = 1
    timeout_s: float | None = None
    slots: Slots | None = None
    tell: Callable[[str], None] = say_nothing
    meanwhile: Callable[[], None] = lambda: None
    keep: Callable[[Trace, RunSpec], Trace] = captures.kept


@dataclass(frozen=True)
class Progress:
    """Progress of one run.

    ``phase`` is boot, setup, probes, traffic, storing, ok, failed or interrupted. ``verdict`` is
    that of a run that is ok.
    """

    index: int
    run_id: str
    phase: str
    simulated_s: float
    wall_s: float
    verdict: Verdict | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the run goes on no more."""
        return self.phase in ("ok", "failed", "interrupted")


class Observer(Protocol):
    """Receives progress, from one thread at a time."""

    def progress(self, progress: Progress) -> None:
        """Handle the progress of a run."""


@dataclass
class _Session:
    """State that the threads of one ``run_plan`` share."""

    options: RunOptions
    observer: Observer
    folder: Path
    reaper: CrashReaper
    stopping: threading.Event
    order: RunOrder
    lock: threading.Lock = field(default_factory=threading.Lock)
    groups: set[int] = field(default_factory=set)

    def report(self, progress: Progress) -> None:
        with self.lock:
            self.observer.progress(progress)

    def add_group(self, group: int) -> None:
        with self.lock:
            self.groups.add(group)
            self.reaper.add_group(group)

    def remove_group(self, group: int) -> None:
        with self.lock:
            self.groups.discard(group)
            self.reaper.remove_group(group)

    def stop(self) -> None:
        """End every bed; their threads then mark their runs as interrupted."""
        self.stopping.set()
        with self.lock:
            for group in self.groups:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)


def run_plan(plan: Plan, options: RunOptions, observer: Observer) -> list[str]:
    """Execute all runs of the plan and return their ids in the order of the plan.

    A run that fails is marked as failed, and the others continue.

    Raises:
        CleanupError: the crash reaper was killed; running runs were completed and no others
            started.
        MachineError: this machine cannot run any of them; nothing was stored.
        UsageError: the back end cannot do what the plan or ``options.jobs`` requires; nothing was
            stored.
        KeyboardInterrupt: on Ctrl-C, SIGTERM or SIGHUP, after cleaning up.
    """
    backend = options.backend
    refusals.require_able(plan, backend, options.jobs)
    with Store(options.db, options.tell):
        pass  # created or migrated now, so that an unusable store is reported before any run
    temporary = TemporaryFolder(RUN_FOLDER)
    orphans.end()
    # The crash reaper must be forked before any thread starts.
    reaper = CrashReaper(temporary.path, lambda: Store(options.db).close())
    one_bed, stopping = options.slots is None and options.jobs == 1, threading.Event()
    order = RunOrder(len(plan.runs), one_bed, stopping)
    session = _Session(options, observer, temporary.path, reaper, stopping, order)
    try:
        with _signals_interrupt(), ThreadPoolExecutor(1) as beside:
            commit = beside.submit(git_commit)
            backend.prepare(plan)
            return _run_all(plan, session, commit)
    finally:
        backend.close()
        temporary.remove()
        reaper.dismiss()


def _run_all(plan: Plan, session: _Session, commit: Future[str | None]) -> list[str]:
    head = _HeadMaker(plan.experiment, session.options, commit.result())
    slots = session.options.slots or LocalSlots(session.options.jobs)
    with ThreadPoolExecutor(slots.lanes) as pool:
        futures = [
            pool.submit(_run_guarded, index, spec, head, session, slots)
            for index, spec in enumerate(plan.runs)
        ]
        try:
            pending: set[Future[str | None]] = set(futures)
            prepared = False
            while pending:
                # Waking up periodically lets signal handlers run.
                done, pending = wait(pending, _WAKE_S, FIRST_COMPLETED)
                for future in done:
                    future.result()
                if not prepared:  # while the first beds run, on other CPUs
                    fidelity.modules()
                    prepare_storing()
                    session.options.meanwhile()
                    prepared = True
        except BaseException:
            for future in futures:
                future.cancel()
            session.stop()
            raise
    ids = [run_id for future in futures if (run_id := future.result()) is not None]
    if session.reaper.lost:
        raise CleanupError(
            f"the crash reaper (process {session.reaper.pid}) was killed, by a user or for lack of "
            f"memory: {len(ids)} of {len(futures)} runs ended and are stored\n"
            "  fix: the same command with --resume runs the others and shows all"
        )
    return ids


def _run_guarded(
    index: int, spec: RunSpec, head: _HeadMaker, session: _Session, slots: Slots
) -> str | None:
    """Execute and store one run, return its id; return None without a run if the reaper is lost.

    Runs that have begun when the crash reaper is killed are completed. Whatever killed it, a user
    or the kernel short of memory, may kill the controller next. So no other run starts.
    """
    with session.order.running(index), contextlib.ExitStack() as held:
        with session.order.beginning(index):
            slot = held.enter_context(slots.slot(session.stopping))
        if slot is None or session.reaper.lost:
            return None
        return _run_one(index, spec, head, session, slot)


def _run_one(index: int, spec: RunSpec, head: _HeadMaker, session: _Session, slot: Slot) -> str:
    """Execute and store one run; return its id. Called in a thread of its own."""
    options = session.options
    began = time.monotonic()
    with Store(options.db) as store, contextlib.ExitStack() as held:
        run_id = store.begin(head.make(spec), spec.files.values())

        def restart_clock() -> None:
            nonlocal began
            began = time.monotonic()

        folder = session.folder / str(index)
        folder.mkdir()
        limits = bounds.of(spec, options.timeout_s, not options.backend.traits.reproducible)

        def report(phase: str, simulated_s: float, verdict: Verdict | None = None) -> None:
            wall_s = time.monotonic() - began
            live.report(phase, simulated_s, wall_s)
            session.report(Progress(index, run_id, phase, simulated_s, wall_s, verdict))

        def watch_samples(tcp: TcpDecoder) -> None:
            live.take(tcp)

        context = RunContext(
            folder, slot.cpu, session.add_group, session.remove_group, session.stopping, limits,
            held, restart_clock, watch_samples=watch_samples, let_next_begin=slot.leave,
        )  # fmt: skip
        live = held.enter_context(LiveView(options.db, run_id, spec, context.output))
        try:
            with explain_full_disk(folder):
                recording = options.backend.run(spec, context, report)
            if recording.trace is not None:
                recording = replace(recording, trace=options.keep(recording.trace, spec))
            if context.waited_s:
                recording.provenance["cost"] = costing.recorded(spec, context.waited_s[-1])
            report("storing", spec.duration_s)
            wall_s = time.monotonic() - began
            session.order.await_earlier(index)
            verdict = _finish(store, run_id, spec, recording, wall_s)
        except BaseException as error:
            session.order.await_earlier(index)
            _mark(store, run_id, error, context, session)
            report("interrupted" if session.stopping.is_set() else "failed", 0.0)
            if session.stopping.is_set() or isinstance(error, RunError):
                return run_id
            raise
        finally:
            remove_with_retries(folder)
        report("ok", spec.duration_s, verdict)
        return run_id


def _finish(
    store: Store, run_id: str, spec: RunSpec, recording: Recording, wall_s: float
) -> Verdict | None:
    """Judge a recording and store it; return its verdict.

    Raises:
        BedError: its values cannot be stored; the other runs continue.
        StoreError: the store itself cannot be written.
    """
    with believing_nothing():
        try:
            judged = judging.judged(spec, recording)
            evidence = judging.evidence_document(spec, recording)
            store.finish(run_id, judged, wall_s, evidence)
            return judged.verdict
        except StoreError as error:
            if error.__cause__ is None or isinstance(error.__cause__, _VALUE_ERRORS):
                raise malformed(f"it cannot be stored: {error}") from error
            raise


def _mark(
    store: Store, run_id: str, error: BaseException, context: RunContext, session: _Session
) -> None:
    texts = console_text(context.folder / "console"), context.output.text("bed.log")
    if session.stopping.is_set():
        store.fail(run_id, "interrupted by the user", "interrupted", *texts)
    elif isinstance(error, OrchestratorError):
        store.fail(run_id, str(error), "failed", *texts)
    else:
        store.fail(run_id, f"{type(error).__name__}: {error}", "failed", *texts)


@dataclass
class _HeadMaker:
    """Builds the store's record of a run before the run begins."""

    experiment: str | None
    options: RunOptions
    git_commit: str | None

    def make(self, spec: RunSpec) -> RunHead:
        return RunHead(
            experiment=self.experiment or spec.scenario_name,
            scenario=spec.scenario_name,
            description=spec.description,
            variant=spec.variant,
            variant_sets=spec.variant_sets,
            repetition=spec.repetition,
            seed=spec.seed,
            backend=self.options.backend.name,
            duration_s=spec.duration_s,
            warmup_s=spec.warmup_s,
            windows=spec.windows,
            metrics_grid_s=None if spec.grid_ns is None else spec.grid_ns / NS_PER_S,
            scenario_text=spec.scenario_text,
            scenario_sha256=spec.scenario_sha256,
            experiment_sha256=spec.experiment_sha256,
            repetition_rule=spec.repetition_rule,
            link_model=LINK_MODEL,
            digest_version=DIGEST_VERSION,
            digest_depends_on_sampling=self._depends_on_sampling(spec),
            resolved=spec.resolved,
            links=summarise_links(spec.network.links),
            git_commit=self.git_commit,
            unconfined=self.options.backend.unconfined,
        )

    def _depends_on_sampling(self, spec: RunSpec) -> bool | None:
        if not self.options.backend.traits.reproducible:
            return None
        return not engines.exact_under_sampling(flow.engine for flow in spec.flows)


@contextlib.contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the block as Ctrl-C does, in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    kinds = (signal.SIGTERM, signal.SIGHUP)
    before = {kind: signal.signal(kind, interrupt) for kind in kinds}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)
