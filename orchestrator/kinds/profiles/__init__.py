"""Named TCP profiles, one file for each; its docstring says how close Linux comes to the model.

The module's name is the profile's; ``OPTIONS`` are what it sets, by the names of TcpOptions' keys.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class Profile:
    """A profile; ``account`` says where Linux differs from the model."""

    name: str
    options: dict[str, Any]
    account: str


@cache
def profiles() -> dict[str, Profile]:
    """Return every profile by its name."""
    by_name = {}
    for place in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{place.name}")
        by_name[place.name] = Profile(place.name, module.OPTIONS, inspect.getdoc(module) or "")
    return by_name
