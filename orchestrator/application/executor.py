"""Where runs are executed: by this program, or by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator import backends
from orchestrator.backends.cluster.address import parse
from orchestrator.backends.cluster.guest import ClusterGuest
from orchestrator.backends.guest import Guest
from orchestrator.errors import MachineError, UsageError
from orchestrator.execution.runner import RunOptions

if TYPE_CHECKING:
    from orchestrator.backends.cluster.address import ClusterAddress
    from orchestrator.backends.contract import Backend

LOCAL = "local"


@dataclass(frozen=True)
class Executor:
    """Where runs are executed, and how many at a time. ``cluster`` is None for this program."""

    cluster: ClusterAddress | None
    jobs: int | None

    @property
    def local_jobs(self) -> int:
        """The number of guests on this machine at a time."""
        on_this_machine = self.cluster is None or self.cluster.url is None
        return (self.jobs or 1) if on_this_machine else 0

    def run_options(
        self, db: Path, backend: Backend, timeout_s: float | None, say: Callable[[str], None]
    ) -> RunOptions:
        """Return what the runner needs; ``say`` prints a line for the user.

        Raises:
            MachineError: Dask is not installed.
        """
        if self.cluster is None:
            return RunOptions(db, backend, self.jobs or 1, timeout_s, tell=say)
        try:
            from orchestrator.backends.cluster.connection import Cluster
        except ModuleNotFoundError as error:
            raise MachineError(
                f"--executor dask=... needs Dask, and there is no module {error.name}",
                "make run, or: pip install 'tcp-orchestrator[dask]'",
            ) from error

        assert isinstance(backend, Guest), "choose() refuses other back ends"
        lanes = self.local_jobs + 1 if self.cluster.url is None else self.jobs
        spread = ClusterGuest(backend, Cluster(self.cluster, self.local_jobs), lanes, say)
        return RunOptions(db, spread, timeout_s=timeout_s, slots=spread, tell=say)


def choose(
    text: str,
    backend: str,
    jobs: int | None,
    files: tuple[Path | None, Path | None, Path | None],
) -> Executor:
    """Return what ``--executor`` names.

    Raises:
        UsageError: there is no such executor, it cannot be used with the back end, or there are
            less than one job.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs: must be at least 1, not {jobs}")
    if text == LOCAL:
        return Executor(None, jobs)

    cluster = parse(text, files)
    if backend != backends.DEFAULT:
        raise UsageError(
            f"--executor {text}: only runs of --backend {backends.DEFAULT} can be spread; runs of "
            f"{backend} belong to their machines"
        )
    return Executor(cluster, jobs)
