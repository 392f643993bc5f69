"""The declaration of metrics, and the data that they are computed from.

A metric is a function of the run's data, the indices of its subjects (flows or queues) and a span
of time. At the scope of a flow or link it is called with one index. At the scope of the run it is
called with all flows, or with a queue of each bottleneck link. That is the forward queue, unless
data cross the link in reverse only. A metric returns None where the samples do not give the value.
Values that are not finite, or that the metric cannot have, become None, too. Wall time is not
available here.

A metric also declares its title, its format and its columns. Text output, pages, comparisons and
exports take these declarations from the registry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.units import nanoseconds
from orchestrator.recording.extracted import PREFIX
from orchestrator.recording.model import FlowRecord, QueueRecord
from results.metrics.regular import SENDING, TOLERANCE_NS, RegularRun
from results.metrics.run_data import RunData as RunData
from results.metrics.run_data import Span as Span
from results.records.model import WHOLE, Number, Values, WindowMetrics
from results.samples.sample_tables import Array, Columns

Scope = Literal["run", "flow", "link"]

Table = Literal["run", "runs", "tcp", "udp", "icmp", "transfers", "link"]
"""The short tables: of a run, of all runs, four of flows, and one of links."""

SCOPE_OF: dict[Table, Scope] = {
    "run": "run", "runs": "run", "tcp": "flow", "udp": "flow", "icmp": "flow",
    "transfers": "flow", "link": "link",
}  # fmt: skip
"""The scope of the metrics in each short table."""

Format = Literal["rate", "time", "percent", "number"]
"""Formats of values on pages. Text output always writes ratios as numbers."""

_FORMATS: dict[str, Format] = {"bit/s": "rate", "s": "time"}


Function = Callable[[RunData, Sequence[int], Span], Number | None]


@dataclass(frozen=True)
class TableColumn:
    """A metric's place in a short table; columns are sorted by ``position``.

    ``in_text`` False keeps the column out of text output, which has less room than a page.
    ``where_not_zero`` shows the column only where one of the table's values is neither zero nor
    missing.
    """

    table: Table
    position: int
    heading: str
    in_text: bool = True
    where_not_zero: bool = False


@dataclass(frozen=True)
class Metric:
    """A metric at one scope; ``definition`` is its docstring, with the source.

    ``averages`` tells that the value over a span is about the mean of the values over its parts, so
    that a drift within the span can be seen in them. ``counts`` tells that all values are integers,
    as the function's annotation says. ``finished`` names the metrics that count the cases that
    ended by the end of the run, and all cases, where only ended cases have a value; else it is
    empty. ``least`` and ``most`` are the smallest and the largest value that it can have, None
    without a limit. ``columns`` are those of the scope. A metric without columns appears where all
    metrics do: in ``show``, in comparisons, in the run page's list of all metrics, in JSON and in
    exports.
    """

    name: str
    scope: Scope
    unit: str
    subject: Literal["flow", "link"]
    function: Function
    definition: str
    title: str
    format: Format
    averages: bool = False
    counts: bool = False
    finished: tuple[()] | tuple[str, str] = ()
    least: float | None = 0.0
    most: float | None = None
    columns: tuple[TableColumn, ...] = ()

    def can_be(self, value: float) -> bool:
        """Tell whether a value is possible: ``least`` to ``most``."""
        if self.least is not None and value < self.least:
            return False
        return self.most is None or value <= self.most + _ROUNDING

    @property
    def range(self) -> str:
        """The possible values in words; empty without a limit."""
        if self.least is None:
            return "" if self.most is None else f"at most {self.most:g}"
        return f"at least {self.least:g}" + (
            "" if self.most is None else f", at most {self.most:g}"
        )

    def possible(self, value: Number | None) -> Number | None:
        """Return a computed value, None for one that is not finite or not possible.

        A kernel may report anything, so a counter that goes back would give a negative rate.
        """
        if value is None or not math.isfinite(value) or not self.can_be(value):
            return None
        return value


_ROUNDING = 1e-9
"""A share that is computed may be this much above 1."""

METRICS: dict[tuple[str, Scope], Metric] = {}
"""Every metric by (name, scope), in the order of registration."""


def metric(
    name: str,
    *,
    unit: str,
    subject: Literal["flow", "link"],
    scopes: Sequence[Scope],
    title: str | None = None,
    shown_as: Format | None = None,
    averages: bool = False,
    finished: tuple[()] | tuple[str, str] = (),
    least: float | None = 0.0,
    most: float | None = None,
    columns: Sequence[TableColumn] = (),
) -> Callable[[Function], Function]:
    """Register the decorated function as a metric at those scopes; its docstring defines it.

    ``title`` defaults to words made of the name, ``shown_as`` to what suits the unit. The others
    are those of :class:`Metric`.

    Raises:
        TypeError: there is no docstring, the metric is registered already, a column belongs to a
            table of another scope, or the name is of those of programs' output.
    """
    if name.startswith(PREFIX):
        raise TypeError(f"metric {name}: names with {PREFIX} are of numbers of programs' output")

    def register(function: Function) -> Function:
        definition = function.__doc__
        if not definition:
            raise TypeError(f"metric {name} has no docstring to define it")
        for column in columns:
            if SCOPE_OF[column.table] not in scopes:
                raise TypeError(f"metric {name} has no values for the table {column.table}")
        for scope in scopes:
            if (name, scope) in METRICS:
                raise TypeError(f"metric {name} is registered twice for {scope}")
            METRICS[name, scope] = Metric(
                name, scope, unit, subject, function, definition,
                title=title or _title(name),
                format=shown_as or format_of(unit),
                averages=averages,
                counts=function.__annotations__.get("return") == "int | None",
                finished=finished,
                least=least,
                most=most,
                columns=tuple(one for one in columns if SCOPE_OF[one.table] == scope),
            )  # fmt: skip
        return function

    return register


def format_of(unit: str) -> Format:
    """Return the format that suits a unit."""
    return _FORMATS.get(unit, "number")


def _title(name: str) -> str:
    """Return a title made of a metric's name, such as ``RTT 95 %`` of ``rtt_p95_s``."""
    title = name.removesuffix("_bps").removesuffix("_s").replace("_", " ")
    for plain, proper in (
        ("rtt", "RTT"), ("fct", "FCT"), ("p50", "median"), ("p95", "95 %"), ("p99", "99 %"),
    ):  # fmt: skip
        title = title.replace(plain, proper)
    return title[0].upper() + title[1:]


