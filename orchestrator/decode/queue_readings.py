"""Reads the readings of queues that checks use; see testbed/sampling/readings.py."""

from __future__ import annotations

import numpy as np

from orchestrator.compile.policer import LINK_HEADER_BYTES
from orchestrator.decode.decode import table
from orchestrator.decode.output import Output, malformed
from orchestrator.protocol.records import QUEUE_COUNTERS
from orchestrator.recording.readings import READING_DTYPE, Readings


def readings(output: Output, places: int, policers: int) -> Readings:
    """Return the readings for checks, whose ``queue`` is the place in the bed's list.

    Args:
        output: where the bed wrote.
        places: how many qdiscs and policers the list has; policers are its last ones.
        policers: how many policers.
    """
    counters = [(name, "<u4") for name in QUEUE_COUNTERS]
    rows = table(
        output, "readings.bin", np.dtype([("time_ns", "<i8"), ("place", "<u4"), *counters])
    )
    if len(rows) and int(rows["place"].max()) >= places:
        raise malformed(f"readings.bin has a row of place {int(rows['place'].max())}")
    out = np.zeros(len(rows), READING_DTYPE)
    out["time_ns"], out["queue"] = rows["time_ns"], rows["place"]
    out["bytes"] = rows["bytes_low"].astype(np.int64) | rows["bytes_high"].astype(np.int64) << 32
    of_policers = rows["place"] >= places - policers
    out["bytes"] += LINK_HEADER_BYTES * rows["packets"].astype(np.int64) * of_policers
    out["drops"], out["backlog_bytes"] = rows["drops"], rows["backlog_bytes"]
    ordered: Readings = out[np.lexsort((out["time_ns"], out["queue"]))]
    return ordered
