"""The readings of queues and policers that checks use, and the form in which they are stored.

They are taken at times of their own (testbed/sampling/readings.py), so no check depends on what the
scenario samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.links.frames import FRAME_BYTES
from orchestrator.recording.model import QueueRecord

Readings = npt.NDArray[np.void]

_COUNTED = ("time_ns", "bytes", "drops")
"""Columns that only grow; their differences are stored."""

READING_DTYPE = np.dtype(
    [("time_ns", "i8"), ("queue", "i4"), ("bytes", "i8"), ("drops", "i8"), ("backlog_bytes", "i8")]
)
"""A reading of one qdisc or policer; columns as of QUEUE_DTYPE. Sorted by queue, then time."""


def needed(readings: Readings, queues: Sequence[QueueRecord]) -> Readings:
    """Return the readings without those of queues in which packets hardly ever waited."""
    waited = np.array([queue.role == "policer" for queue in queues], np.bool_)
    waited[readings["queue"][readings["backlog_bytes"] > FRAME_BYTES]] = True
    kept: Readings = readings[waited[readings["queue"]]]
    return kept


def document(readings: Readings) -> list[dict[str, Any]]:
    """Return the readings of each queue, JSON-ready."""
    found = []
    for queue in np.unique(readings["queue"]).tolist():
        rows = readings[readings["queue"] == queue]
        columns = {name: np.diff(rows[name], prepend=0).tolist() for name in _COUNTED}
        found.append({"queue": queue, **columns, "backlog_bytes": rows["backlog_bytes"].tolist()})
    return found


def from_document(form: Any, queues: int) -> Readings:
    """Return the readings from their stored form.

    Raises:
        ValueError, TypeError, LookupError, OverflowError: ``document`` never makes such a form.
    """
    parts = [np.zeros(0, READING_DTYPE)]
    for each in form:
        rows = np.zeros(len(each["time_ns"]), READING_DTYPE)
        if type(each["queue"]) is not int or not 0 <= each["queue"] < queues:
            raise ValueError(f"{each['queue']!r:.80} is no queue of the run")
        rows["queue"] = each["queue"]
        for name in (*_COUNTED, "backlog_bytes"):
            if any(type(value) is not int for value in each[name]):
                raise ValueError(f"the readings have a value of {name} that is no number")
            values = np.array(each[name], np.int64)
            rows[name] = np.cumsum(values) if name in _COUNTED else values
        parts.append(rows)
    return np.concatenate(parts)
