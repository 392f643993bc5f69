"""What the runner knows of a back end.

A back end takes a planned run to where a test bed runs, and brings its recording home. Everywhere
the bed is the same program (``orchestrator/testbed``): it reads a folder ``in`` and writes a folder
``out``, of which ``record.assemble`` makes the recording.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

from guest.build_steps import Progress
from orchestrator.compile.bounds import Bounds
from orchestrator.decode.output import Output
from orchestrator.planning.plan import Plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.model import Recording

WATCHDOG_S = 120.0
"""Wall time without any progress after which a bed counts as hung."""

Report = Callable[[str, float], None]
"""Called with the phase (boot, setup, probes, traffic, done) and the seconds of traffic so far."""


@dataclass(frozen=True)
class BackendOptions:
    """What the command line can wish of a back end.

    ``build_progress`` is told the step of a long preparation, and the fraction of it or None.
    """

    build_progress: Progress
    unconfined: bool = False
    jobs: int = 1


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. ``fix`` is empty when it is ``ok``."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class Examined:
    """What the module of a back end finds by ``examine()``, for ``orchestrator doctor``.

    ``absent`` says in words why the back end is not set up here at all, which is no fault; empty
    when it is meant to work.
    """

    findings: list[Finding]
    absent: str = ""

    @property
    def ready(self) -> bool:
        """Whether a run could start."""
        return not self.absent and all(finding.ok for finding in self.findings)


@dataclass(frozen=True)
class RunContext:
    """What one run is given. All files of the run go to ``folder``, which is there and empty.

    The runner keeps ``folder/console`` and ``folder/out/bed.log`` of a run that fails. ``cpu`` is
    one that no other run of this plan uses. A process group that is told to ``guard`` is ended when
    this process is interrupted or dies, until it is told to ``release``. A back end whose bed is no
    process group looks at ``stopping`` now and then, and ends the run when it is set. ``bounds``
    are how long the run may take and how much it may write.
    """

    folder: Path
    cpu: int
    guard: Callable[[int], None]
    release: Callable[[int], None]
    stopping: threading.Event = field(default_factory=threading.Event)
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def console(self) -> Path:
        """File with the text of the test bed's console, where it has one."""
        return self.folder / "console"

    @cached_property
    def output(self) -> Output:
        """The one way to what the bed writes, in ``folder/out``.

        A back end whose bed runs as another user sets ``output.owner_uid`` before it starts.
        """
        return Output(self.folder / "out", self.bounds, self.stopping)


@dataclass(frozen=True)
class Traits:
    """What a back end can do, whatever its options; ``TRAITS`` of its module.

    Attributes:
        reproducible: equal runs give bit-identical results, so that --verify means something.
        most_jobs: the most runs at a time, None for any number; ``jobs_reason`` says why.
        follows_live_paths: it runs scenarios whose network is real and not emulated.
        on_other_hosts: beds run on hosts that ``examine()`` does not look at. That nothing is
            missing then does not mean that this machine can run experiments.
    """

    reproducible: bool = False
    most_jobs: int | None = None
    jobs_reason: str = ""
    follows_live_paths: bool = False
    on_other_hosts: bool = False


class Backend(Protocol):
    """Runs planned runs. ``prepare`` comes first, ``close`` last whatever happened.

    Attributes:
        name: as --backend takes it, and as it is stored with each run.
        traits: what it can do.
        unconfined: whether runs have no boundary though they should; stored with each run.
    """

    name: str
    traits: Traits
    unconfined: bool

    def prepare(self, plan: Plan) -> None:
        """See that every run of the plan can be run, before anything is stored.

        Raises:
            MachineError: a machine lacks something; names each missing thing and its fix.
            UsageError: a run asks for what this back end cannot do.
        """

    def run(self, spec: RunSpec, place: RunContext, report: Report) -> Recording:
        """Run one run. Called from a thread of its own, from ``traits.most_jobs`` at a time.

        Raises:
            RunError: this run could not be completed; the others go on.
        """

    def close(self) -> None:
        """Let go of what ``prepare`` took. When this process was killed, nobody calls it."""
