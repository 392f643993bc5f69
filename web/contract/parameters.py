"""The parameters of each address of the API."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from orchestrator.errors import UsageError
from results.experiment.observations import ValueSelection
from results.records.model import WHOLE
from results.runs.page import MOST_CONDITIONS, PageRequest
from results.samples.sample_tables import TABLES
from results.statistics.drift import PARTS
from results.traces.columns import TABLE_NAMES
from web.charts import series
from web.contract.reading import (
    AddressParts,
    Names,
    OneOf,
    Query,
    Seconds,
    Shares,
    Texts,
    WholeNumber,
)
from web.http import query

YES_OR_NO = ("", "yes", "no")

MOST_FIRST = 10**9 - 1
"""The largest place of the first element of a page."""

MOST_RUNS = 1000
"""Runs in one answer."""

MOST_EXPERIMENTS = 200
"""Experiments in one answer."""

MOST_COMPARED = 12
"""Runs in a comparison."""

MOST_VARIANTS = 8
"""Variants in a comparison."""

MOST_NAMED = 1000
"""Flows or queues that an address names."""

MOST_MOMENTS = 2000
"""Moments in one answer."""

MOST_ROWS = 10_000
"""Rows of a trace in one answer."""

MOST_GIVEN = 20
"""Metrics, axes, conditions, flow entries or quantiles that an address names."""

TCP_FIELDS = ("snd_cwnd_segments", "snd_ssthresh_segments", "rtt_us")
QUEUE_FIELDS = ("backlog_packets", "backlog_bytes", "queue_delay_s", "drops")


def _fields(usual: tuple[str, ...], table: str, *more: str) -> Any:
    """Return the parameter ``fields``: columns of a table of samples, and more names."""
    dtype, keys, *_others = TABLES[table]
    valid = [*(name for name in dtype.names or () if name not in keys), *more]
    return Field(
        default=usual,
        description=f"names with commas between, of {', '.join(valid)}",
        json_schema_extra={"default": ",".join(usual)},
    )


class RunAddress(AddressParts):
    """The run that an address names."""

    run_id: str = Field(
        description="id of a run, a unique start of one, or `last`", examples=["last"]
    )


class RunsQuery(Query):
    """Which runs, in which order, and which part of them."""

    where: Annotated[tuple[str, ...], Texts(MOST_CONDITIONS, "conditions")] = Field(
        default=(),
        description="condition of `orchestrator runs --where`, such as `seed<=3`; all must hold",
    )
    q: str = Field(default="", description="words that all stand in a run's names")
    status: Annotated[str, OneOf(query.STATUSES)] = Field(default="", description="empty: any")
    sort: str = Field(
        default="",
        description="field or metric, with `-` before it from the largest to the smallest; "
        "without it, the newest run is the first",
    )
    first: Annotated[int, WholeNumber(0, MOST_FIRST)] = Field(
        default=0, description="place of the first run, from 0"
    )
    most: Annotated[int, WholeNumber(1, MOST_RUNS)] = Field(
        default=100, description="number of runs"
    )
    counts: Annotated[str, OneOf(YES_OR_NO)] = Field(
        default="", description="`yes`: also count the runs that fit, by some fields"
    )

    def wanted(self) -> PageRequest:
        """Return what the list is asked for."""
        page = (self.first, self.most)
        return query.wanted_of(
            self.where, self.q, self.status, self.sort, page, self.counts == "yes"
        )


class TimeRangeQuery(Query):
    """A part of the simulated time."""

    from_s: Annotated[float | None, Seconds()] = Field(
        default=None, alias="from", description="begin in seconds since the start of traffic"
    )
    to_s: Annotated[float | None, Seconds()] = Field(
        default=None, alias="to", description="end in seconds, later than `from`"
    )

    def part(self, points: int = query.POINTS[1], bins: int | None = None) -> query.TimeRange:
        """Return the part of the time; UsageError when it has no length."""
        if self.from_s is not None and self.to_s is not None and self.from_s >= self.to_s:
            raise UsageError(f"from={self.from_s:g} is not before to={self.to_s:g}")
        return query.TimeRange(self.from_s, self.to_s, points, bins)


class ThinnedQuery(TimeRangeQuery):
    """A part of the time, and the number of points."""

    points: Annotated[int, WholeNumber(query.POINTS[0], query.POINTS[2])] = Field(
        default=query.POINTS[1], description="at most so many points of each field"
    )

    def wanted(self) -> query.TimeRange:
        """Return the part of the time; UsageError when it has no length."""
        return self.part(self.points)


class BinnedQuery(ThinnedQuery):
    """A part of the time, and the number of points or of bins."""

    bins: Annotated[int | None, WholeNumber(*query.BINS)] = Field(
        default=None, description="give so many bins, where each has three samples in the mean"
    )

    def wanted(self) -> query.TimeRange:
        """Return the part of the time; UsageError when it has no length."""
        return self.part(self.points, self.bins)


class _FlowsByName(Query):
    """Flows by name."""

    flow: Annotated[tuple[str, ...], Texts(MOST_NAMED, "flows")] = Field(
        default=(), description="name or index of a flow; without it, all that have such samples"
    )


class _SocketSamplesQuery(_FlowsByName):
    endpoint: Annotated[str, OneOf(series.ENDPOINTS)] = Field(
        default=series.ENDPOINTS[0], description="end of the flow that was sampled"
    )
    fields: Annotated[tuple[str, ...], Names(TCP_FIELDS)] = _fields(TCP_FIELDS, "tcp_samples")


class _QueueSamplesQuery(Query):
    queue: Annotated[tuple[str, ...], Texts(MOST_NAMED, "queues")] = Field(
        default=(), description="name or index of a qdisc; without it, those of bottlenecks"
    )
    fields: Annotated[tuple[str, ...], Names(QUEUE_FIELDS)] = _fields(
        QUEUE_FIELDS, "queue_samples", series.QUEUE_DELAY
    )


class TcpQuery(BinnedQuery, _SocketSamplesQuery):
    """Which samples of sockets."""


class QueuesQuery(BinnedQuery, _QueueSamplesQuery):
    """Which samples of qdiscs."""


class FlowsQuery(ThinnedQuery, _FlowsByName):
    """Which flows over bins."""


class TransfersQuery(TimeRangeQuery, _FlowsByName):
    """Which flows' transfers."""


