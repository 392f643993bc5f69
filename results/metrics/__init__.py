"""Metrics, computed from stored samples alone; a metric is one file in this folder.

Every module here is imported once and registers its metrics by :func:`base.metric`. No other module
names them.
"""

from __future__ import annotations

import importlib
import pkgutil

from results.metrics.base import (
    METRICS,
    Metric,
    RunData,
    Scope,
    Span,
    TableColumn,
    channel,
    columns_of,
    compute,
    empty,
    expected,
    in_parts,
    link_indices,
    of_scope,
    spans,
)
from results.metrics.extracted import any_scope, find, is_extracted, of_values, scopes_of

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "METRICS",
    "Metric",
    "RunData",
    "Scope",
    "Span",
    "TableColumn",
    "any_scope",
    "channel",
    "columns_of",
    "compute",
    "empty",
    "expected",
    "find",
    "in_parts",
    "is_extracted",
    "link_indices",
    "of_scope",
    "of_values",
    "scopes_of",
    "spans",
]
