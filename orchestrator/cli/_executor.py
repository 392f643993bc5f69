"""The options that say where runs are executed: by this program, or by a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator import backends
from orchestrator.errors import MachineError, UsageError

if TYPE_CHECKING:
    from orchestrator.backends.cluster.address import ClusterAddress
    from orchestrator.backends.contract import Backend
    from orchestrator.cli._options import Command
    from orchestrator.execution.runner import RunOptions

DEFAULT = "local"

_FILES = (
    ("ca", "Certificate of the authority of a cluster."),
    ("cert", "Certificate of this program for a cluster."),
    ("key", "Private key of that certificate."),
)


def options(command: Command) -> Command:
    """Add ``--executor`` and the files for TLS, passed as ``executor`` and ``tls_files``."""

    def gathering(*words: Any, **values: Any) -> Any:
        files = tuple(values.pop(f"tls_{name}") for name, _help in _FILES)
        return command(*words, tls_files=files, **values)

    gathering.__doc__, gathering.__name__ = command.__doc__, command.__name__
    gathering.__dict__.update(command.__dict__)
    made: Any = gathering
    for name, about in reversed(_FILES):
        made = click.option(
            f"--tls-{name}",
            type=click.Path(path_type=Path),
            envvar=f"ORCHESTRATOR_TLS_{name.upper()}",
            show_envvar=True,
            help=about,
        )(made)
    decorated: Command = click.option(
        "--executor",
        default=DEFAULT,
        show_default=True,
        metavar="WHERE",
        help="Where runs are executed: local, dask=local (worker processes of this machine) or "
        "dask=tls://HOST:PORT (a Dask scheduler).",
    )(made)
    return decorated


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
        from orchestrator.execution.runner import RunOptions

        if self.cluster is None:
            return RunOptions(db, backend, self.jobs or 1, timeout_s, tell=say)
        try:
            from orchestrator.backends.cluster.connection import Cluster
        except ModuleNotFoundError as error:
            raise MachineError(
                f"--executor dask=... needs Dask, and there is no module {error.name}",
                "make run, or: pip install 'tcp-orchestrator[dask]'",
            ) from error
        from orchestrator.backends.cluster.guest import ClusterGuest
        from orchestrator.backends.guest import Guest

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
        UsageError: there is no such executor, or it cannot be used with the back end.
    """
    if text == DEFAULT:
        return Executor(None, jobs)
    from orchestrator.backends.cluster.address import parse

    cluster = parse(text, files)
    if backend != backends.DEFAULT:
        raise UsageError(
            f"--executor {text}: only runs of --backend {backends.DEFAULT} can be spread; runs of "
            f"{backend} belong to their machines"
        )
    return Executor(cluster, jobs)
