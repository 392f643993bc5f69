"""Tries whether this user can be confined here: an empty sandbox, in which /bin/true runs.

Bubblewrap takes longer than the program that waits for it, so a command may begin a trial early,
and do something else meanwhile. What a trial finds out only decides whether runs begin, and with
which error: each guest is confined by a sandbox of its own, or does not start.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from orchestrator.errors import MachineError
from orchestrator.sandbox import identity, limits, view
from orchestrator.sandbox.boundary import open_boundary

OR_UNCONFINED = "; or run with --unconfined, which is recorded with the run"
_TIMEOUT_S = 20

_begun: Trial | None = None


class Trial:
    """A sandbox that has been started; its end is awaited when this is closed."""

    def __init__(self) -> None:
        """Start it.

        Raises:
            MachineError: this machine lacks something that a sandbox needs.
            OSError: bubblewrap does not start.
        """
        with contextlib.ExitStack() as held:
            user = held.enter_context(identity.allocate())
            opened = held.enter_context(
                open_boundary(
                    (), view.base_command(), limits.of_build(), user, ("/dev",), {}, False
                )
            )
            self._process = subprocess.Popen(
                opened.command(["/bin/true"]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd="/",
                preexec_fn=opened.enter,
                **opened.options(),
            )
            self._held = held.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _where: TracebackType | None,
    ) -> None:
        with self._held:
            try:
                # Not killed at once: see ``orphans`` for what a bubblewrap leaves at its start.
                self._process.communicate(timeout=_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()

    def require(self) -> None:
        """Wait for the end of the trial; raise MachineError, with the fix, unless it succeeded."""
        try:
            _, errors = self._process.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise MachineError(
                f"bubblewrap did not end within {_TIMEOUT_S} s",
                "run `bwrap true` by hand" + OR_UNCONFINED,
            ) from None
        status = self._process.returncode
        if status:
            raise MachineError(
                f"bubblewrap cannot confine the guest: {errors.strip() or f'exit status {status}'}",
                "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000"
                + OR_UNCONFINED,
            )


@contextlib.contextmanager
def begun() -> Iterator[None]:
    """Begin a trial, for the first ``require_confinement()`` within.

    Where none can begin, that one tries again and tells why.
    """
    global _begun
    with contextlib.suppress(MachineError, OSError):
        _begun = Trial()
    try:
        yield
    finally:
        _close_begun()


def current() -> Trial:
    """Return the trial that was begun and not taken yet, or a new one; the caller closes it."""
    global _begun
    tried, _begun = _begun, None
    return Trial() if tried is None else tried


def _close_begun() -> None:
    """End a trial that nobody has asked for."""
    global _begun
    tried, _begun = _begun, None
    if tried is not None:
        with tried:
            pass
