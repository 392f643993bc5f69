"""Where runs run. A back end is one file of this package, named in ``MODULES``.

``make(name, options)`` imports that file only: what one back end needs, another may do without.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from orchestrator.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.backends.contract import Backend, BackendOptions, Examined, Traits

MODULES = {
    "guest": "orchestrator.backends.guest",
    "local": "orchestrator.backends.local",
    "lab": "orchestrator.backends.lab",
    "vagrant": "orchestrator.backends.vagrant",
}
"""Name of a back end, as --backend takes it, to its module.

A module has ``TRAITS``, ``make(options)`` and ``examine()``; see ``contract.py``.
"""

DEFAULT = "guest"
"""Runs what names no back end."""


def require_known(name: str) -> None:
    """Raise UsageError, with what is valid, unless there is a back end of that name."""
    if name not in MODULES:
        known = ", ".join(MODULES)
        raise UsageError(f"--backend {name}: there is no such back end; available: {known}")


def make(name: str, options: BackendOptions) -> Backend:
    """Return a new back end of that name.

    Raises:
        UsageError: there is none, or it cannot do what is wished.
        MachineError: this machine lacks what it is made of.
    """
    require_known(name)
    made: Backend = importlib.import_module(MODULES[name]).make(options)
    return made


def traits(name: str) -> Traits:
    """Return what the back end of that name can do."""
    found: Traits = importlib.import_module(MODULES[name]).TRAITS
    return found


def examine(name: str) -> Examined:
    """Return what the back end of that name lacks here."""
    found: Examined = importlib.import_module(MODULES[name]).examine()
    return found
