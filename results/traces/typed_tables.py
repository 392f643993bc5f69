"""The tables of a trace with the types of their columns, as files of tables have them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.recording.model import SSTHRESH_INFINITE
from orchestrator.recording.trace import TABLES, Trace
from results.runs.captures import host_names
from results.store.stored import StoredRun
from results.tables import parquet
from results.tables.run_tables import TypedTable
from results.traces.columns import columns, named

PARTS = tuple(TABLES)
"""The tables of a trace by the part of their file's name, in the order of :func:`tables`."""

_MISSING = {
    "ssthresh_segments": SSTHRESH_INFINITE,
    "pacing_rate_bytes_per_s": 2**64 - 1,
    "min_rtt_us": 2**32 - 1,
}
"""By column: what the kernel has where there is no such value."""
_LEFT_OUT = ("offset",)
"""Of bytes that the tables do not have."""
_MOST = 2**63 - 1
_KINDS: dict[str, parquet.Kind] = {
    "O": "text", "f": "number", "i": "integer", "u": "integer", "b": "integer",
}  # fmt: skip
"""By numpy's kinds of types."""


def tables(run: StoredRun, trace: Trace) -> Iterator[TypedTable]:
    """Yield the tables of a trace of a run, in the order of ``PARTS``.

    Raises:
        StoreError: the names of the run's hosts are not stored.
    """
    for name in PARTS:
        made = columns(run, trace, name)
        if "host" in made:
            made["host_name"] = named(made["host"], host_names(run))
        if "info" in made:
            made["info"] = _hexadecimal(made["info"], made["info_bytes"])
        kept = {key: column for key, column in made.items() if key not in _LEFT_OUT}
        kinds: dict[str, parquet.Kind] = {
            key: _KINDS[column.dtype.kind] for key, column in kept.items()
        }
        yield TypedTable(kinds, _rows(kept))


def _rows(made: dict[str, npt.NDArray[Any]]) -> Iterator[Sequence[Any]]:
    """Yield the rows, with None for what is not known; a group of them is in memory at a time."""
    size = len(next(iter(made.values())))
    for start in range(0, size, parquet.GROUP):
        part = [
            _known(name, column[start : start + parquet.GROUP]) for name, column in made.items()
        ]
        yield from zip(*part, strict=True)


def _known(name: str, column: npt.NDArray[Any]) -> list[Any]:
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f":
        return [None if math.isnan(value) else value for value in values]
    missing = _MISSING.get(name)
    if missing is not None or column.dtype == np.uint64:
        return [None if value == missing or value > _MOST else value for value in values]
    return values


def _hexadecimal(column: npt.NDArray[Any], sizes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the first bytes of each value as hexadecimal digits."""
    made = np.empty(len(column), object)
    made[:] = [
        bytes(value)[:size].hex()
        for value, size in zip(column.tolist(), sizes.tolist(), strict=True)
    ]
    return made
