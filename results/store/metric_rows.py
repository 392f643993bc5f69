"""The metrics of many runs as arrays, compared with their checksums before they are used.

In the repetitions of a variant the rows of table ``metrics`` are of the same windows, flows, links
and names, and only their values differ. So SQLite puts these names together to one text for each
run. It is decoded once for all runs that have the same text. What remains of a run is an array of
its values. That takes a tenth of the time of a dict for each subject (``StoredRun.metrics``).
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from orchestrator.errors import StoreError
from results import metrics
from results.records import typed
from results.records.model import Number, RunRow
from results.schema import access_errors
from results.store import bulk
from results.store.bulk import Sums
from results.store.parts import checksum
from results.store.parts.checksum import Checksum
from results.store.stored import StoredRun

COLUMNS = ("flow", "link", "name", "value", "window")
"""The columns that a checksum of the metrics covers, in the order that rows are sorted by."""

MOST_VALUES = 2_000_000
"""Values that :class:`MetricCache` holds, of 8 bytes each."""

Place = tuple[str, int | None, str | None, str]
"""Window, flow, link and name of a value. Without flow and link it is of the run."""

Names = tuple[str, str, str, str]
"""JSON of the windows, flows, links and names of a run's rows."""

_NUMBERS = {int, float, type(None)}

_OTHERS = {
    "runs": ("resolved", "windows"),
    "flows": ("flow", "name", "traffic"),
    "queues": ("queue", "link", "direction", "role", "bottleneck"),
}
"""What a layout depends on besides the metrics."""


@dataclass(frozen=True, eq=False)
class MetricLayout:
    """What the values of some runs are of.

    ``places`` are the indices of the values. ``flows`` and ``entries`` have a name for each flow,
    and ``bottlenecks`` one for each channel of a bottleneck link.
    """

    places: Mapping[Place, int]
    windows: tuple[str, ...]
    flows: tuple[str, ...]
    entries: tuple[str, ...]
    bottlenecks: tuple[str, ...]


@dataclass(frozen=True)
class MetricRows:
    """The values of a run, NaN where there is none; runs that are alike share a layout."""

    layout: MetricLayout
    values: npt.NDArray[np.float64]


class MetricCache:
    """Metrics of runs that were compared with their checksums; at most ``most_values`` values.

    Threads may share it. A run is found by its id and checksums, so a run that was replaced is read
    again. The least recently used runs are dropped first.
    """

    def __init__(self, most_values: int = MOST_VALUES) -> None:
        self._lock = threading.Lock()
        self._most, self._held = most_values, 0
        self._runs: OrderedDict[str, tuple[Sums, MetricRows]] = OrderedDict()
        self._layouts: WeakValueDictionary[bytes, MetricLayout] = WeakValueDictionary()

    def find(self, run_id: str, sums: Sums) -> MetricRows | None:
        """Return the metrics of a run with these checksums; None if they are not here."""
        with self._lock:
            known = self._runs.get(run_id)
            if known is None or known[0] != sums:
                return None
            self._runs.move_to_end(run_id)
            return known[1]

    def add(self, run_id: str, sums: Sums, run_metrics: MetricRows) -> None:
        """Keep the metrics of a run with these checksums."""
        with self._lock:
            if run_id in self._runs:
                self._held -= len(self._runs.pop(run_id)[1].values)
            self._runs[run_id] = (sums, run_metrics)
            self._held += len(run_metrics.values)
            while self._held > self._most:
                self._held -= len(self._runs.popitem(last=False)[1][1].values)

    def layout(self, names: Names, made: MetricLayout) -> MetricLayout:
        """Return the layout of cached runs that is equal, or the one that was made of names."""
        own = (names, made.windows, made.flows, made.entries, made.bottlenecks)
        with self._lock:
            return self._layouts.setdefault(hashlib.sha256(repr(own).encode()).digest(), made)


def read(
    connection: sqlite3.Connection, path: Path, rows: Sequence[RunRow], cache: MetricCache
) -> dict[str, MetricRows]:
    """Return the metrics by run id of the runs that can be read together.

    Missing are runs without checksums, damaged runs, and runs that lack a metric. :func:`of_run`
    reads these.
    """
    by_id = {row.id: row for row in rows}
    read_rows: dict[str, MetricRows] = {}
    try:
        ids: dict[int, str] = dict(
            connection.execute(
                "SELECT run, id FROM runs WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(by_id)),),
            )
        )
        sums = bulk.checksums(connection, list(ids))
        new: dict[int, StoredRun] = {}
        for key, run_sums in sums.items():
            if (known := cache.find(ids[key], run_sums)) is not None:
                read_rows[ids[key]] = known
            elif len(run_sums) == len(bulk.TABLES):
                new[key] = StoredRun(connection, path, key, by_id[ids[key]])
        for table in _OTHERS:
            bulk.give_verified_rows(connection, table, sums, new)
        for key, run_metrics in _read(connection, new, sums, cache):
            read_rows[ids[key]] = run_metrics
            cache.add(ids[key], sums[key], run_metrics)
    except (*access_errors.ERRORS, StoreError, *typed.DECODING_ERRORS):
        pass  # the others are read by themselves, with an error that names the run
    return read_rows


