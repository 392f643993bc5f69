"""Reads the readings of queues that checks use; see testbed/sampling/readings.py."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator.decode.decode import table
from orchestrator.decode.output import OutputFolder, malformed
from orchestrator.protocol.reports.records import QUEUE_COUNTERS
from orchestrator.recording.readings import READING_DTYPE, Readings


def readings(output: OutputFolder, header_bytes: Sequence[int]) -> Readings:
    """Return the readings for checks, whose ``queue`` is the place in the bed's list.

    Args:
        output: where the bed wrote.
        header_bytes: of each place, what to add to the bytes of each packet.
    """
    places = len(header_bytes)
    counters = [(name, "<u4") for name in QUEUE_COUNTERS]
    rows = table(
        output, "readings.bin", np.dtype([("time_ns", "<i8"), ("place", "<u4"), *counters])
    )
    if len(rows) and int(rows["place"].max()) >= places:
        raise malformed(f"readings.bin has a row of place {int(rows['place'].max())}")
    out = np.zeros(len(rows), READING_DTYPE)
    out["time_ns"], out["queue"] = rows["time_ns"], rows["place"]
    out["bytes"] = rows["bytes_low"].astype(np.int64) | rows["bytes_high"].astype(np.int64) << 32
    out["drops"], out["backlog_bytes"] = rows["drops"], rows["backlog_bytes"]
    added = np.array(header_bytes, np.int64)[rows["place"]]
    out["bytes"] += added * rows["packets"]
    out["backlog_bytes"] += added * rows["backlog_packets"]
    ordered: Readings = out[np.lexsort((out["time_ns"], out["queue"]))]
    return ordered
