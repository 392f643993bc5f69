"""Runs of flows with known metrics."""

from __future__ import annotations

from typing import Any

from orchestrator.recording.model import RECEIVER, SENDER, FlowRecord
from results import metrics
from results.records.model import WHOLE, Values, WindowMetrics
from results.store.writing import RecordingData
from tests.support.recordings import Rows, head, recording


class Data(RecordingData):
    """A run of 10 s with 2 s of warm-up, not stored."""

    def __init__(self, rows: Rows = (), queue_rows: Rows = (), **parts: Any) -> None:
        super().__init__(head(), recording(rows, queue_rows, **parts))


def compute(rows: Rows, *flows: FlowRecord) -> dict[str, WindowMetrics]:
    return metrics.compute(Data(rows, flows=flows))


def of_flow(rows: Rows, *flows: FlowRecord) -> Values:
    return compute(rows, *flows)[WHOLE].flows[0]


def receiver(time_s: float, size: int, **fields: Any) -> dict[str, Any]:
    return {"time_s": time_s, "endpoint": RECEIVER, "bytes_received": size, **fields}


def sender(time_s: float, **fields: Any) -> dict[str, Any]:
    return {"time_s": time_s, "endpoint": SENDER, **fields}