def of_scope(scope: Scope) -> list[Metric]:
    """Return the metrics of a scope, in the order of registration."""
    return [entry for entry in METRICS.values() if entry.scope == scope]


def columns_of(table: Table, in_text: bool = False) -> list[tuple[TableColumn, Metric]]:
    """Return a short table's columns from left to right, ``in_text`` those of text output only."""
    pairs = [
        (column, entry)
        for entry in METRICS.values()
        for column in entry.columns
        if column.table == table and (column.in_text or not in_text)
    ]
    return sorted(pairs, key=lambda pair: pair[0].position)


def channel(queue: QueueRecord) -> str:
    """Return the name of the queue's channel, such as ``bottleneck:forward``."""
    return f"{queue.link}:{queue.direction}"


def spans(data: RunData) -> dict[str, Span]:
    """Return the spans that metrics are computed over by window name, the whole run first."""
    return {
        WHOLE: Span(data.warmup_s, data.duration_s),
        **{window.name: Span(window.from_s, window.to_s) for window in data.windows},
    }


def empty(data: RunData) -> dict[str, WindowMetrics]:
    """Return every registered metric of the run with the value None, by window name."""
    scopes: tuple[Scope, ...] = get_args(Scope)
    names = {scope: [name for name, of in METRICS if of == scope] for scope in scopes}
    links = link_indices(data)
    return {
        window: WindowMetrics(
            run=dict.fromkeys(names["run"]),
            flows=[dict.fromkeys(names["flow"]) for _flow in data.flows],
            links={link: dict.fromkeys(names["link"]) for link in links},
        )
        for window in spans(data)
    }


def compute(data: RunData) -> dict[str, WindowMetrics]:
    """Return every metric of the run by window name, the whole run under WHOLE."""
    regular = RegularRun.of(data)
    return {window: _compute_span(regular, span) for window, span in spans(data).items()}


def expected(data: RunData) -> set[tuple[str, str]]:
    """Return the (name, scope) of the metrics that the run should have values or NULLs for."""
    has = {"run": True, "flow": bool(data.flows), "link": bool(link_indices(data))}
    return {key for key in METRICS if has[key[1]]}


def _compute_span(data: RunData, span: Span) -> WindowMetrics:
    subjects = {"flow": list(range(len(data.flows))), "link": list(link_indices(data).values())}
    together = {"flow": subjects["flow"], "link": _bottlenecks(data)}

    def values(scope: Scope, chosen: dict[str, list[int]]) -> Values:
        return {
            entry.name: entry.possible(entry.function(data, chosen[entry.subject], span))
            if span.length_s > 0 and chosen[entry.subject]
            else None
            for entry in METRICS.values()
            if entry.scope == scope
        }

    return WindowMetrics(
        run=values("run", together),
        flows=[
            values("flow", {"flow": [index]}) | extracted_in(data, index, span)
            for index in subjects["flow"]
        ],
        links={
            name: values("link", {"link": [index]}) for name, index in link_indices(data).items()
        },
    )


