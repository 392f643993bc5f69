"""A page of the list of runs: those that fit conditions, in an order, read page by page.

Without conditions the database cuts the page. A condition, a word or an order reads of every run
only what it names, such as one metric. Then the runs of the page are read whole. Conditions and
fields are those of ``orchestrator runs --where`` and ``--sort``.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, TypeVar

from orchestrator.errors import UsageError
from results import integrity, typed
from results.axes import labels
from results.conditions import Condition, parse
from results.entries import entry_of
from results.facets import Facets, count
from results.model import WHOLE
from results.run_fields import FieldError, in_order
from results.run_rows import LATEST_VERDICT
from results.store import Store
from results.stored import reading

Value = TypeVar("Value")

MOST_CONDITIONS = 20


@dataclass(frozen=True)
class PageRequest:
    """Which runs, and in which order.

    ``where`` are conditions that all hold. ``words`` is text of which each word stands in a run's
    names. ``sort`` is a field or metric, with a minus before it from the largest to the smallest.
    Without it, the newest run is the first. ``first`` and ``most`` cut the page. ``facets`` asks
    for counts of the runs that fit.
    """

    where: Sequence[str] = ()
    words: str = ""
    status: str = ""
    sort: str = ""
    first: int = 0
    most: int = 100
    facets: bool = False


@dataclass(frozen=True)
class Page:
    """Runs as ``documents.listed`` has them, how many fit, how many there are, and running ones."""

    runs: list[dict[str, Any]]
    found: int
    total: int
    running: int
    facets: Facets = field(default_factory=dict)


def page(store: Store, wanted: PageRequest) -> Page:
    """Return the page.

    Raises:
        UsageError: a condition is not valid, or there is no field of the order's name.
    """
    with reading(store.path):
        (total,) = store.connection.execute("SELECT count(*) FROM runs").fetchone()
    with _reporting_damage():
        columns = _Columns(store)
        chosen = None
        if wanted.where or wanted.words or wanted.status or wanted.sort:
            chosen = _chosen(columns, wanted)
            keys = chosen[wanted.first : wanted.first + wanted.most]
            found = len(chosen)
        else:
            keys, found = columns.newest(wanted.first, wanted.most), total
        by_id = {run["id"]: run for run in store.listing(keys=keys)["runs"]}
        ids = columns.of("id")
        running = sum(status == "running" for status in columns.of("status").values())
        all_fit = chosen is None or len(chosen) == total  # then no list of keys is needed
        facets = _facets(store, columns, None if all_fit else chosen) if wanted.facets else {}
    runs = [by_id[ids[key]] for key in keys if ids[key] in by_id]
    return Page(runs, found, total, running, facets)


def axis_labels(store: Store) -> dict[str, str]:
    """Return the labels of all axes of the store's runs by their paths, sorted by path."""
    with _reporting_damage():
        paths = {path for kind in _Columns(store).kinds() for path in kind["variant"]}
        return labels(sorted(paths))


def _facets(store: Store, columns: _Columns, keys: Sequence[int] | None) -> Facets:
    known = {name: columns.of(name) for name in ("status", "verdict")}
    values = {
        name: list(of.values()) if keys is None else [of[key] for key in keys]
        for name, of in known.items()
    }
    with reading(store.path):
        return count(store.connection, keys, values)


@contextmanager
def _reporting_damage() -> Iterator[None]:
    """Turn an error that only a damaged row can cause into StoreError."""
    try:
        yield
    except UsageError:
        raise
    except typed.DECODING_ERRORS as error:
        raise integrity.damaged("of the list", f"{type(error).__name__}: {error}") from error


def _chosen(columns: _Columns, wanted: PageRequest) -> list[int]:
    """Return the keys of the runs that fit, in the order asked for."""
    kept = columns.newest(0, -1)
    if wanted.status:
        states = columns.of("status")
        kept = [key for key in kept if states[key] == wanted.status]
    if words := wanted.words.lower().split():
        kept = _with_words(columns, kept, words)
    if not wanted.where and not wanted.sort:
        return kept
    kinds = columns.kinds()
    for holds in [_condition(text, kinds) for text in wanted.where]:
        kept = [key for key in kept if holds(_Run(columns, key))]
    return _ordered(kept, columns, kinds, wanted.sort) if wanted.sort else kept


