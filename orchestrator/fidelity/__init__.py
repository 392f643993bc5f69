"""Judges whether a run's emulation was what the scenario requested. Each check has a file.

Each module ``check_*`` has ``check(evidence) -> Iterable[Check]``; a new check is a new file. A
check compares a requested value with one that was measured in the running bed. It never compares
with a configured value.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from orchestrator.fidelity.evidence import Evidence
from orchestrator.recording.model import Check, Verdict
from orchestrator.recording.verdicts import verdict_of

VERSION = 4
"""Version of the set of checks, for people. Raise it when a check is new or judges differently."""


def judge(evidence: Evidence) -> tuple[Verdict, list[Check]]:
    """Return the verdict and every check, in the order of the checks' modules."""
    checks: list[Check] = []
    for module in modules():
        checks += module.check(evidence)
    return verdict_of(checks), checks


@cache
def modules() -> tuple[ModuleType, ...]:
    """Return the modules of all checks, in the order of their names."""
    module_names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    names = (name for name in module_names if name.startswith("check_"))
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in names)
