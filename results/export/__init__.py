"""Exports runs to files; each format is one file in this folder.

Every module here is imported once and registers its format by :func:`base.export_format`.
"""

from __future__ import annotations

import importlib
import pkgutil

from results.export.base import FORMATS, ExportFormat, export, no_samples

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["FORMATS", "ExportFormat", "export", "no_samples"]
