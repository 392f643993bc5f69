"""Refuses samples and checks with values that no run can have, before they are judged and stored.

``orchestrator.recording.ranges`` has the limits of samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from orchestrator.decode.output import malformed
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording import ranges
from orchestrator.recording.model import Check


def require_samples(
    run: RunSpec,
    tcp: npt.NDArray[np.void],
    queues: npt.NDArray[np.void],
    datagrams: npt.NDArray[np.void],
    transfers: npt.NDArray[np.void],
    senders: npt.NDArray[np.void],
) -> None:
    """Raise BedError for a sample that is not of this run's time and flows."""
    files: tuple[tuple[str, ranges.Kind, npt.NDArray[np.void]], ...] = (
        ("tcp.bin", "tcp", tcp),
        ("queue.bin", "queues", queues),
        ("datagrams.bin", "datagrams", datagrams),
        ("senders.bin", "senders", senders),
        ("transfers.bin", "transfers", transfers),
    )
    for file, kind, rows in files:
        _require_ranges(file, kind, rows, run)
    for file, rows in (
        ("datagrams.bin", datagrams), ("transfers.bin", transfers), ("senders.bin", senders),
    ):  # fmt: skip
        _within(file, rows, "flow", 0, len(run.flows) - 1)
    _require_transport(run, datagrams)


def require_readings(run: RunSpec, readings: npt.NDArray[np.void]) -> None:
    """Raise BedError for a reading that is not of this run's time."""
    _require_ranges("readings.bin", "queues", readings, run)


def require_sojourn_times(run: RunSpec, rows: npt.NDArray[np.void]) -> None:
    """Raise BedError for an interval that is not of this run's time."""
    _require_ranges("sojourn.bin", "sojourn", rows, run)


def require_counters(run: RunSpec, rows: npt.NDArray[np.void]) -> None:
    """Raise BedError for a counter that is not of this run's time."""
    _require_ranges("counters.bin", "counters", rows, run)


def require_checks(checks: Iterable[Check]) -> None:
    """Raise BedError for a check with a number that is not finite, or too large to be stored."""
    for check in checks:
        for value in (check.expected, check.measured, check.tolerance):
            if isinstance(value, int | float) and not (math.isfinite(value) and abs(value) < 2**63):
                raise malformed(f"the check {check.name} gives {value}")


def _require_ranges(file: str, kind: ranges.Kind, rows: npt.NDArray[np.void], run: RunSpec) -> None:
    for field, (least, most) in ranges.of_samples(kind, run.duration_s).items():
        _within(file, rows, field, least, most)


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
