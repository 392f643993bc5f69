"""Reads how long packets waited in queues, between the edges of windows.

The test bed's side is testbed/sampling/sojourn.py.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from orchestrator.decode.decode import table
from orchestrator.decode.output import OutputFolder, malformed
from orchestrator.protocol.links.link import MOST_BUCKETS
from orchestrator.protocol.reports.records import SOJOURN_CODE, SOJOURN_FIELDS
from orchestrator.recording.model import SOJOURN_DTYPE, TOTAL

_ROW = np.dtype([("time_ns", "<i8"), ("place", "<u4"), ("code", "<u4"), ("value", "<u8")])
_LARGEST = "largest_ns"
"""The only field that is not counted since the link was made."""
_MOST = 2**62

Counted = dict[int, int]


def sojourn_times(output: OutputFolder, places: int) -> npt.NDArray[np.void]:
    """Return an array of SOJOURN_DTYPE whose ``queue`` is the place in the bed's list.

    Args:
        output: where the bed wrote.
        places: how many qdiscs and policers the list has.
    """
    rows = table(output, "sojourn.bin", _ROW)
    if len(rows) and int(rows["place"].max()) >= places:
        raise malformed(f"sojourn.bin has a row of place {int(rows['place'].max())}")
    rows_of_queues: list[tuple[int, ...]] = []
    before: dict[int, tuple[int, Counted]] = {}
    for time_ns, queue_number, counted in _readings(rows):
        if queue_number in before:
            last_ns, last = before[queue_number]
            if time_ns <= last_ns:
                raise malformed(f"sojourn.bin: place {queue_number} has no order of time")
            rows_of_queues += _interval(time_ns, queue_number, last, counted)
        before[queue_number] = time_ns, counted
    return np.array(rows_of_queues, SOJOURN_DTYPE)


def _readings(rows: npt.NDArray[np.void]) -> list[tuple[int, int, Counted]]:
    """Return (time, place, {code: value}) of each reading, in the order of the file."""
    readings: list[tuple[int, int, Counted]] = []
    fields = set(range(SOJOURN_CODE, SOJOURN_CODE + len(SOJOURN_FIELDS)))
    for time_ns, place, code, value in rows.tolist():
        if not readings or readings[-1][:2] != (time_ns, place):
            readings.append((time_ns, place, {}))
        counted = readings[-1][2]
        if code in counted or not (code < MOST_BUCKETS or code in fields) or value > _MOST:
            raise malformed(f"sojourn.bin: code {code} with value {value}")
        counted[code] = value
    for time_ns, place, counted in readings:
        if not fields <= counted.keys():
            raise malformed(f"sojourn.bin: the reading of place {place} at {time_ns} is not whole")
    return readings


def _interval(time_ns: int, place: int, before: Counted, now: Counted) -> list[tuple[int, ...]]:
    """Return the rows of the interval between two readings."""
    total = []
    for number, name in enumerate(SOJOURN_FIELDS):
        code = SOJOURN_CODE + number
        total.append(now[code] if name == _LARGEST else now[code] - before[code])
    if min(total) < 0:
        raise malformed(f"sojourn.bin: a counter of place {place} falls at {time_ns}")
    # The kernel's counters of packets in a bucket have 32 bits.
    buckets = [
        (code, packets)
        for code in sorted(now)
        if code < MOST_BUCKETS and (packets := (now[code] - before.get(code, 0)) % 2**32)
    ]
    if (sum(packets for _code, packets in buckets) - total[0]) % 2**32:
        raise malformed(f"sojourn.bin: the histogram of place {place} at {time_ns} is not whole")
    return [
        (time_ns, place, TOTAL, *total),
        *((time_ns, place, code, packets, 0, 0, 0, 0) for code, packets in buckets),
    ]
