"""Runs of links with known metrics."""

from __future__ import annotations

from typing import Any

from orchestrator.recording.model import QueueRecord
from results import metrics
from results.records.model import WHOLE, Values, WindowMetrics
from tests.support.metrics_flows import Data
from tests.support.recordings import Rows


def compute(rows: Rows, *queues: QueueRecord) -> WindowMetrics:
    return metrics.compute(Data(queue_rows=rows, queues=queues))[WHOLE]


def of_link(rows: Rows, *queues: QueueRecord) -> Values:
    return compute(rows, *queues).links["bottleneck:forward"]


def sample(time_s: float, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"time_s": time_s, "queue": index, **fields}
