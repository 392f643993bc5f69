"""A page of the list of runs: those that fit conditions, in an order, read page by page.

Without conditions the database cuts the page. A condition, a word or an order reads of every run
only what it names, such as one metric. Then the runs of the page are read whole. Conditions and
fields are those of ``orchestrator runs --where`` and ``--sort``.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from orchestrator.errors import UsageError
from results.matrix.axes import labels
from results.matrix.entries import entry_of
from results.query.conditions import Condition, parse
from results.query.run_fields import FieldError, QueriedRun, in_order
from results.records import typed
from results.records.model import WHOLE, Number, Variant
from results.runs import listing
from results.runs.facets import Facets, count
from results.runs.model import ListedRun
from results.schema.access_errors import reading
from results.store.parts import integrity
from results.store.run_rows import LATEST_VERDICT
from results.store.store import Store

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
    """Runs, how many fit, how many there are, and how many are running."""

    runs: list[ListedRun]
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
            number = len(chosen)
        else:
            keys, number = columns.newest(wanted.first, wanted.most), total
        by_id = {run.row.id: run for run in listing.read(store, keys=keys)}
        ids = columns.of("id")
        running = sum(status == "running" for status in columns.of("status").values())
        all_fit = chosen is None or len(chosen) == total  # then no list of keys is needed
        facets = _facets(store, columns, None if all_fit else chosen) if wanted.facets else {}
    runs = [by_id[ids[key]] for key in keys if ids[key] in by_id]
    return Page(runs, number, total, running, facets)


def axis_labels(store: Store) -> dict[str, str]:
    """Return the labels of all axes of the store's runs by their paths, sorted by path."""
    with _reporting_damage():
        paths = {path for kind in _Columns(store).kinds() for path in kind.variant}
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


def _condition(text: str, kinds: Sequence[_Kind]) -> Condition[QueriedRun]:
    try:
        return parse(text, kinds)
    except ValueError as error:
        raise UsageError(f"where: {error}") from None


def _ordered(
    keys: Sequence[int],
    columns: _Columns,
    kinds: Sequence[_Kind],
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


class _Kind(NamedTuple):
    """What conditions can name in some runs: the axes of their variant, and their windows."""

    variant: Variant
    windows: Sequence[str]


class _Run:
    """A run that conditions and orders ask. Its values are read of all runs at once.

    It is small: thousands are made for a condition, and each is asked for a value or two.
    """

    __slots__ = ("_columns", "_key")

    def __init__(self, columns: _Columns, key: int) -> None:
        self._columns = columns
        self._key = key

    def field(self, name: str) -> Any:
        """Return a field of the run."""
        return self._columns.of(name)[self._key]

    def metric(self, name: str, window: str = WHOLE) -> Number | None:
        """Return a metric of the run in a window; None where it has none."""
        return self._columns.metric(window, name).get(self._key)

    @property
    def variant(self) -> Variant:
        """The values of the matrix."""
        variant: Variant = self._columns.of("variant")[self._key]
        return variant

    @property
    def windows(self) -> Sequence[str]:
        """The names of the windows."""
        windows: Sequence[str] = self._columns.of("windows")[self._key]
        return windows

    @property
    def congestion_controls(self) -> Sequence[str | None]:
        """The congestion control of each flow."""
        return [control for _run, _name, _traffic, control in self._flows]

    @property
    def flow_names(self) -> Sequence[str]:
        """The names of the flows and of their entries; these take the scenario."""
        if not self._flows:
            return []
        resolved = self._columns.resolved()[self._key]
        return [
            name
            for _run, flow, traffic, _control in self._flows
            for name in (flow, entry_of(flow, traffic, resolved))
        ]

    @property
    def tags(self) -> Sequence[str]:
        """The tags of the run."""
        return self._columns.tags().get(self.field("id"), [])

    @property
    def _flows(self) -> Sequence[tuple[Any, ...]]:
        return self._columns.flows().get(self._key, ())


_FIELDS = (
    "id", "experiment", "scenario", "backend", "kernel", "digest", "error", "status", "repetition",
    "seed", "link_model", "digest_version", "kernel_warnings", "wall_s", "simulated_s",
    "started_utc",
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

    def kinds(self) -> list[_Kind]:
        """Return each different pair of variant and windows, for names in conditions."""
        rows = self._rows("SELECT DISTINCT variant, windows FROM runs")
        return [_Kind(json.loads(variant), _names(windows)) for variant, windows in rows]

    def of(self, name: str) -> dict[int, Any]:
        """Return a field of the runs by their keys."""
        return self._fields.get(name) or self._fields.setdefault(name, self._field(name))

    def metric(self, window: str, name: str) -> dict[int, Any]:
        """Return a metric of the runs by their keys."""
        by_run = self._metrics.get((window, name))
        if by_run is None:
            rows = self._rows(
                'SELECT run, value FROM metrics WHERE flow IS NULL AND link IS NULL '
                'AND "window" = ? AND name = ?',
                window, name,
            )  # fmt: skip
            by_run = self._metrics[window, name] = dict(rows)
        return by_run

    def flows(self) -> dict[int, list[tuple[Any, ...]]]:
        """Return key of the run, name, traffic and congestion control of each flow, by run."""
        return self._once("flows", self._flows)

    def tags(self) -> dict[str, list[str]]:
        """Return the tags of the runs by their ids."""
        return self._once(
            "tags", lambda: {run: remark.tags for run, remark in self._store.remarks().items()}
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
        value: Value = self._known[key]
        return value

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
        listed = listing.read(self._store, keys=[key for key, _id in rows]) if rows else []
        by_id = {run.row.id: run.field(name) for run in listed}
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
