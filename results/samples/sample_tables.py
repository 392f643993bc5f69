"""The tables of samples and of transfers, and their series in arrays that are to be stored.

``results.samples.sample_blocks`` stores series and reads them back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.errors import StoreError
from orchestrator.recording.model import (
    ABSENT,
    ABSENT_COLUMNS,
    COUNTER_DTYPE,
    DATAGRAM_DTYPE,
    QUEUE_DTYPE,
    SENDER_STATE_DTYPE,
    SOJOURN_DTYPE,
    SSTHRESH_INFINITE,
    TCP_DTYPE,
    TRANSFER_DTYPE,
)

Array = npt.NDArray[Any]
"""One column: int64, or for the columns in MISSING_VALUES float64 with NaN."""

MISSING_VALUES = {
    "snd_ssthresh_segments": SSTHRESH_INFINITE,
    "pacing_rate_bytes_per_s": -1,  # ~0 in 64 bits, seen as signed
    "max_pacing_rate_bytes_per_s": -1,
    "delay_min_ns": -1,
    "delay_max_ns": -1,
    "end_ns": -1,
    **dict.fromkeys(ABSENT_COLUMNS, ABSENT),
}
"""Columns with a (signed) number that stands for a missing value, which reads back as NaN: an
infinite ssthresh, a pacing rate without limit, a delay without packets, no end, a field of
tcp_info that the kernel does not have."""


class DamagedSamplesError(StoreError):
    """Samples of a run are not what was stored; the message says which, but not of which run."""


class SampleTable(NamedTuple):
    """A table of the store: the type of its rows, the keys of its series, and what orders a series.

    ``states`` have one row at a time: of several at the same nanosecond the last is kept.
    """

    dtype: np.dtype[np.void]
    keys: tuple[str, ...]
    time: str = "time_ns"
    states: bool = True


TABLES = {
    "tcp_samples": SampleTable(TCP_DTYPE, ("flow", "endpoint")),
    "queue_samples": SampleTable(QUEUE_DTYPE, ("queue",)),
    "sojourn_times": SampleTable(SOJOURN_DTYPE, ("queue",), states=False),
    "counter_samples": SampleTable(COUNTER_DTYPE, ("host",), states=False),
    "datagram_samples": SampleTable(DATAGRAM_DTYPE, ("flow",)),
    "sender_states": SampleTable(SENDER_STATE_DTYPE, ("flow",)),
    "transfers": SampleTable(TRANSFER_DTYPE, ("flow",), "start_ns", states=False),
}


class Columns(Mapping[str, Array]):
    """The columns of one series, in the order of time. Each is read when it is used first."""

    def __init__(self, names: Sequence[str], fetch: Callable[[str], Array]) -> None:
        self._names = tuple(names)
        self._fetch = fetch
        self._cache: dict[str, Array] = {}
        self._derived: dict[str, Array] = {}

    def derived(self, name: str, make: Callable[[], Array]) -> Array:
        """Return what is computed from the columns; ``make`` is called the first time."""
        if name not in self._derived:
            self._derived[name] = make()
        return self._derived[name]

    def __getitem__(self, name: str) -> Array:
        if name not in self._cache:
            if name not in self._names:
                raise KeyError(f"no column {name}; the columns are {', '.join(self._names)}")
            self._cache[name] = self._fetch(name)
        return self._cache[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class SampleSeries:
    """The series of one table's array by their keys, each in the order of time."""

    def __init__(self, array: npt.NDArray[np.void], table: str) -> None:
        _dtype, keys, self.time, states = TABLES[table]
        self.table = table
        signed = [(name, "i8" if kind == "<u8" else kind) for name, kind, *_ in array.dtype.descr]
        self._array = array.view(np.dtype(signed))
        self.names = tuple(array.dtype.names or ())
        self._rows: dict[tuple[int, ...], npt.NDArray[np.intp]] = {}
        if not len(array):
            return
        columns = [array[key].astype(np.int64) for key in keys]
        time = array[self.time].astype(np.int64)
        order = np.lexsort((time, *reversed(columns)))
        ordered = [column[order] for column in columns]
        changes = np.any([column[1:] != column[:-1] for column in ordered], axis=0)
        later = time[order][1:] != time[order][:-1]
        last = np.append(changes | later if states else np.ones_like(later), True)
        edges: list[int] = [0, *(np.flatnonzero(changes) + 1).tolist(), len(order)]
        for start, end in pairwise(edges):
            key = tuple(int(column[start]) for column in ordered)
            self._rows[key] = order[start:end][last[start:end]]

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """Yield the keys that have samples, sorted."""
        return iter(self._rows)

    def rows(self, key: tuple[int, ...]) -> npt.NDArray[np.void]:
        """Return the samples of a series; unsigned 64-bit fields appear as signed."""
        return self._array[self._rows[key]]

    def columns(self, key: tuple[int, ...]) -> Columns:
        """Return the columns of a series, just as they read back from the store."""
        rows = self._rows.get(key, np.empty(0, np.intp))

        def fetch(name: str) -> Array:
            values = self._array[name][rows].astype(np.int64)
            if name in MISSING_VALUES:
                return np.where(values == MISSING_VALUES[name], np.nan, values)
            return values

        return Columns(self.names, fetch)


def listed(name: str, values: Array) -> list[int | None]:
    """Return a column's values as Python's integers, with None for infinite ones."""
    numbers: list[Any] = values.tolist()
    if name in MISSING_VALUES:
        return [None if math.isnan(value) else int(value) for value in numbers]
    return numbers


def tcp_series(array: npt.NDArray[np.void], flows: int) -> SampleSeries:
    """Return the series of TCP samples; StoreError when they are not of TCP_DTYPE."""
    return _series("tcp_samples", array, flows, 2)


def queue_series(array: npt.NDArray[np.void], queues: int) -> SampleSeries:
    """Return the series of queue samples; StoreError when they are not of QUEUE_DTYPE."""
    return _series("queue_samples", array, queues)


def sojourn_series(array: npt.NDArray[np.void], queues: int) -> SampleSeries:
    """Return the intervals of sojourn times; StoreError when they are not of SOJOURN_DTYPE."""
    return _series("sojourn_times", array, queues)


def counter_series(array: npt.NDArray[np.void], hosts: int) -> SampleSeries:
    """Return the SNMP counters of hosts; StoreError when they are not of COUNTER_DTYPE."""
    return _series("counter_samples", array, hosts)


def datagram_series(array: npt.NDArray[np.void], flows: int) -> SampleSeries:
    """Return the series of samples of UDP; StoreError when they are not of DATAGRAM_DTYPE."""
    return _series("datagram_samples", array, flows)


def sender_series(array: npt.NDArray[np.void], flows: int) -> SampleSeries:
    """Return the states of senders; StoreError when they are not of SENDER_STATE_DTYPE."""
    return _series("sender_states", array, flows)


def transfer_series(array: npt.NDArray[np.void], flows: int) -> SampleSeries:
    """Return the transfers of each flow; StoreError when they are not of TRANSFER_DTYPE."""
    return _series("transfers", array, flows)


def _series(table: str, array: npt.NDArray[np.void], *limits: int) -> SampleSeries:
    dtype, keys, *_ = TABLES[table]
    if array.dtype != dtype:
        raise StoreError(f"{table}: the rows are of {array.dtype}, not of {dtype}")
    for key, limit in zip(keys, limits, strict=True):
        if len(array) and (int(array[key].min()) < 0 or int(array[key].max()) >= limit):
            raise StoreError(f"{table}: a row's {key} is not within 0..{limit - 1}")
    return SampleSeries(array, table)
