"""A criterion as data: what is asked of a congestion control, why, and which runs tell.

The scenario is in the scenario language. The flow entries under test have `congestion: candidate`,
and those of a standard control beside them `congestion: reference`. Its reduced form is the quick
one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from orchestrator.kinds.fields import Slug, Strict
from orchestrator.units import shown
from results.experiment.names import MetricName
from results.matrix.axes import Where, number
from results.metrics import METRICS, Metric
from results.metrics.base import Scope

CANDIDATE = "candidate"
REFERENCE = "reference"

STANDARD = ("reno", "cubic")
"""Controls of RFCs on the standards track: RFC 5681 and RFC 9438."""

Level = Literal["must", "should"]
Relation = Literal["at least", "at most"]
Group = Literal["rfc9743", "tcpeval"]
"""Criteria of RFC 9743 are those of a card; others are run where `--only` names them."""


class Source(Strict):
    """Where a document asks for it."""

    document: str = Field(description="such as RFC 9743")
    section: str = Field(description="section of the document")
    says: str = Field(description="what it says there, in a few words")

    @property
    def text(self) -> str:
        """The source on one line."""
        place = f"section {self.section}" if self.section[:1].isdigit() else self.section
        return f"{self.document}, {place}: {self.says}"


class Row(Strict):
    """One thing that is asked: a metric, and a bound on its mean.

    With ``of``, the bound is a factor of what that control gives in the same cell.
    """

    id: Slug = Field(description="unique in the criterion")
    asks: str = Field(description="what is asked, as a sentence")
    metric: MetricName = Field(description="the metric, such as `goodput_bps`")
    flow: Slug | None = Field(default=None, description="flow entry; the run when not given")
    window: Slug | None = Field(default=None, description="window of the scenario")
    where: Where = Field(default_factory=dict, description="only in these variants")
    relation: Relation = Field(description="on which side of the bound the mean must be")
    of: Literal["cubic", "reno", "reference"] | None = Field(
        default=None,
        description="the control whose value is multiplied by the bound; `reference` is the one "
        "beside the candidate, beside itself",
    )
    references: Literal["standard", "other"] | None = Field(
        default=None, description="only beside references that are standard, or are not"
    )
    bound: float | str = Field(description="what is asked: a quantity, or a factor with `of`")
    limit: float | str | None = Field(
        default=None,
        description="beyond this it is not met; between both it is met with limits",
    )
    allowance: float | str = Field(
        default=0.0, description="by so much a value may be worse than the factor says"
    )
    level: Level = Field(default="must", description="what it costs not to meet it")
    reason: str = Field(description="why the bound and the limit are what they are")

    @property
    def scope(self) -> Scope:
        """The scope of the metric."""
        return "run" if self.flow is None else "flow"

    @property
    def definition(self) -> Metric:
        """The metric."""
        return METRICS[self.metric, self.scope]

    @property
    def asked(self) -> float:
        """The bound as a number."""
        return _number(self.bound)

    @property
    def most(self) -> float:
        """The limit as a number; the bound where there is none."""
        return self.asked if self.limit is None else _number(self.limit)

    @property
    def allowed(self) -> float:
        """The allowance in the metric's unit."""
        return _number(self.allowance)

    def is_of(self, reference: str | None) -> bool:
        """Tell whether the row is asked beside a reference, None where there is none."""
        if self.references is None or reference is None:
            return True
        return (reference in STANDARD) == (self.references == "standard")

    @model_validator(mode="after")
    def _sound(self) -> Row:
        if (self.metric, self.scope) not in METRICS:
            raise ValueError(f"{self.id}: there is no metric {self.metric} of a {self.scope}")
        unit = self.definition.unit
        for name, value in (("bound", self.bound), ("limit", self.limit)):
            _require_unit(f"{self.id}: {name}", value, "1" if self.of else unit)
        _require_unit(f"{self.id}: allowance", self.allowance, unit)
        if self.allowed and not self.of:
            raise ValueError(f"{self.id}: `allowance` needs `of`")
        stricter = self.most < self.asked if self.relation == "at most" else self.most > self.asked
        if stricter:
            raise ValueError(f"{self.id}: the limit is stricter than the bound")
        return self


