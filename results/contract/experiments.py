"""Experiments: the list of them, one with its grid of runs, and its summary."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from results.contract.base import Number, ResponseModel, Variant, Versioned
from results.records.model import State


class AxisNames(ResponseModel):
    """What an axis of the scenario's matrix is called."""

    path: str = Field(description="of an axis with named values its name")
    paths: list[str] = Field(description="what its values set")
    label: str = Field(description="the shortest end of the path that names one axis")


class ListedAxis(AxisNames):
    """An axis of the scenario's matrix."""

    values: list[Any]
    sets: dict[str, Variant] | None = Field(
        description="of an axis with named values: what each sets, by name and path"
    )


class Axis(AxisNames):
    """An axis with its values as numbers."""

    unit: str | None = Field(description="unit of the numbers")
    values: list[Any]
    numbers: list[float] | None = Field(description="null: the values are no quantities")
    sets: dict[str, Variant] | None = Field(
        description="of an axis with named values: what each sets, by name and path"
    )


class Experiment(ResponseModel):
    """Runs of one scenario, kernel and set of modules."""

    name: str
    identity: str = Field(description="SHA-256 over what its runs have in common, in hexadecimal")
    axes: list[ListedAxis]
    variants: int
    runs: int
    failed: int = Field(
        description="number of runs that failed or were interrupted and that no other one replaces"
    )
    unfaithful: int
    link_model: int = Field(description="version of the emulated links")
    backend: str
    newest_utc: str = Field(description="ISO 8601: when its newest run began")
    label: str | None = Field(default=None, description="of a page: `NAME@HASH`")
    question: str | None = Field(default=None, description="of a page: what the scenario asks")
    repetitions: int | None = Field(default=None, description="of a page")
    states: dict[State, int] | None = Field(
        default=None, description="of a page: number of runs by what became of them"
    )
    cells: list[list[State | None]] | None = Field(
        default=None,
        description="of a page: states of the first 12 variants and 40 repetitions; null: no run",
    )
    tags: list[str] | None = Field(default=None, description="of a page: tags of its runs")
    notes: int | None = Field(default=None, description="of a page: number of different notes")


class Experiments(Versioned):
    """Experiments by the times of their first runs; those of a page by those of their newest."""

    experiments: list[Experiment]
    first: int | None = Field(default=None, description="of a page: place of its first experiment")
    total: int | None = Field(default=None, description="of a page: number of all experiments")


class Cell(ResponseModel):
    """The newest run of a variant and a repetition."""

    id: str
    state: State


class Grid(ResponseModel):
    """The runs of an experiment by variant (a line) and repetition (a column)."""

    variants: list[Variant] = Field(description="in the order of the axes")
    repetitions: list[int]
    lines: list[list[Cell | None]] = Field(description="null where there is no run")


class OneExperiment(Experiment, Versioned):
    """An experiment with all that its page chooses from."""

    grid: Grid
    metrics: list[str] = Field(description="metrics of which its newest runs have values")
    windows: list[str] = Field(description="windows of `measure`")
    others: list[str] = Field(description="labels of other experiments of that name")
    scenario_text: str = Field(description="the file of its newest run, as it was")


class LeftOut(ResponseModel):
    """Number of runs that do not count."""

    unfaithful: int
    failed: int
    identical: int = Field(description="equal to the bit to another one, which counts")


class Quantile(ResponseModel):
    """A quantile over repetitions with its 95% interval."""

    value: float
    low: Number
    high: Number
    n: int


class QuantileShare(ResponseModel):
    """Which quantile it is."""

    share: float = Field(description="above 0, below 1; 0.5 is the median")


class ShareQuantile(Quantile, QuantileShare):
    """A quantile that was asked for."""


class Estimate(ResponseModel):
    """A mean over repetitions with its 95% interval, in the metric's unit."""

    mean: Number
    low: Number
    high: Number
    sd: Number = Field(description="standard deviation")
    n: int
    rule: Literal["student", "stein"] = Field(description="how the interval was made")
    of: int = Field(description="number of runs that count, of which `n` have a value")
    flows_n: int = Field(description="number of flows with a value, in all runs")
    flows_of: int = Field(description="number of flows, in all runs")
    finished: Number = Field(
        description="share of transfers that ended in time, of metrics that only these have"
    )


class Mean(Estimate):
    """A metric over repetitions; `mean` is null where no run has a value."""

    drifting: bool | None = Field(description="null: not looked for")
    rise: Number = Field(description="change over the window, as a share of the mean")
    steady_from_s: Number = Field(description="seconds since the start of traffic")
    median: Quantile | None
    values: list[Number] = Field(description="one of each run")
    runs: list[str] = Field(description="ids, in the order of the values")
    quantiles: list[ShareQuantile]


class SummaryRow(ResponseModel):
    """The values of a variant: of a flow entry, of a link, or of the run where both are null."""

    variant: Variant
    flow: str | None
    link: str | None
    n: int = Field(description="number of runs that count")
    left_out: LeftOut
    metrics: dict[str, Mean] = Field(description="by name")


class Contrast(ResponseModel):
    """The difference `b - a` of two means with its 95% interval, in the metric's unit."""

    mean: Number
    low: Number
    high: Number
    p: Number
    p_holm: Number = Field(description="p with Holm's correction over the family")
    effect: Number = Field(description="in standard deviations")
    method: Literal["paired", "welch"]
    paired_n: int = Field(description="number of pairs; 0: samples are independent")
    a_n: int
    b_n: int
    low_family: Number = Field(
        description="end of the interval that holds with 95% together with all of its family"
    )
    high_family: Number
    p_family: Number = Field(description="p times the size of the family, at most 1")
    family_n: int = Field(
        description="size of the family: the differences of the metric that are of flow entries, "
        "or along one axis, without those of equal values"
    )
    label: str = Field(description="what the interval of the family shows")


class ComparedValues(ResponseModel):
    """What a difference is of."""

    variant: Variant
    axis: str | None = Field(description="path; null: of flow entries")
    flow: str | None
    a: str
    b: str
    metric: str


class Difference(Contrast, ComparedValues):
    """The difference of a metric of two flow entries, or of two values of an axis."""


class Crossing(ResponseModel):
    """Where on an axis of numbers the flow entry `b` overtakes `a`."""

    variant: Variant
    axis: str = Field(description="path")
    a: str
    b: str
    metric: str
    mean: Number = Field(description="in the unit of the axis")
    low: Number
    high: Number
    n: int = Field(description="number of repetitions with one such place")
    of: int = Field(description="number of repetitions")


class Summary(Versioned):
    """The summary of an experiment, as `orchestrator summary --json` prints it."""

    experiment: str
    identity: str
    window: str | None
    axes: list[Axis]
    without_values: list[str] = Field(description="metrics that no run has")
    rows: list[SummaryRow]
    differences: list[Difference]
    crossings: list[Crossing]
