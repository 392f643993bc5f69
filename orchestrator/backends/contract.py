"""The interface between the runner and a back end.

A back end starts a test bed for a planned run and returns the recording. Every back end runs the
same program (``orchestrator/testbed``). It reads a folder ``in`` and writes a folder ``out``, from
which ``decode.assemble`` builds the recording.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

from guest.build_steps import Progress
from guest.choice import DEFAULT, KernelChoice
from orchestrator.compile.bounds import Bounds
from orchestrator.decode.decode import TcpDecoder
from orchestrator.decode.output import OutputFolder
from orchestrator.planning.plan import Plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.model import Recording

WATCHDOG_S = 120.0
"""Wall time without any progress after which a bed counts as hung."""

Report = Callable[[str, float], None]
"""Called with the phase (boot, setup, probes, traffic, done) and the seconds of traffic so far."""


@dataclass(frozen=True)
class BackendOptions:
    """What the command line can request of a back end.

    ``build_progress`` is called with the step of a long preparation, and its fraction or None.
    ``kernels`` are those of the runs.
    """

    build_progress: Progress
    unconfined: bool = False
    jobs: int = 1
    kernels: Sequence[KernelChoice] = (DEFAULT,)


@dataclass(frozen=True)
class Finding:
    """One thing that was examined. ``fix`` is empty when it is ``ok``."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class Examination:
    """The result of a back end's ``examine()``, for ``orchestrator doctor``.

    ``absent`` says why the back end is not set up on this machine, which is no fault. It is empty
    when the back end should work.
    """

    findings: list[Finding]
    absent: str = ""

    @property
    def ready(self) -> bool:
        """Whether a run could start."""
        return not self.absent and all(finding.ok for finding in self.findings)

    @property
    def state(self) -> Literal["not set up here", "ready", "not ready"]:
        """Whether a run could start, in words."""
        if self.absent:
            return "not set up here"
        return "ready" if self.ready else "not ready"


@dataclass(frozen=True)
class RunContext:
    """What a back end needs for one run. All files of the run go to ``folder``, which is empty.

    If the run fails, the runner keeps ``folder/console`` and ``folder/out/bed.log``. No other run
    of this plan uses the CPU ``cpu``, where there are enough. A process group passed to
    ``add_group`` is ended when this process is interrupted or dies, until it is passed to
    ``remove_group``. A back end without a process group checks ``stopping`` periodically, and ends
    the run when it is set. ``bounds`` limits how long the run may take and how much it may write.
    ``held`` is closed when the run has been stored, or has failed. ``restart_clock`` is called if
    the run begins later than this context was made; the run's wall time does not include what was
    before. A back end appends to ``waited_s`` how long its bed waited for a processor, if the bed
    ran here. A back end that decodes samples while the run goes on passes its decoder to
    ``watch_samples`` periodically. A back end whose beds do not disturb each other calls
    ``let_next_begin`` when its bed has ended, or soon will. Others do not call it; then the next
    run begins when this one has been stored.
    """

    folder: Path
    cpu: int
    add_group: Callable[[int], None]
    remove_group: Callable[[int], None]
    stopping: threading.Event = field(default_factory=threading.Event)
    bounds: Bounds = field(default_factory=Bounds)
    held: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    restart_clock: Callable[[], None] = lambda: None
    waited_s: list[float | None] = field(default_factory=list)
    watch_samples: Callable[[TcpDecoder], None] = lambda _decoder: None
    let_next_begin: Callable[[], None] = lambda: None

    @property
    def console(self) -> Path:
        """File with the text of the test bed's console, where it has one."""
        return self.folder / "console"

    @cached_property
    def output(self) -> OutputFolder:
        """The only access to the files that the bed writes in ``folder/out``.

        A back end whose bed runs as another user sets ``output.owner_uid`` before it starts.
        """
        return OutputFolder(self.folder / "out", self.bounds, self.stopping)


@dataclass(frozen=True)
class Traits:
    """What a back end can do with any options; ``TRAITS`` of its module.

    Attributes:
        reproducible: equal runs give bit-identical results, as --verify requires.
        most_jobs: largest number of runs at a time, None for any; ``jobs_reason`` says why.
        follows_live_paths: it runs scenarios whose network is real and not emulated.
        on_other_hosts: beds run on hosts that ``examine()`` does not examine. An examination
            without faults then does not mean that experiments can run.
        chooses_kernels: a run may name its kernel.
        confines_programs: users' programs see a machine of their own, and not the bed's.
        emulates_network_cards: hosts may have offloads (`host`).
        captures: the kinds of traces that it makes, of WANTED of reports/trace_records.py.
    """

    reproducible: bool = False
    most_jobs: int | None = None
    jobs_reason: str = ""
    follows_live_paths: bool = False
    on_other_hosts: bool = False
    chooses_kernels: bool = False
    confines_programs: bool = False
    emulates_network_cards: bool = False
    captures: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Slot:
    """A place for one bed, on ``cpu``. After ``leave`` another run may have it."""

    cpu: int
    leave: Callable[[], None] = lambda: None


class Slots(Protocol):
    """Decides how many runs are under way at a time."""

    @property
    def lanes(self) -> int:
        """The largest number ever. Each lane is a thread of the runner."""

    def slot(self, stopping: threading.Event) -> contextlib.AbstractContextManager[Slot | None]:
        """Wait for a place for one run, and yield it; None once ``stopping`` is set.

        Raises:
            MachineError: there will be no place any more.
        """


class Backend(Protocol):
    """Executes planned runs. ``prepare`` is called first, and ``close`` last in every case.

    Attributes:
        name: the value of --backend; stored with each run.
        traits: what it can do.
        unconfined: whether runs lack the sandbox that they should have; stored with each run.
    """

    name: str
    traits: Traits
    unconfined: bool

    def prepare(self, plan: Plan) -> None:
        """Check that every run of the plan can be run, before anything is stored.

        Raises:
            MachineError: a machine lacks something; names each missing thing and its fix.
            UsageError: a run needs what this back end cannot do.
        """

    def run(self, spec: RunSpec, context: RunContext, report: Report) -> Recording:
        """Execute one run. Called in a thread of its own; up to ``traits.most_jobs`` at a time.

        Raises:
            RunError: this run could not be completed; the others go on.
        """

    def close(self) -> None:
        """Release what ``prepare`` acquired. It is not called when this process is killed."""
