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

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = [
    "METRICS",
    "Metric",
    "RunData",
    "Span",
    "TableColumn",
    "channel",
    "columns_of",
    "compute",
    "empty",
    "expected",
    "in_parts",
    "link_indices",
    "of_scope",
    "spans",
]
