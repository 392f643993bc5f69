"""Causes of what happens to a flow: a module for each, with a function ``moments``.

A function takes the view of a trace and the number of a flow, and yields the moments of its cause.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache

from results.traces.moments import Moment
from results.traces.view import TraceView

Cause = Callable[[TraceView, int], Iterator[Moment]]


@cache
def _causes() -> tuple[Cause, ...]:
    """Return the functions of all modules here, in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}").moments for name in names)


def what_happened(view: TraceView, flow: int) -> list[Moment]:
    """Return what happened to the flow of that number, in the order of time."""
    found = [moment for cause in _causes() for moment in cause(view, flow)]
    return sorted(found, key=lambda moment: (moment.time_ns, moment.until_ns or 0))