def extracted_in(data: RunData, flow: int, span: Span) -> Values:
    """Return the numbers of a program's output by their metrics; none of a flow without any.

    They have values if the flow's client ended within the span. One that ran until the end of the
    run ended a little later.
    """
    ended_s = data.flows[flow].ended_s
    until_s = math.inf if span.to_s >= data.duration_s else span.to_s
    ended = ended_s is not None and span.from_s <= ended_s <= until_s
    return {name: value if ended else None for name, value in data.extracted(flow).items()}


def in_parts(
    data: RunData, of_metric: Metric, subject: int | None, span: Span, number: int
) -> list[float]:
    """Return a metric in ``number`` equal parts of a span, NaN where it has no value.

    ``subject`` is the index of a flow or link, None at the scope of the run.
    """
    if subject is not None:
        chosen = [subject]
    else:
        chosen = list(range(len(data.flows))) if of_metric.subject == "flow" else _bottlenecks(data)
    data = RegularRun.of(data)
    edges = np.linspace(span.from_s, span.to_s, number + 1).tolist()
    values = [
        of_metric.possible(of_metric.function(data, chosen, Span(*edge)))
        if chosen and span.length_s > 0
        else None
        for edge in pairwise(edges)
    ]
    return [math.nan if value is None else float(value) for value in values]


def _bottlenecks(data: RunData) -> list[int]:
    """Return the queues of the run's own metrics: one of each bottleneck link.

    It is the forward one, unless data cross the link in reverse only.
    """
    crossed = {name for flow in data.flows for name in flow.path}
    chosen = []
    for index in link_indices(data).values():
        queue = data.queues[index]
        turned = not crossed & {f"{queue.link}:forward"} and f"{queue.link}:reverse" in crossed
        if queue.bottleneck and queue.direction == ("reverse" if turned else "forward"):
            chosen.append(index)
    return chosen


def link_indices(data: RunData) -> dict[str, int]:
    """Return the index of each channel's queue by the channel's name.

    For a channel with a policer and no queue it is the policer's index.
    """
    indices: dict[str, int] = {}
    for role in ("queue", "policer"):
        for index, queue in enumerate(data.queues):
            if queue.role == role:
                indices.setdefault(channel(queue), index)
    return indices


def of_channel(data: RunData, link: int, role: str) -> list[int]:
    """Return the indices of records with that role in the channel of the queue ``link``."""
    name = channel(data.queues[link])
    return [
        index
        for index, queue in enumerate(data.queues)
        if queue.role == role and channel(queue) == name
    ]


def edge_ns(time_s: float) -> int:
    """Return the last nanosecond that still counts as that edge."""
    return nanoseconds(time_s) + TOLERANCE_NS


def last_before(times_ns: Array, time_s: float) -> int | None:
    """Return the index of the last sample at or before an edge, None when there is none."""
    index = int(times_ns.searchsorted(edge_ns(time_s), side="right")) - 1
    return index if index >= 0 else None


def within(times_ns: Array, span: Span) -> npt.NDArray[np.bool_]:
    """Mark the samples taken in the span, both edges included."""
    first = nanoseconds(span.from_s) - TOLERANCE_NS
    return (times_ns >= first) & (times_ns <= edge_ns(span.to_s))


def running(columns: Columns, flow: FlowRecord) -> npt.NDArray[np.bool_]:
    """Mark the samples of a sender taken while its flow runs."""
    times_ns = columns["time_ns"]
    runs: npt.NDArray[np.bool_] = np.isin(columns["state"], SENDING)
    runs &= times_ns >= nanoseconds(flow.start_s) - TOLERANCE_NS
    if flow.stop_s is not None:
        runs &= times_ns <= nanoseconds(flow.stop_s) + TOLERANCE_NS
    return runs


def sum_known(values: Sequence[int | None]) -> int | None:
    """Return the sum of the values that are known; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def growth(times_ns: Array, counter: Array, span: Span) -> int:
    """Return how much a flow's counter grew over the span.

    The counter is zero before its first sample, and keeps its last value once the flow ended.
    """
    first, last = (last_before(times_ns, time_s) for time_s in (span.from_s, span.to_s))
    return (int(counter[last]) if last is not None else 0) - (
        int(counter[first]) if first is not None else 0
    )


def queue_growth(data: RunData, queue: int, counter: str, span: Span) -> int | None:
    """Return how much a qdisc's counter grew; None without a sample before the span.

    Its counters begin before traffic, so unlike a flow's they need not start at zero.
    """
    columns = data.queue_columns(queue)
    first, last = (last_before(columns["time_ns"], edge) for edge in (span.from_s, span.to_s))
    if first is None or last is None:
        return None
    return int(columns[counter][last]) - int(columns[counter][first])
