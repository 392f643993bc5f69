"""An SSH connection to a machine: how it is reached, made and ended, and why that failed."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from orchestrator.errors import RemoteError

CONNECT_S = 15.0
_ASKED_EVERY_S = 2.0


@dataclass(frozen=True)
class Address:
    """How a machine is reached.

    ``name`` is what it is called in messages. Without ``user`` or ``key`` those of the user's own
    SSH settings are taken. ``known_hosts`` is a file of host keys, the user's own when None; where
    ``any_host_key`` is set, none is compared: only right for a machine that was made by this very
    program on this host. ``root_by_sudo`` lets what is run as root go through ``sudo -n``.
    """

    name: str
    host: str
    port: int = 22
    user: str | None = None
    key: Path | None = None
    known_hosts: Path | None = None
    any_host_key: bool = False
    root_by_sudo: bool = False

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        port = "" if self.port == 22 else f" port {self.port}"
        return f"{self.name} ({user}{self.host}{port})"


async def connected(address: Address, silence_s: float) -> asyncssh.SSHClientConnection:
    """Return a connection that is lost when the machine is silent for so long.

    Raises:
        RemoteError: naming the machine, and why it cannot be reached.
    """
    options: dict[str, Any] = {}
    if address.user is not None:
        options["username"] = address.user
    if address.key is not None:
        options["client_keys"] = [str(address.key)]
        options["agent_path"] = None
    if address.any_host_key:
        options["known_hosts"] = None
    elif address.known_hosts is not None:
        options["known_hosts"] = str(address.known_hosts)
    try:
        return await asyncio.wait_for(
            asyncssh.connect(
                address.host,
                address.port,
                keepalive_interval=_ASKED_EVERY_S,
                keepalive_count_max=max(1, round(silence_s / _ASKED_EVERY_S)),
                **options,
            ),
            CONNECT_S,
        )
    except TimeoutError:
        raise RemoteError(f"{address}: no answer within {CONNECT_S:g} s") from None
    except asyncssh.KeyImportError as error:
        raise RemoteError(f"{address}: {address.key}: {reason(error)}") from None
    except (asyncssh.Error, OSError) as error:
        raise RemoteError(f"{address}: {reason(error)}") from None


async def closed(connection: asyncssh.SSHClientConnection) -> None:
    """End a connection, in whatever state it is."""
    connection.abort()
    with contextlib.suppress(asyncssh.Error, OSError):
        await connection.wait_closed()


async def end_tasks() -> None:
    """Let what follows programs see the end of their connections."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=1)
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def reason(error: BaseException) -> str:
    """Return why something failed, in words."""
    text = error.reason if isinstance(error, asyncssh.Error) else str(error)
    return text or type(error).__name__
