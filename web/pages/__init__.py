"""The pages: a module for each group of addresses, found by its blueprint ``pages``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from flask import Blueprint


def blueprints() -> Iterator[Blueprint]:
    """Yield the blueprint of each module that has pages for every visitor."""
    for module in pkgutil.iter_modules(__path__):
        pages = getattr(importlib.import_module(f"{__name__}.{module.name}"), "pages", None)
        if pages is not None:
            yield pages
