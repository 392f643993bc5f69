"""What a scenario expects of its runs, and whether they meet it.

An expectation is of a metric of the run or of a flow entry, in each variant::

    - {metric: jain_index, above: 0.9}
    - {metric: goodput_bps, flow: new, above: {flow: old, factor: 0.9}, where: {limit: 1bdp}}
    - {metric: queue_delay_mean_s, below: 20ms, over: every}

``over: mean`` expects it of the mean over repetitions: the whole confidence interval must lie on
the right side. ``over: every`` expects it of each repetition. Another flow entry is compared run by
run, so what both have in common does not widen the interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from orchestrator.kinds.fields import Path, Probability, Slug, Strict
from orchestrator.units import listed
from orchestrator.units import shown as quoted
from results.experiment.experiments import Experiment
from results.experiment.names import MetricName, ScenarioNames
from results.experiment.observations import ValueSelection, VariantValues, observe
from results.experiment.values import Subject
from results.matrix.axes import Where, conditions, number
from results.metrics import any_scope, find
from results.metrics.base import Scope
from results.records.model import WHOLE, Variant
from results.statistics.estimates import CONFIDENCE, estimate
from results.store.store import Store


class OtherFlow(Strict):
    """The value of another flow entry in the same run, times a factor."""

    flow: Slug = Field(description="flow entry")
    factor: float = Field(default=1.0, strict=False, description="what its value is multiplied by")


def _bound(value: Any) -> Any:
    if isinstance(value, Mapping):
        return OtherFlow.model_validate(value)
    if number(value) is None:
        raise ValueError(
            f"{quoted(value)} is no bound: write a number in SI units, a quantity such as 20ms, or "
            "{flow: ENTRY, factor: NUMBER}"
        )
    return value


Bound = Annotated[
    Any,
    PlainValidator(_bound),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number"},
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {
                        "flow": {"type": "string", "description": "flow entry"},
                        "factor": {
                            "type": "number",
                            "description": "what its value is multiplied by",
                        },
                    },
                    "required": ["flow"],
                    "additionalProperties": False,
                },
            ],
            "examples": ["4mbit", 0.9],
        }
    ),
]
"""A number in SI units, a quantity, or an OtherFlow."""


LARGEST_SHARE = 2.0
"""No share exceeds this. A utilisation may exceed 1 in a short window, by a burst."""


class Expectation(Strict):
    """What is expected of a metric in each variant; one of `above`, `below` and `near`."""

    metric: MetricName = Field(description="the metric, such as `goodput_bps`")
    flow: Slug | None = Field(
        default=None, description="flow entry whose metric it is; the run's own when not given"
    )
    window: Slug | None = Field(default=None, description="the metrics of this window")
    where: Where = Field(
        default_factory=dict,
        description="only in variants with these values by axis, or that fit a condition",
    )
    above: Bound | None = Field(default=None, description="it is larger than this")
    below: Bound | None = Field(default=None, description="it is smaller than this")
    near: Bound | None = Field(default=None, description="it is this, give or take `tolerance`")
    tolerance: Probability | None = Field(
        default=None, description="share of `near` by which it may differ, such as 5%"
    )
    over: Literal["mean", "every"] | None = Field(
        default=None,
        description="whether the mean over repetitions has to meet it, with its whole confidence "
        "interval, or the value of every repetition; the mean if there are several",
    )
    confidence: Probability = Field(
        default=CONFIDENCE, description="of the interval of the mean, such as 99%"
    )

    @model_validator(mode="after")
    def _one_bound(self) -> Expectation:
        given = [name for name in ("above", "below", "near") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"give one of `above`, `below` and `near`, not {listed(given) or 'none'}"
            )
        if (self.near is None) != (self.tolerance is None):
            raise ValueError("`near` and `tolerance` go together")
        if isinstance(self.near, OtherFlow):
            raise ValueError("`near` takes a number: compare with a flow by `above` and `below`")
        if not 0 < self.confidence < 1:
            raise ValueError("`confidence` must be above 0% and below 100%")
        scope: Scope = "run" if self.flow is None else "flow"
        if find(self.metric, scope) is None:
            missing = "the run has" if scope == "run" else "flows have"
            hint = ": name a `flow`" if scope == "run" else ""
            raise ValueError(f"{missing} no metric {self.metric}{hint}")
        self._in_unit(getattr(self, given[0]))
        return self

    def _in_unit(self, bound: Any) -> None:
        if isinstance(bound, OtherFlow):
            if self.flow is None:
                raise ValueError("the metric of the run is compared with a number, not with a flow")
            return
        value, unit = number(bound) or (0.0, "")
        metric = any_scope(self.metric)
        if unit not in ("1", metric.unit):
            raise ValueError(f"{quoted(bound)} is in {unit}, and {self.metric} in {metric.unit}")
        if metric.format == "percent" and value > LARGEST_SHARE:
            raise ValueError(
                f"{self.metric} is a share, never {value:g}: write {value:g}% or {value / 100:g}"
            )

    @property
    def bound(self) -> Any:
        """The bound that is given."""
        return next(x for x in (self.above, self.below, self.near) if x is not None)

    @property
    def text(self) -> str:
        """The expectation in words."""
        bound = self.bound
        if isinstance(bound, OtherFlow):
            times = "" if bound.factor == 1 else f"{bound.factor:g} x "
            bound = f"{times}that of {bound.flow}"
        word = "above" if self.above is not None else "below" if self.below is not None else "near"
        close = "" if self.tolerance is None else f" ± {self.tolerance:.4g} x"
        of = f"{self.flow}: " if self.flow is not None else ""
        within = f" in {self.window}" if self.window is not None else ""
        return f"{of}{self.metric}{within} {word} {bound}{close}"

    def faults(self, names: ScenarioNames) -> Iterator[tuple[Path, str]]:
        """Yield (path inside the expectation, message) for what the scenario does not have."""
        yield from names.where_faults(self.where)
        if self.flow is not None:
            yield from names.flow_faults(("flow",), self.flow)
        if isinstance(self.bound, OtherFlow):
            where = "above" if self.above is not None else "below"
            yield from names.flow_faults((where,), self.bound.flow)
        if self.window is not None:
            yield from names.window_faults(("window",), self.window)


@dataclass(frozen=True)
class ExpectationResult:
    """What an expectation finds in a variant.

    ``expectation`` is its text. ``mean``, ``low`` and ``high`` are of the value, or of its
    difference from the other flow's, over ``n`` runs. ``reason`` says why it is not met, and
    ``contradicted`` tells that all of the interval, or a repetition, is on the wrong side.
    """

    expectation: str
    metric: str
    flow: str | None
    variant: Variant
    over: Literal["mean", "every"]
    mean: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None
    contradicted: bool = False

    @property
    def met(self) -> bool:
        """Whether the variant meets it."""
        return self.reason is None


def evaluate(
    store: Store, experiment: Experiment, expectations: Sequence[Expectation]
) -> list[ExpectationResult]:
    """Return an entry for each expectation and variant."""
    entries = []
    for expectation in expectations:
        selection = ValueSelection(
            (expectation.metric,), expectation.window or WHOLE, conditions(expectation.where)
        )
        groups, _axes = observe(store, experiment, selection)
        entries += [_judged(expectation, group) for group in groups]
    return entries


def _judged(expectation: Expectation, group: VariantValues) -> ExpectationResult:
    values, bound = _values(expectation, group), expectation.bound
    limit = 0.0 if isinstance(bound, OtherFlow) else (number(bound) or (0.0, ""))[0]
    over = expectation.over or ("mean" if len(values) > 1 else "every")
    mean = estimate(values, expectation.confidence)
    without = len(group.runs) - len(values)
    if mean is None:
        reason: str | None = "no run has a value"
    elif without:
        verb = "has" if without == 1 else "have"
        reason = f"{without} of {len(group.runs)} runs {verb} no value"
    elif over == "every":
        wrong = [value for value in values if not _meets(expectation, value, value, limit)]
        reason = f"{len(wrong)} of {len(values)} runs are not: {wrong[0]:.6g}" if wrong else None
    elif mean.low is None or mean.high is None:
        reason = "a single run has no interval"
    elif not _meets(expectation, mean.low, mean.high, limit):
        reason = f"its interval is {mean.low:.6g} to {mean.high:.6g}"
    else:
        reason = None
    return ExpectationResult(
        expectation.text,
        expectation.metric,
        expectation.flow,
        group.variant,
        over,
        None if mean is None else mean.mean,
        None if mean is None else mean.low,
        None if mean is None else mean.high,
        len(values),
        reason,
        reason is not None and _contradicts(expectation, over, values, limit),
    )


def _contradicts(
    expectation: Expectation, over: str, values: Sequence[float], limit: float
) -> bool:
    """Tell whether an expectation that is not met is certainly not: more runs do not change it."""
    mean = estimate(values, expectation.confidence)
    if mean is None:
        return False
    if over == "every":
        return any(not _meets(expectation, value, value, limit) for value in values)
    if mean.low is None or mean.high is None:
        return False
    if expectation.above is not None:
        return mean.high <= limit
    if expectation.below is not None:
        return mean.low >= limit
    room = (expectation.tolerance or 0.0) * abs(limit)
    return mean.high < limit - room or mean.low > limit + room


def _values(expectation: Expectation, group: VariantValues) -> list[float]:
    """Return the value of each run, less that of the other flow in the same run."""
    subject = Subject(flow=expectation.flow)
    own = group.values.get((subject, expectation.metric), [])
    if not isinstance(expectation.bound, OtherFlow):
        return [each.value for each in own]
    other = expectation.bound
    others = {
        each.run: each.value
        for each in group.values.get((Subject(flow=other.flow), expectation.metric), [])
    }
    return [each.value - other.factor * others[each.run] for each in own if each.run in others]


def _meets(expectation: Expectation, low: float, high: float, limit: float) -> bool:
    if expectation.above is not None:
        return low > limit
    if expectation.below is not None:
        return high < limit
    room = (expectation.tolerance or 0.0) * abs(limit)
    return limit - room <= low and high <= limit + room
