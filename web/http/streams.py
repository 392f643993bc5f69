"""How many streams of server-sent events an application has open, and how they end with it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

MOST_STREAMS = 8
"""Streams at a time. The server has as many threads more than it needs for pages."""

STREAMS = "ORCHESTRATOR_STREAMS"


@dataclass
class Streams:
    """The open streams of an application. They end when ``stopping`` is set."""

    free: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(MOST_STREAMS)
    )
    stopping: threading.Event = field(default_factory=threading.Event)