def _condition(text: str, kinds: Sequence[Mapping[str, Any]]) -> Condition:
    try:
        return parse(text, kinds)
    except ValueError as error:
        raise UsageError(f"where: {error}") from None


def _ordered(
    keys: Sequence[int],
    columns: _Columns,
    kinds: Sequence[Mapping[str, Any]],
    sort: str,
) -> list[int]:
    """Return the keys in the order of ``--sort``: runs without a value are the last."""
    try:
        return in_order(keys, sort, lambda key: _Run(columns, key), kinds)
    except FieldError as error:
        raise UsageError(f"sort={sort}: {error}") from None


def _with_words(columns: _Columns, keys: Sequence[int], words: Sequence[str]) -> list[int]:
    """Return those of the runs in whose names each of the words stands."""
    texts = columns.texts()
    for word in words:
        keys = [key for key in keys if word in texts[key]]
    return list(keys)


class _Run(dict[str, Any]):
    """A run as the list has it. Its values are read when they are asked for, of all runs at once.

    It is empty: thousands are made for a condition, and each asks for a value or two.
    """

    __slots__ = ("_columns", "_key")

    def __init__(self, columns: _Columns, key: int) -> None:
        self._columns = columns
        self._key = key

    def __missing__(self, name: str) -> Any:
        return self._columns.value(self._key, name)


class _Metrics(dict[str, Any]):
    """The metrics of a run in a window, read as those of :class:`_Run`; None where it has none."""

    __slots__ = ("_columns", "_key", "_window")

    def __init__(self, columns: _Columns, key: int, window: str) -> None:
        self._columns = columns
        self._key = key
        self._window = window

    def __missing__(self, name: str) -> Any:
        return self._columns.metric(self._window, name).get(self._key)


class _Flow(dict[str, Any]):
    """A flow of a run; its entry, which takes the scenario, is read when it is asked for."""

    __slots__ = ("_columns", "_key", "_traffic")

    def __init__(self, columns: _Columns, key: int, name: str, traffic: str, control: Any) -> None:
        super().__init__(name=name, congestion_control=control)
        self._columns = columns
        self._key = key
        self._traffic = traffic

    def __missing__(self, _entry: str) -> Any:
        return entry_of(self["name"], self._traffic, self._columns.resolved()[self._key])


_FIELDS = (
    "id", "experiment", "scenario", "backend", "kernel", "digest", "error", "status", "repetition",
    "seed", "link_model", "digest_version", "wall_s", "simulated_s", "started_utc",
)  # fmt: skip


