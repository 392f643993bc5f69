"""Makes the runs of plans, and leaves out what is stored already."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from guest.choice import DEFAULT
from orchestrator import backends
from orchestrator.application import estimates, stored_plans
from orchestrator.application.events import (
    Listener,
    Preparing,
    RunProgressed,
    RunsBegun,
    RunsEnded,
    RunsStored,
    Waiting,
    notices,
)
from orchestrator.backends.contract import BackendOptions
from orchestrator.backends.guest import Guest
from orchestrator.backends.guest.features import lack_of_named
from orchestrator.errors import StoreError, UsageError
from orchestrator.execution.runner import run_plan
from orchestrator.files.temporary import RUN_FOLDER, remove_abandoned, temporary_root
from orchestrator.protocol.programs import PROGRAM
from orchestrator.units import listed, shown
from results.store.store import Store

if TYPE_CHECKING:
    from guest.choice import KernelChoice
    from orchestrator.application.executor import Executor
    from orchestrator.backends.contract import Backend
    from orchestrator.execution.runner import Progress
    from orchestrator.planning.costs.learning import Estimator
    from orchestrator.planning.plan import Plan


@dataclass(frozen=True)
class RunSettings:
    """How runs are made, whatever they are of: where they are stored, and what they run on.

    ``allow_programs`` lets scenarios run programs on machines that do not confine them.

    ``timeout_s`` limits the wall time of each run; by default it depends on the run's estimate.
    """

    db: Path
    backend: str
    executor: Executor
    unconfined: bool = False
    timeout_s: float | None = None
    allow_programs: bool = False


Check = Callable[["Backend"], None]
"""Raises UsageError where a back end cannot make the runs."""


def make_runs(
    planned: Plan,
    resume: bool,
    settings: RunSettings,
    listener: Listener,
    check: Check = lambda _backend: None,
) -> list[str]:
    """Make the runs of a plan and return their ids, including those that were stored already.

    ``resume`` uses what is stored with equal content. ``check`` is as in :func:`execute`.
    """
    if not (resume and settings.db.exists()):
        if settings.db.exists():
            _tell_what_is_stored_twice(planned, settings, listener)
        return execute(planned, settings, listener, check=check)

    # It is migrated now: runs are added to it anyway.
    with Store.open_existing(settings.db, notices(listener)) as store:
        rest = stored_plans.remaining(planned, store, settings.backend)
    total, left = len(planned.runs), len(rest.plan.runs)
    listener(RunsStored(total - left, total, resumed=True))
    if rest.plan.runs:
        return rest.complete(execute(rest.plan, settings, listener, check=check))
    remove_abandoned(temporary_root(), RUN_FOLDER)  # as a run would
    return rest.complete([])


def _tell_what_is_stored_twice(planned: Plan, settings: RunSettings, listener: Listener) -> None:
    """Tell how many of the runs are stored already, and are made again."""
    with Store.open_read_only(settings.db) as store:
        stored = sum(stored_plans.stored(planned, store, settings.backend))
    if stored:
        listener(RunsStored(stored, len(planned.runs), resumed=False))


def execute(
    plan: Plan,
    settings: RunSettings,
    listener: Listener,
    again: bool = False,
    check: Check = lambda _backend: None,
) -> list[str]:
    """Make every run of a plan and return their ids.

    ``again`` requires a back end on which equal runs give equal digests; a trace is then stored as
    it was made, even one that is larger than its limit. ``check`` is called with the back end
    before anything runs, and raises where the runs cannot be made.
    """

    def preparing(step: str, fraction: float | None) -> None:
        listener(Preparing(step, fraction))

    executor = settings.executor
    kernels = tuple(dict.fromkeys(spec.kernel for spec in plan.runs)) or (DEFAULT,)
    _require_kernels(settings.backend, kernels)
    if (problem := lack_of_named(plan.runs)) is not None:
        raise UsageError(problem)  # before a kernel is built for nothing
    options = BackendOptions(preparing, settings.unconfined, executor.local_jobs, kernels)
    backend = backends.make(settings.backend, options)
    if again and not backend.traits.reproducible:
        raise UsageError(
            f"runs on the back end {backend.name} are not bit-identical: none can be made again"
        )
    if not settings.allow_programs:
        _require_confined_programs(plan, backend)
    check(backend)
    run_options = executor.run_options(settings.db, backend, settings.timeout_s, notices(listener))
    if again:
        run_options = replace(run_options, keep=lambda trace, _spec: trace)
    listener(RunsBegun(plan, executor.local_jobs or None))

    def meanwhile() -> None:
        listener(Waiting(lambda: _estimator(settings.db, backend)))

    ids = run_plan(plan, replace(run_options, meanwhile=meanwhile), _Observer(listener))
    listener(RunsEnded())
    return ids


def _require_kernels(backend: str, kernels: Sequence[KernelChoice]) -> None:
    """Raise UsageError where runs name kernels, and the back end has only the machine's."""
    backends.require_known(backend)
    named = [choice.text for choice in kernels if choice.source is not None]
    if named and not backends.traits(backend).chooses_kernels:
        able = [name for name in backends.MODULES if backends.traits(name).chooses_kernels]
        raise UsageError(
            f"--backend {backend}: it has the kernel of its machines, and not {listed(named)}\n"
            f"  fix: give --backend {' or '.join(able)}, or name no kernel"
        )


def _require_confined_programs(plan: Plan, backend: Backend) -> None:
    """Raise UsageError where a scenario would run programs that nothing confines."""
    if backend.traits.confines_programs and not backend.unconfined:
        return
    flow = next((flow for run in plan.runs for flow in run.flows if flow.engine == PROGRAM), None)
    if flow is not None:
        where = "without a sandbox" if backend.traits.confines_programs else f"with {backend.name}"
        reach = "the files of the machine that every user can read"
        if backend.traits.on_other_hosts:
            reach = "the files of its hosts that every user can read, and reach their networks"
        raise UsageError(
            f"flow {shown(flow.name)} runs programs that its scenario names, and {where} they see "
            f"{reach}\n"
            "  fix: give --allow-programs if you trust the scenario, or use --backend "
            f"{backends.DEFAULT}"
        )


@dataclass(frozen=True)
class _Observer:
    """Passes the runner's progress on."""

    listener: Listener

    def progress(self, progress: Progress) -> None:
        """Pass on the progress of a run."""
        self.listener(RunProgressed(progress))


def _estimator(db: Path, backend: Backend) -> Estimator | None:
    """Return what estimates runs by earlier ones of the store, as ``plan`` does."""
    if isinstance(backend, Guest):  # runs of others take real time
        # A store that cannot be read must not end runs that go on: only an estimate needs it here.
        with contextlib.suppress(StoreError):
            return estimates.estimator(db, backend.kernel)
    return None
