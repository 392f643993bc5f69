"""Keeps what pages show of the store for as long as the store's files have not changed."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar

from flask import current_app

from web.http.reader import DB

CACHE = "ORCHESTRATOR_CACHE"
"""Key of the application's configuration under which its cache is kept."""

TRACED = "ORCHESTRATOR_TRACED"
"""Key under which its cache of what traces show is kept, whose values are large."""

MOST, MOST_TRACED = 64, 12
"""Values kept; those that were asked for longest ago go first."""

BRIEF_S = 2.0
"""How long a value is kept that may change without the files: a run's process may end."""

Value = TypeVar("Value")


class Cache:
    """Values by key. A change of the store's size or time of modification drops all of them."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._state: Hashable = None
        self._values: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()

    def get(self, db: Path, key: Hashable, make: Callable[[], tuple[Any, bool]]) -> Any:
        """Return the value; ``make`` returns it, and whether to keep it only briefly."""
        state = _state(db)
        with self._lock:
            if state != self._state:
                self._values.clear()
                self._state = state
            until, value = self._values.get(key, (0.0, None))
            if until > time.monotonic():
                self._values.move_to_end(key)
                return value
        value, briefly = make()
        with self._lock:
            # What was read while the store changed may be either: it is not kept.
            if self._state == state == _state(db):
                until = time.monotonic() + BRIEF_S if briefly else float("inf")
                self._values[key] = (until, value)
                if len(self._values) > self._most:
                    self._values.popitem(last=False)
        return value


def cached(key: Hashable, make: Callable[[], tuple[Value, bool]], cache: str = CACHE) -> Value:
    """Return the value of that key in one of the application's caches; see :meth:`Cache.get`."""
    value: Value = current_app.config[cache].get(current_app.config[DB], key, make)
    return value


def _state(db: Path) -> Hashable:
    """Return what changes with each commit: size and time of the file, and of its log."""
    state: list[Hashable] = []
    for path in (db, db.with_name(f"{db.name}-wal")):
        try:
            stat = path.stat()
        except OSError:
            state.append(None)
        else:
            state.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return tuple(state)
