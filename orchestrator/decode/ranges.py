"""Refuses samples and checks with values that no run can have, before they are judged and stored.

The kernel's own counters may have any value. Limits are only needed for what indexes, orders or
divides: times, flows, and the numbers of checks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from orchestrator.decode.output import malformed
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.model import Check

_GRACE_NS = 1_000_000_000
"""The end of a transfer, by another machine's clock, may be this much after the end of the run."""

_MOST = 2**62
"""Limit of 64-bit counters, with which sums of a few counters still fit."""


def require_samples(
    run: RunSpec,
    tcp: npt.NDArray[np.void],
    queues: npt.NDArray[np.void],
    datagrams: npt.NDArray[np.void],
    transfers: npt.NDArray[np.void],
) -> None:
    """Raise BedError for a sample that is not of this run's time and flows."""
    end_ns = nanoseconds(run.duration_s)
    for name, rows in (("tcp.bin", tcp), ("queue.bin", queues), ("datagrams.bin", datagrams)):
        _within(name, rows, "time_ns", 0, end_ns)
    _within("transfers.bin", transfers, "start_ns", 0, end_ns)
    _within("transfers.bin", transfers, "end_ns", -1, end_ns + _GRACE_NS)
    _within("transfers.bin", transfers, "bytes", 0, _MOST)
    for name, rows in (("datagrams.bin", datagrams), ("transfers.bin", transfers)):
        _within(name, rows, "flow", 0, len(run.flows) - 1)
    for field in datagrams.dtype.names or ():
        _within("datagrams.bin", datagrams, field, -_MOST, _MOST)
    for field in ("bytes_acked", "bytes_received", "bytes_sent", "bytes_retrans"):
        _within("tcp.bin", tcp, field, 0, _MOST)
    _within("queue.bin", queues, "bytes", 0, _MOST)
    _require_transport(run, datagrams)


def require_readings(run: RunSpec, readings: npt.NDArray[np.void]) -> None:
    """Raise BedError for a reading that is not of this run's time."""
    _within("readings.bin", readings, "time_ns", 0, nanoseconds(run.duration_s))
    _within("readings.bin", readings, "bytes", 0, _MOST)


def require_checks(checks: Iterable[Check]) -> None:
    """Raise BedError for a check with a number that is not finite, or too large to be stored."""
    for check in checks:
        for value in (check.expected, check.measured, check.tolerance):
            if isinstance(value, int | float) and not (math.isfinite(value) and abs(value) < 2**63):
                raise malformed(f"the check {check.name} gives {value}")


def _within(file: str, rows: npt.NDArray[np.void], field: str, least: int, most: int) -> None:
    if not len(rows):
        return
    low, high = int(rows[field].min()), int(rows[field].max())
    if low < least or high > most:
        wrong = low if low < least else high
        raise malformed(f"{file} has a row whose {field} is {wrong}; {least} to {most} is valid")


def _require_transport(run: RunSpec, datagrams: npt.NDArray[np.void]) -> None:
    for flow in np.unique(datagrams["flow"]).tolist():
        if run.flows[flow].transport != "udp":
            raise malformed(f"datagrams.bin has a row of {run.flows[flow].name!r}, a TCP flow")
