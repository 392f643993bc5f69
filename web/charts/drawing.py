"""Figures by matplotlib."""

from __future__ import annotations

import threading

DRAWING = threading.Lock()
"""Held while a figure is drawn: matplotlib's settings are of the whole process."""