class _Columns:
    """Columns of all runs, each read when it is first asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._fields: dict[str, dict[int, Any]] = {}
        self._metrics: dict[tuple[str, str], dict[int, Any]] = {}
        self._known: dict[str, Any] = {}

    def newest(self, first: int, most: int) -> list[int]:
        """Return the keys of runs, newest first; ``most`` below 0 means all."""
        rows = self._rows("SELECT run FROM runs ORDER BY run DESC LIMIT ? OFFSET ?", most, first)
        return [key for (key,) in rows]

    def kinds(self) -> list[dict[str, Any]]:
        """Return each different pair of variant and windows, for names in conditions."""
        rows = self._rows("SELECT DISTINCT variant, windows FROM runs")
        return [
            {"variant": json.loads(variant), "windows": {name: {} for name in _names(windows)}}
            for variant, windows in rows
        ]

    def value(self, key: int, name: str) -> Any:
        """Return a value of the run of a key, as the list of runs has it."""
        if name == "metrics":
            return _Metrics(self, key, WHOLE)
        if name == "fidelity":
            return {"verdict": self.of("verdict")[key]}
        if name == "windows":
            return {
                window: {"metrics": _Metrics(self, key, window)}
                for window in self.of("windows")[key]
            }
        if name == "flows":
            return [_Flow(self, *flow) for flow in self.flows().get(key, ())]
        if name == "tags":
            return self.tags().get(self.of("id")[key], [])
        return self.of(name)[key]

    def of(self, name: str) -> dict[int, Any]:
        """Return a field of the runs by their keys."""
        return self._fields.get(name) or self._fields.setdefault(name, self._field(name))

    def metric(self, window: str, name: str) -> dict[int, Any]:
        """Return a metric of the runs by their keys."""
        found = self._metrics.get((window, name))
        if found is None:
            rows = self._rows(
                'SELECT run, value FROM metrics WHERE flow IS NULL AND link IS NULL '
                'AND "window" = ? AND name = ?',
                window, name,
            )  # fmt: skip
            found = self._metrics[window, name] = dict(rows)
        return found

    def flows(self) -> dict[int, list[tuple[Any, ...]]]:
        """Return what :class:`_Flow` takes of each flow, by the keys of their runs."""
        return self._once("flows", self._flows)

    def tags(self) -> dict[str, list[str]]:
        """Return the tags of the runs by their ids."""
        return self._once(
            "tags", lambda: {run: one.tags for run, one in self._store.remarks().items()}
        )

    def texts(self) -> dict[int, str]:
        """Return what names each run, in small letters, by the runs' keys."""
        variants = {
            text: ", ".join(f"{path}={value}" for path, value in json.loads(text).items())
            for (text,) in self._rows("SELECT DISTINCT variant FROM runs")
        }
        tags, verdicts = self.tags(), self.of("verdict")
        states, errors = self.of("status"), self.of("error")
        controls: dict[int, str] = {}
        for key, control in self._rows(
            "SELECT DISTINCT run, congestion_control FROM flows WHERE congestion_control NOTNULL"
        ):
            controls[key] = f"{controls.get(key, '')} {control}"
        return {
            key: " ".join(
                (run_id, experiment, scenario, backend, f"seed={seed}", variants[variant],
                 states[key], verdicts[key] or "", errors[key] or "", *tags.get(run_id, ()),
                 controls.get(key, ""))
            ).lower()
            for key, run_id, experiment, scenario, backend, seed, variant in self._rows(
                "SELECT run, id, experiment, scenario, backend, seed, variant FROM runs"
            )
        }  # fmt: skip

    def _once(self, key: str, make: Callable[[], Value]) -> Value:
        if key not in self._known:
            self._known[key] = make()
        found: Value = self._known[key]
        return found

    def _field(self, name: str) -> dict[int, Any]:
        if name == "verdict":
            return dict(self._rows(f"SELECT run, {LATEST_VERDICT} FROM runs"))
        if name == "variant":
            return self._decoded("variant", json.loads)
        if name == "windows":
            return self._decoded("windows", _names)
        if name not in _FIELDS:
            raise KeyError(name)
        values = dict(self._rows(f"SELECT run, {name} FROM runs"))
        if name in ("status", "error"):
            values |= self._gone(name)
        return values

    def _decoded(self, name: str, decode: Callable[[str], Any]) -> dict[int, Any]:
        rows = self._rows(f"SELECT run, {name} FROM runs")
        texts = {text: decode(text) for text in {text for _run, text in rows}}
        return {key: texts[text] for key, text in rows}

    def _gone(self, name: str) -> dict[int, Any]:
        """Return the field of runs that are marked as running: their processes may have ended."""
        rows = self._rows("SELECT run, id FROM runs WHERE status = 'running'")
        listed = self._store.listing(keys=[key for key, _id in rows])["runs"] if rows else []
        by_id = {run["id"]: run[name] for run in listed}
        return {key: by_id[run_id] for key, run_id in rows if run_id in by_id}

    def resolved(self) -> dict[int, Any]:
        """Return the whole scenarios of the runs by their keys."""
        return self._once("resolved", lambda: self._decoded("resolved", json.loads))

    def _flows(self) -> dict[int, list[tuple[Any, ...]]]:
        rows = self._rows(
            "SELECT run, name, traffic, congestion_control FROM flows ORDER BY run, flow"
        )
        return {key: list(flows) for key, flows in itertools.groupby(rows, itemgetter(0))}

    def _rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        with reading(self._store.path):
            return self._store.connection.execute(sql, parameters).fetchall()


def _names(windows: str) -> list[str]:
    return [window[0] for window in json.loads(windows)]