class TraceAddress(RunAddress):
    """The stored trace of a run that an address names."""

    number: int = Field(description="number of the trace, from 1", examples=[1])


class TraceTableAddress(TraceAddress):
    """The table of a trace that an address names."""

    table: str = Field(description=f"one of {', '.join(TABLE_NAMES)}", examples=["acks"])


class MomentsQuery(TimeRangeQuery, _FlowsByName):
    """Which of the moments."""

    kind: Annotated[tuple[str, ...], Texts(MOST_GIVEN, "kinds")] = Field(
        default=(), description="only this cause, such as `full queue`; without it, all"
    )
    trace: Annotated[int | None, WholeNumber(1, MOST_FIRST)] = Field(
        default=None, description="only by the trace of this number; without it, by all that tell"
    )
    first: Annotated[int, WholeNumber(0, MOST_FIRST)] = Field(
        default=0, description="place of the first moment, from 0"
    )
    most: Annotated[int, WholeNumber(1, MOST_MOMENTS)] = Field(
        default=MOST_MOMENTS, description="number of moments"
    )


class SequenceQuery(ThinnedQuery):
    """Which flow's segments."""

    flow: str = Field(default="", description="name or index of a flow of TCP; empty: the first")


class TracedQueueQuery(ThinnedQuery):
    """Which queue packet by packet."""

    link: str = Field(
        default="",
        description="such as `core:forward` or `core`; empty: the first bottleneck with data",
    )


