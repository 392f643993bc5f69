"""Says which executors there are, and refuses those that others could use to run code here.

A Dask scheduler runs whatever code its clients send, and clients load what workers send. So
connections need TLS with certificates of one authority on all sides. ``dask=local`` makes its own.
"""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import UsageError
from orchestrator.units import shown

LOCAL = "local"
"""The executor that is used when none is named: this program itself."""

VALID = "local, dask=local or dask=tls://HOST:PORT"
VARIABLES = ("ORCHESTRATOR_TLS_CA", "ORCHESTRATOR_TLS_CERT", "ORCHESTRATOR_TLS_KEY")
_ADDRESS = re.compile(r"tls://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")


@dataclass(frozen=True)
class Certificates:
    """Files in PEM format: the authority, this program's certificate, and its private key."""

    authority: Path
    certificate: Path
    key: Path


@dataclass(frozen=True)
class ClusterAddress:
    """A Dask cluster: workers on this machine (``url`` None), or the scheduler at ``url``."""

    url: str | None
    certificates: Certificates | None


def parse(text: str, files: tuple[Path | None, Path | None, Path | None]) -> ClusterAddress | None:
    """Return the cluster that ``--executor`` names; None for this program's own processes.

    ``files`` are authority, certificate and key, each None when it is not given.

    Raises:
        UsageError: there is no such executor, its address is not encrypted, or a file is wrong.
    """
    kind, _equals, where = text.partition("=")
    if text == LOCAL:
        return None
    if kind != "dask" or not where:
        raise UsageError(f"--executor {shown(text)}: there is no such executor; valid: {VALID}")
    if where == LOCAL:
        return ClusterAddress(None, None)
    match = _ADDRESS.fullmatch(where)
    if match is None or not 0 < int(match[2]) < 2**16:
        plain = where.startswith(("tcp://", "ws://", "ucx://")) or "://" not in where
        why = (
            "such a connection is not encrypted, and whoever reaches the scheduler runs code on "
            "every machine of the cluster"
            if plain
            else "this is no address of a scheduler"
        )
        raise UsageError(f"--executor {shown(text)}: {why}; valid: {VALID}")
    return ClusterAddress(where, _certificates(files))


def _certificates(files: tuple[Path | None, Path | None, Path | None]) -> Certificates:
    options = ("--tls-ca", "--tls-cert", "--tls-key")
    given = []
    for option, variable, path in zip(options, VARIABLES, files, strict=True):
        if path is None:
            raise UsageError(
                f"--executor dask=tls://...: {option} FILE or {variable} is missing; the playbooks "
                "make an authority, certificates and keys (docs/machines.md#workers)"
            )
        if not path.is_file():
            raise UsageError(f"{option} {path}: there is no such file")
        given.append(path)
    if stat.S_IMODE(given[2].stat().st_mode) & 0o077:
        raise UsageError(
            f"--tls-key {given[2]}: other users may read this key; chmod 600 {given[2]}"
        )
    return Certificates(*given)
