"""Opens and closes SSH connections to machines."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncssh

from orchestrator.errors import RemoteError

CONNECT_S = 15.0
_KEEPALIVE_S = 2.0


@dataclass(frozen=True)
class Address:
    """The SSH address of a machine.

    Messages call the machine ``name``. Without ``user`` or ``key``, the user's own SSH settings
    apply. ``known_hosts`` is a file of host keys, by default the user's own. ``any_host_key``
    accepts every key, which is safe only for a machine that this host created. With
    ``root_by_sudo``, commands that need root run under ``sudo -n``.
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


async def connect(address: Address, silence_s: float) -> asyncssh.SSHClientConnection:
    """Return a connection that counts as lost when the machine is silent for ``silence_s``.

    Raises:
        RemoteError: it cannot be reached; names the machine and the reason.
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
                keepalive_interval=_KEEPALIVE_S,
                keepalive_count_max=max(1, round(silence_s / _KEEPALIVE_S)),
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


async def close(connection: asyncssh.SSHClientConnection) -> None:
    """Close a connection in any state."""
    connection.abort()
    with contextlib.suppress(asyncssh.Error, OSError):
        await connection.wait_closed()


async def end_tasks() -> None:
    """Let the tasks that read from programs see the end of their connections, then end them."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=1)
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def reason(error: BaseException) -> str:
    """Return the reason of an error as text."""
    text = error.reason if isinstance(error, asyncssh.Error) else str(error)
    return text or type(error).__name__
