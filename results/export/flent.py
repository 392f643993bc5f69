"""The data files of flent (https://flent.org), version 4 of its format."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from orchestrator.errors import UsageError
from orchestrator.units import parse_time
from results.export.base import export_format
from results.metrics import METRICS, in_parts, spans
from results.records.model import WHOLE
from results.store.stored import StoredRun

_VERSION = 4
_LEAST_STEP_S = 0.1
_SERIES = (("", "goodput_bps", 1e-6, "Mbits/s"), ("::tcp_rtt", "rtt_mean_s", 1e3, "ms"))
"""Name, metric, factor and unit of the series of a flow; the names are those of flent's tests."""


@export_format("flent")
def write(run: StoredRun, paths: Sequence[Path]) -> None:
    """FILE.flent.gz: a data file of flent, with goodput and RTT of each flow.

    The flows are those of flent's test ``tcp_nup``, in their order. Values are of steps of a
    sampling period, at least 0.1 s, after the warm-up, so flent's mean of a goodput is the run's.
    """
    step_s, number = _steps(run)
    times_s = [run.warmup_s + step_s * (index + 1) for index in range(number)]
    series = dict(_series(run, number))
    results = {name: values for name, (values, _unit, _flow) in series.items()}
    document = {
        "version": _VERSION,
        "metadata": {
            "NAME": "tcp_nup",
            "TITLE": run.row.scenario,
            "TIME": run.row.started_utc.replace("+00:00", "Z"),
            "T0": run.row.started_utc.replace("+00:00", "Z"),
            "HOST": run.row.backend,
            "LENGTH": run.duration_s,
            "TOTAL_LENGTH": run.duration_s,
            "STEP_SIZE": step_s,
            "TEST_PARAMETERS": {"upload_streams": str(len(run.flows))},
            "NOTE": f"run {run.id} of orchestrator, digest {run.row.digest}",
            "DATA_FILENAME": f"{run.id}.flent.gz",
            "SERIES_META": {
                name: {"UNITS": unit, "FLOW": flow} for name, (_v, unit, flow) in series.items()
            },
        },
        "x_values": times_s,
        "results": results,
        "raw_values": {
            name: [
                {"t": time_s, "val": value}
                for time_s, value in zip(times_s, values, strict=True)
                if value is not None
            ]
            for name, values in results.items()
        },
    }
    # Without a time in its header, equal runs give equal files.
    text = json.dumps(document, sort_keys=True, allow_nan=False)
    paths[0].write_bytes(gzip.compress(text.encode(), mtime=0))


def _steps(run: StoredRun) -> tuple[float, int]:
    """Return length and number of the steps between the warm-up and the end."""
    span_s = run.duration_s - run.warmup_s
    sample = run.head.resolved.get("sample", {}).get("tcp", "100ms")
    number = int(span_s / max(_LEAST_STEP_S, parse_time(sample)) + 1e-6)
    if number < 1:
        raise UsageError(f"run {run.id} has no whole step after its warm-up")
    return span_s / number, number


def _series(
    run: StoredRun, number: int
) -> Iterator[tuple[str, tuple[list[float | None], str, str]]]:
    for index, flow in enumerate(run.flows):
        for suffix, metric, factor, unit in _SERIES:
            values = in_parts(run, METRICS[metric, "flow"], index, spans(run)[WHOLE], number)
            if any(not math.isnan(value) for value in values):
                known: list[Any] = [
                    None if math.isnan(sample) else sample * factor for sample in values
                ]
                yield f"TCP upload::{index + 1}{suffix}", (known, unit, flow.name)