def _number(value: float | str) -> float:
    found = number(value)
    return 0.0 if found is None else found[0]


def _require_unit(what: str, value: float | str | None, unit: str) -> None:
    if value is None:
        return
    found = number(value)
    if found is None or found[1] not in ("1", unit):
        raise ValueError(f"{what}: {shown(value)} is no quantity in {unit}")


class Criterion(Strict):
    """A criterion of the report card."""

    group: Group = Field(
        default="rfc9743", description="criteria that are run together; `--only` takes its name"
    )
    of_code: bool = Field(
        default=False,
        description="asks the code of a user's module: in full evaluations of folders alone, with "
        "drawn parameters and builds on each kernel that is here",
    )
    title: str
    asks: str = Field(description="what is asked, as a sentence")
    sources: list[Source] = Field(min_length=1)
    quick_leaves_out: str = Field(description="what the quick form does not run")
    failed_runs: Literal["leave out", "decide"] = Field(
        default="leave out",
        description="decide: a cell with a failed run of the candidate is not met",
    )
    rows: list[Row] = Field(min_length=1)
    files: list[str] = Field(default_factory=list, description="that the scenario names, beside it")
    scenario: dict[str, Any] = Field(description="in the scenario language")

    @property
    def mixed(self) -> bool:
        """Whether references run beside the candidate."""
        return bool(self.entries(REFERENCE))

    @property
    def baselines(self) -> list[str]:
        """The controls that rows compare with, whatever the user names."""
        named = [row.of for row in self.rows if row.of not in (None, REFERENCE)]
        return list(dict.fromkeys(str(name) for name in named))

    def named_values(self, quick: bool) -> dict[str, Mapping[str, Any]]:
        """Return the axes of the matrix whose values have names, with what these stand for."""
        matrix = dict(self.scenario.get("matrix", {}))
        if quick:
            reduced: Mapping[str, Any] = self.scenario["reduced"]
            matrix = dict(reduced.get("matrix", matrix))
            matrix |= {
                path.removeprefix("matrix."): values
                for path, values in reduced.items()
                if path.startswith("matrix.")
            }
        return {axis: values for axis, values in matrix.items() if isinstance(values, Mapping)}

    def entries(self, placeholder: str) -> list[str]:
        """Return the flow entries that have a placeholder as their congestion control."""
        return [flow["name"] for flow in _flows(self.scenario)
                if flow.get("congestion") == placeholder]  # fmt: skip

    @model_validator(mode="after")
    def _sound(self) -> Criterion:
        names = [str(flow.get("name")) for flow in _flows(self.scenario)]
        windows = [window.get("name") for window in self.scenario.get("measure", [])]
        if not self.entries(CANDIDATE):
            raise ValueError(f"no flow entry has `congestion: {CANDIDATE}`")
        if not isinstance(self.scenario.get("reduced"), Mapping):
            raise ValueError("the scenario has no reduced form, which is the quick one")
        ids = [row.id for row in self.rows]
        if len(set(ids)) < len(ids):
            raise ValueError("two rows have one id")
        for row in self.rows:
            if row.flow is not None and row.flow not in names:
                raise ValueError(f"{row.id}: there is no flow entry {row.flow}")
            if row.window is not None and row.window not in windows:
                raise ValueError(f"{row.id}: there is no window {row.window}")
            if not self.mixed and (row.of == REFERENCE or row.references is not None):
                raise ValueError(f"{row.id}: no flow entry has `congestion: {REFERENCE}`")
            if self.mixed and row.of not in (None, REFERENCE):
                raise ValueError(f"{row.id}: beside references, `of` can only be `{REFERENCE}`")
        return self


def _flows(scenario: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    flows = scenario.get("flows")
    return [flow for flow in flows if isinstance(flow, Mapping)] if isinstance(flows, list) else []