class TraceRowsQuery(Query):
    """Which rows of a table."""

    first: Annotated[int, WholeNumber(0, MOST_FIRST)] = Field(
        default=0, description="place of the first row, from 0"
    )
    most: Annotated[int, WholeNumber(1, MOST_ROWS)] = Field(
        default=1000, description="number of rows"
    )


class ExperimentAddress(AddressParts):
    """The experiment that an address names."""

    label: str = Field(
        description="`NAME@HASH`, of which HASH may be shortened; `NAME` alone is the experiment "
        "of that name with the most runs that ended well, and of several with as many the newest"
    )


class ExperimentsQuery(Query):
    """Which part of the experiments."""

    first: Annotated[int, WholeNumber(0, MOST_FIRST)] = Field(
        default=0, description="place of the first experiment, from 0"
    )
    most: Annotated[int, WholeNumber(1, MOST_EXPERIMENTS)] = Field(
        default=50, description="number of experiments"
    )


class SummaryQuery(Query):
    """What a summary is of; see `orchestrator summary`."""

    metric: Annotated[tuple[str, ...], Texts(MOST_GIVEN, "metrics")] = Field(
        default=(), description="name of a metric; without it, those of the short tables"
    )
    by: Annotated[tuple[str, ...], Texts(MOST_GIVEN, "axes")] = Field(
        default=(), description="axis between whose values differences are taken"
    )
    compare: Annotated[tuple[str, ...], Texts(MOST_GIVEN, "comparisons")] = Field(
        default=(),
        description="only differences of these flow entries, or of these values of one axis, with "
        "commas between, such as `mine,cubic`",
    )
    where: Annotated[tuple[str, ...], Texts(MOST_GIVEN, "conditions")] = Field(
        default=(), description="condition on variants, such as `limit<=1bdp`; all must hold"
    )
    entry: Annotated[tuple[str, ...], Texts(MOST_GIVEN, "flow entries")] = Field(
        default=(), description="only this flow entry; without it, all"
    )
    quantile: Annotated[tuple[float, ...], Shares(MOST_GIVEN, "quantiles")] = Field(
        default=(), description="also this quantile over repetitions, such as `0.9` or `90%`"
    )
    window: str = Field(default=WHOLE, description="a window of `measure`; empty: the whole run")
    drift: Annotated[str, OneOf(YES_OR_NO)] = Field(
        default="", description="`no` looks for no drifts, which need the samples of each run"
    )

    def wanted(self) -> ValueSelection:
        """Return which values to take."""
        parts = 0 if self.drift == "no" else PARTS
        return ValueSelection(self.metric, self.window, self.where, self.entry, parts=parts)


class PaperAddress(AddressParts):
    """The paper that an address names."""

    paper: str = Field(
        description="name of a paper, as `/api/papers` has it", examples=["westwoodplus"]
    )


class ClaimAddress(PaperAddress):
    """The claim that an address names."""

    claim: str = Field(description="id of a claim, or of one of its statements", examples=["W3"])


class CompareQuery(Query):
    """Runs to compare, or an experiment and some of its variants."""

    run: Annotated[tuple[str, ...], Texts(MOST_COMPARED, "runs")] = Field(
        default=(), description="id of a run, at least twice; the first is the base"
    )
    experiment: str | None = Field(
        default=None, description="in place of runs: `NAME` or `NAME@HASH`"
    )
    variant: Annotated[tuple[str, ...], Texts(MOST_VARIANTS, "variants")] = Field(
        default=(), description="with `experiment`: values by axis as a JSON object, at least twice"
    )
    repetition: Annotated[int | None, WholeNumber(0, MOST_FIRST)] = Field(
        default=None, description="with `experiment`: the repetition that stands for each variant"
    )


class DiffQuery(Query):
    """Two runs that may part."""

    run: Annotated[tuple[str, ...], Texts(2, "runs")] = Field(
        default=(), description="id of a run, twice: the first is `a`, the second `b`"
    )