def of_run(run: StoredRun) -> MetricRows:
    """Return the metrics of one run; they are computed from its samples if some are not stored.

    Raises:
        StoreError: the run is damaged.
    """
    values: dict[Place, Number | None] = {}
    for window, of in run.metrics().items():
        values |= {(window, None, None, name): value for name, value in of.run.items()}
        for index, flow in enumerate(of.flows):
            values |= {(window, index, None, name): value for name, value in flow.items()}
        for link, of_link in of.links.items():
            values |= {(window, None, link, name): value for name, value in of_link.items()}
    places = {value_key: index for index, value_key in enumerate(values)}
    return MetricRows(_layout(run, places), np.array(list(values.values()), np.float64))


def _layout(run: StoredRun, places: Mapping[Place, int]) -> MetricLayout:
    links = metrics.link_indices(run)
    return MetricLayout(
        places,
        tuple(metrics.spans(run)),
        tuple(flow.name for flow in run.flows),
        tuple(run.entries),
        tuple(name for name, index in links.items() if run.queues[index].bottleneck),
    )


def _read(
    connection: sqlite3.Connection,
    runs: Mapping[int, StoredRun],
    sums: Mapping[int, Sums],
    cache: MetricCache,
) -> Iterator[tuple[int, MetricRows]]:
    """Yield key and metrics of the runs whose rows are what was stored, and complete."""
    shapes: dict[Names, _RowShape] = {}
    layouts: dict[Any, MetricLayout | None] = {}
    for key, names, values in _rows(connection, list(runs)):
        run = runs[key]
        shape = shapes.get(names) or shapes.setdefault(names, _RowShape(names))
        schema, expected = sums[key]["metrics"]
        if (
            not run.verified_tables.issuperset(_OTHERS)
            or checksum.covered(schema)["metrics"] != COLUMNS
        ):
            continue
        if not _NUMBERS.issuperset(map(type, values)) or shape.checksum(values) != expected:
            continue
        # All that the layout depends on; decoding it for each run would take most of the time.
        of = (names, *(tuple(sorted(run.raw(table, some))) for table, some in _OTHERS.items()))
        if of not in layouts:
            complete = metrics.expected(run) <= shape.known
            layouts[of] = cache.layout(names, _layout(run, shape.places)) if complete else None
        if (layout := layouts[of]) is not None:
            yield key, MetricRows(layout, np.array(values, np.float64))


def _rows(
    connection: sqlite3.Connection, keys: Sequence[int]
) -> Iterator[tuple[int, Names, list[Any]]]:
    """Yield key, names and values of the runs' metrics; both are in one order, SQLite's own.

    SQL does not promise that order. If it were another one, no checksum would fit.
    """
    chosen = "WHERE run IN (SELECT value FROM json_each(?))"
    selected = connection.execute(
        'SELECT run, json_group_array("window"), json_group_array(flow), json_group_array(link), '
        f"json_group_array(name), count(*) FROM metrics {chosen} GROUP BY run ORDER BY run",
        (json.dumps(keys),),
    ).fetchall()
    values = connection.execute(
        f"SELECT value FROM metrics {chosen} ORDER BY run", (json.dumps(keys),)
    )
    for key, *names, count in selected:
        yield key, tuple(names), [value for (value,) in islice(values, count)]


class _RowShape:
    """What the rows of some runs are of: their places, and the text that checksums are of."""

    def __init__(self, names: Names) -> None:
        subjects = list(zip(*map(json.loads, names), strict=True))
        self.places: dict[Place, int] = {
            value_key: index for index, value_key in enumerate(subjects)
        }
        self.known = {
            (name, "flow" if flow is not None else "link" if link is not None else "run")
            for _window, flow, link, name in subjects
        }
        self._start = f"{_text(['metrics', COLUMNS])[:-1]},["
        self._before = [f"{_text(value_key[1:])[:-1]}," for value_key in subjects]
        self._after = [f",{_text(value_key[0])}]" for value_key in subjects]
        self._windows = [value_key[0] for value_key in subjects]
        # As SQLite sorts: missing ones first, and texts by their code points.
        by = [(flow is not None, flow, link is not None, link, name)
              for _window, flow, link, name in subjects]  # fmt: skip
        ranks = {text: rank for rank, text in enumerate(sorted(set(by)))}
        self._ranks = [ranks[subject] for subject in by]
        self._order = sorted(range(len(by)), key=self._ranks.__getitem__)
        self._several = len(ranks) < len(by)

    def checksum(self, values: Sequence[Number | None]) -> Checksum:
        """Return the checksum of rows with these values, as ``checksum.of_rows`` does."""
        order = self._order
        if self._several:  # the rows of several windows are sorted by their values
            ranks, windows = self._ranks, self._windows
            order = sorted(
                order,
                key=lambda at: (ranks[at], values[at] is not None, values[at] or 0, windows[at]),
            )
        texts = _text(values)[1:-1].split(",")
        rows = [
            f"{before}{value}{after}"
            for before, value, after in zip(self._before, texts, self._after, strict=True)
        ]
        text = f"{self._start}{','.join([rows[at] for at in order])}]]"
        return Checksum(len(rows), hashlib.sha256(text.encode()).hexdigest())


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
