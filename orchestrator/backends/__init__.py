"""Back ends, in which runs are executed.

A back end is one file or folder of this package, named in ``MODULES``.
``make(name, options)`` imports only that file, so each back end needs only its own libraries.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING

from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.backends.contract import Backend, BackendOptions, Examination, Traits

MODULES = {
    "guest": "orchestrator.backends.guest",
    "local": "orchestrator.backends.local",
    "lab": "orchestrator.backends.lab",
    "vagrant": "orchestrator.backends.vagrant",
}
"""The module of each back end by its name, which --backend takes.

A module has ``TRAITS``, ``make(options)`` and ``examine()``; see ``contract.py``. It may have
``beginning(unconfined)``.
"""

DEFAULT = "guest"
"""Used when no back end is named."""


def require_known(name: str) -> None:
    """Raise UsageError with the valid names unless there is a back end of that name."""
    if name not in MODULES:
        known = ", ".join(MODULES)
        raise UsageError(f"--backend {name}: there is no such back end; available: {known}")


def make(name: str, options: BackendOptions) -> Backend:
    """Return a new back end of that name.

    Raises:
        UsageError: there is none, or it does not support the options.
        MachineError: this machine lacks something that the back end needs.
    """
    require_known(name)
    made: Backend = importlib.import_module(MODULES[name]).make(options)
    return made


def beginning(name: str, unconfined: bool) -> contextlib.AbstractContextManager[None]:
    """Return a context in which what a back end waits for has begun, before it is made.

    ``unconfined`` is as in ``BackendOptions``.

    Raises:
        UsageError: there is no back end of that name.
    """
    require_known(name)
    module = importlib.import_module(MODULES[name])
    if not hasattr(module, "beginning"):
        return contextlib.nullcontext()
    begun: contextlib.AbstractContextManager[None] = module.beginning(unconfined)
    return begun


def traits(name: str) -> Traits:
    """Return what the back end of that name can do."""
    declared: Traits = importlib.import_module(MODULES[name]).TRAITS
    return declared


def examine(name: str) -> Examination:
    """Return what the back end of that name found on this machine."""
    examination: Examination = importlib.import_module(MODULES[name]).examine()
    return examination
