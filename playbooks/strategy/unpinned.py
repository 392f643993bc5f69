"""Mitogen's linear strategy, for machines with few and slow processors.

It does not pin its processes to processors. On a machine with two of them, all that its tasks begin
would share one, such as apt and the compilation of the congestion-control modules. It also waits
longer than 30 s for a Python to start, as an emulated processor may need minutes for it. Neither
Ansible's timeout nor a variable of the connection sets that of Mitogen's local connections.
"""

from __future__ import annotations

import inspect
from typing import Any

import ansible_mitogen.affinity
import ansible_mitogen.process
import mitogen.parent
from ansible_mitogen.plugins.strategy.mitogen_linear import StrategyModule

CONNECT_TIMEOUT_S = 900.0

ansible_mitogen.affinity.policy = ansible_mitogen.affinity.Policy()
mitogen.parent.Options.connect_timeout = CONNECT_TIMEOUT_S
_set_up_responder = ansible_mitogen.process._setup_responder


def _set_up_patient_responder(responder: Any) -> None:
    """Let targets, which get Mitogen's source from here, wait as long for what they fork."""
    _set_up_responder(responder)
    source = inspect.getsource(mitogen.parent)
    source += f"\nOptions.connect_timeout = {CONNECT_TIMEOUT_S}\n"
    path = inspect.getsourcefile(mitogen.parent)
    responder.add_source_override("mitogen.parent", path, source.encode(), False)


ansible_mitogen.process._setup_responder = _set_up_patient_responder

__all__ = ["StrategyModule"]
