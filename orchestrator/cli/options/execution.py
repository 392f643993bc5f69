"""The options that say where runs are executed: by this program, or by a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.application.executor import LOCAL

if TYPE_CHECKING:
    from orchestrator.cli.options.shared import Command

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
        default=LOCAL,
        show_default=True,
        metavar="WHERE",
        help="Where runs are executed: local, dask=local (worker processes of this machine) or "
        "dask=tls://HOST:PORT (a Dask scheduler).",
    )(made)
    return decorated


def jobs(command: Command) -> Command:
    """Add ``--jobs``, the number of runs at a time."""
    decorated: Command = click.option(
        "--jobs",
        type=click.IntRange(1),
        help="Number of runs at a time, with a CPU each.  [default: 1; all workers of a cluster]",
    )(command)
    return decorated
