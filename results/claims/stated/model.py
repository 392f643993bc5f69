"""The claims of a paper: statements, the numbers of the paper, and what "holds" means.

A file has the paper, its experiments and its claims. A claim has statements, and a statement one
relation between values of ours and numbers of the paper, at one place or at several. Values are in
SI units times ``scale``. docs/claims has a page for each paper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, field_validator, model_validator

from orchestrator.kinds.fields import Slug, Strict
from results.metrics import METRICS

LENGTHS = ("reduced", "quick", "full")
Length = Literal["reduced", "quick", "full"]

Relation = Literal[
    "value", "range", "at-most", "at-least", "share", "factor", "ordering", "monotone"
]
"""What a statement says of our values:

- ``value``: it is the paper's, give or take the tolerance
- ``range``: it is between the paper's two numbers, widened by the tolerance
- ``at-most``, ``at-least``: it is not beyond the paper's number, moved by the tolerance
- ``share``: as value or range, of the value divided by ``whole``
- ``factor``: the ratio of the first of ``compare`` to the second is the paper's number or range
- ``ordering``: each of ``compare`` is above the next, by more than the tolerance
- ``monotone``: the value only falls or rises ``along`` an axis; a step of at most the tolerance the
  other way is allowed
"""


CENSORED = "convergence_time_s"
"""The metric whose value is unknown, but has a lower bound, where a run ends too soon."""


class Tolerance(Strict):
    """How far from the paper's number a value may be: a share of it, or in the value's unit."""

    share: float = Field(default=0.0, ge=0, description="of the paper's number")
    amount: float = Field(default=0.0, ge=0, description="in the unit of the statement")

    def around(self, number: float) -> float:
        """Return the room around a number of the paper."""
        return self.amount + self.share * abs(number)


def _tolerance(value: Any) -> Tolerance:
    if isinstance(value, Tolerance):
        return value
    if isinstance(value, str) and (match := re.fullmatch(r"([0-9.]+)%", value)):
        return Tolerance(share=float(match[1]) / 100)
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return Tolerance(amount=float(value))
    raise ValueError(f"{value!r} is no tolerance: write a share, such as 5%, or a number")


def _numbers(value: Any) -> tuple[float | None, float | None]:
    """Return a number as an equal pair; an end of a range that is not given is None."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), float(value)
    if isinstance(value, list | tuple) and len(value) == 2 and value != [None, None]:
        low, high = (None if end is None else float(end) for end in value)
        if low is None or high is None or low <= high:
            return low, high
    raise ValueError(f"{value!r} is neither a number nor a range [LOW, HIGH]")


Numbers = Annotated[tuple[float | None, float | None], PlainValidator(_numbers)]


class Quantity(Strict):
    """A value that each run gives; what is not given is taken from the statement's ``of``."""

    experiment: Slug | None = Field(default=None, description="which of the paper's experiments")
    metric: str | None = Field(default=None, description="a metric of results/metrics")
    sample: str | None = Field(
        default=None,
        description="in place of a metric: a column of the sender's samples, or input_rate_bps; "
        "on the metrics' grid, or every 100 ms what the grid does not have",
    )
    filter: Literal["westwood1", "westwood2", "westwood3", "csfq", "tibet"] | None = Field(
        default=None,
        description="in place of an experiment: the mean estimate of this filter over the true "
        "rate of the arrivals, computed without a network (``kmods/filters.py``)",
    )
    arrivals: Literal["exponential", "rayleigh", "periodic"] | None = Field(
        default=None, description="the intervals between packets that the filter gets"
    )
    take: Literal["mean", "median", "least", "largest", "deviation"] | None = Field(
        default=None, description="what is made of the samples in the window"
    )
    flows: tuple[Slug, ...] | None = Field(
        default=None, strict=False, description="flow entries; the run's own metric when empty"
    )
    over: Literal["mean", "sum", "least", "largest", "jain", "deviation"] | None = Field(
        default=None, description="what is made of the values of the entries' flows"
    )
    window: Slug | None = Field(default=None, description="a window of the scenario's `measure`")
    where: dict[str, Any] = Field(
        default_factory=dict, description="the variant, value by axis; null takes an axis back"
    )
    scale: float | None = Field(
        default=None, strict=False, description="what the value is multiplied by"
    )
    at_least: bool | None = Field(
        default=None,
        description="of the metric convergence_time_s, in an ordering: where the flows of a run do "
        "not converge, the time that they had for it is the value of the upper one, so that the "
        "ratio is at least what is computed",
    )
    plus: Quantity | None = Field(default=None, description="a value of the same run to add")

    def with_defaults(self, base: Quantity) -> Quantity:
        """Return this quantity with what it leaves open taken from ``base``."""
        values: dict[str, Any] = {
            name: getattr(base, name) if getattr(self, name) is None else getattr(self, name)
            for name in type(self).model_fields
        }
        where = {**base.where, **self.where}
        values["where"] = {axis: value for axis, value in where.items() if value is not None}
        if self.metric is not None:
            values |= {"sample": None, "take": None}
        elif self.sample is not None:
            values["metric"] = None
        return Quantity.model_construct(**values)


class ComparedQuantity(Strict):
    """One of the values that are compared with each other."""

    name: str = Field(description="what it is")
    of: Quantity = Field(default_factory=Quantity, description="the value")


class StatementCase(Strict):
    """One place at which the statement is tested."""

    label: str = Field(description="what distinguishes it from the others")
    of: Quantity = Field(default_factory=Quantity, description="the value")
    paper: Numbers | None = Field(default=None, description="the paper's number here")


class AlongAxis(Strict):
    """An axis with the values at which a statement is tested."""

    axis: str = Field(description="an axis of the scenario")
    values: tuple[Any, ...] = Field(strict=False, description="its values, in their order")


class Statement(Strict):
    """What the paper states, and what of ours agrees with it."""

    id: str = Field(pattern=r"^[WLTB][0-9]+\.[0-9]+$", description="such as W3.1")
    says: str = Field(description="the statement in our words")
    place: str = Field(description="section, figure or table of the paper")
    cannot: str | None = Field(default=None, description="why it cannot be tested here")
    in_part: str | None = Field(default=None, description="why it is testable in part only")
    cause: str | None = Field(
        default=None, description="why it does not hold here, with the run that shows it"
    )
    relation: Relation | None = Field(default=None, description="see Relation")
    paper: Numbers | None = Field(default=None, description="the paper's number or range")
    tolerance: Annotated[Tolerance, PlainValidator(_tolerance)] | None = Field(
        default=None, description="how far from the paper's number still holds"
    )
    reason: str | None = Field(default=None, description="why this tolerance")
    unit: str = Field(default="", description="unit of the paper's number")
    of: Quantity = Field(default_factory=Quantity, description="the value")
    whole: float | None = Field(default=None, strict=False, description="what a share is of")
    compare: tuple[ComparedQuantity, ...] = Field(
        default=(), strict=False, description="for ordering, the largest first"
    )
    direction: Literal["falls", "rises"] | None = Field(default=None, description="of monotone")
    along: AlongAxis | None = Field(default=None, description="one case for each value of an axis")
    across: Literal["largest", "least", "mean"] | None = Field(
        default=None,
        description="judge one value of all: the largest or least of their means, or their mean",
    )
    cases: tuple[StatementCase, ...] = Field(
        default=(), strict=False, description="places of the test"
    )

    @property
    def claim(self) -> str:
        """The id of the claim that it belongs to."""
        return self.id.partition(".")[0]

    @model_validator(mode="after")
    def _complete(self) -> Statement:
        if self.cannot is not None:
            if self.relation is not None:
                raise ValueError(f"{self.id}: `cannot` goes without a `relation`")
            return self
        if self.relation is None or self.tolerance is None or not self.reason:
            raise ValueError(f"{self.id}: `relation`, `tolerance` and its `reason` are missing")
        allowed = {"factor": (2, 2), "ordering": (2, 99)}.get(self.relation, (0, 0))
        if not allowed[0] <= len(self.compare) <= allowed[1]:
            raise ValueError(
                f"{self.id}: {self.relation} has {len(self.compare)} values to compare"
            )
        if (self.relation == "monotone") != (self.direction is not None):
            raise ValueError(f"{self.id}: `direction` belongs to monotone, which needs it")
        if self.relation == "monotone" and self.along is None:
            raise ValueError(f"{self.id}: monotone needs `along`")
        if (self.relation == "share") != (self.whole is not None):
            raise ValueError(f"{self.id}: `whole` belongs to share, which needs it")
        cases, compared = (case.of for case in self.cases), (one.of for one in self.compare)
        places = (self.of, *cases, *compared)
        is_censored = (self.relation, self.of.metric) == ("ordering", CENSORED)
        if any(place.at_least for place in places) and not is_censored:
            raise ValueError(f"{self.id}: `at_least` is of an ordering of {CENSORED}")
        numbers = (
            [self.paper] if not self.cases else [case.paper or self.paper for case in self.cases]
        )
        if self.relation not in ("ordering", "monotone") and None in numbers:
            raise ValueError(f"{self.id}: {self.relation} needs the paper's number")
        return self


class Ablation(Strict):
    """A change of the set-up that may explain why statements do not hold.

    The statements' experiments run again with other values; see ``results.claims.stated.ablation``.
    """

    name: Slug = Field(description="unique in the claim")
    says: str = Field(description="what is changed")
    asks: str = Field(description="what its runs tell, written before they are made")
    of: tuple[str, ...] = Field(strict=False, min_length=1, description="ids of statements")
    set: tuple[str, ...] = Field(strict=False, min_length=1, description="as `--set` of `run`")
    instead: dict[str, str] = Field(
        default_factory=dict, description="congestion controls by those that they stand in for"
    )
    least: int = Field(default=3, ge=2, description="repetitions of each variant")


class ClaimFigure(Strict):
    """A figure in docs/claims, of statements whose numbers the paper's text gives."""

    of: tuple[str, ...] = Field(strict=False, min_length=1, description="ids, all of one unit")
    title: str = Field(description="what it shows, with the quantity on its axis")


class Claim(Strict):
    """A claim of the paper and its statements."""

    says: str = Field(description="the claim in our words")
    statements: tuple[Statement, ...] = Field(strict=False, min_length=1, description="its parts")
    figures: tuple[ClaimFigure, ...] = Field(
        default=(), strict=False, description="the paper's numbers beside ours"
    )
    ablations: tuple[Ablation, ...] = Field(
        default=(), strict=False, description="runs that look for causes"
    )
    notes: tuple[str, ...] = Field(
        default=(), strict=False, description="what else was measured of it"
    )

    @model_validator(mode="after")
    def _ablated(self) -> Claim:
        names = [ablation.name for ablation in self.ablations]
        if len(set(names)) < len(names):
            raise ValueError(f"two ablations have one name: {', '.join(names)}")
        known = {statement.id for statement in self.statements if statement.cannot is None}
        for ablation in self.ablations:
            if unknown := [id_ for id_ in ablation.of if id_ not in known]:
                raise ValueError(f"ablation {ablation.name}: no statement {unknown[0]} to test")
        units = {
            statement.id: statement.unit
            for statement in self.statements
            if statement.cannot is None
        }
        for figure in self.figures:
            if unknown := [id_ for id_ in figure.of if id_ not in units]:
                raise ValueError(f"figure {figure.title}: no statement {unknown[0]} to draw")
            if len({units[id_] for id_ in figure.of}) > 1:
                raise ValueError(f"figure {figure.title}: its statements differ in their units")
        return self


class LengthSettings(Strict):
    """What an experiment sets at one length, and how often each variant is repeated."""

    set: tuple[str, ...] = Field(default=(), strict=False, description="as `--set` of `run`")
    least: int = Field(default=1, ge=1, description="repetitions of each variant")
    most: int | None = Field(
        default=None, ge=1, description="limit of repetitions where the first do not decide"
    )
    measures: str | None = Field(
        default=None, description="the time that counts, of the paper's, where it is a small part"
    )

    @property
    def limit(self) -> int:
        """The most repetitions of a variant."""
        return max(self.least, self.most or self.least)


class Design(Strict):
    """An experiment: a scenario file, and what each length changes in it.

    The reduced length is the scenario's reduced form. Variants that it leaves out are not tested.
    """

    scenario: str = Field(description="file below scenarios/papers")
    set: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="as `--set` of `run`, at each length but the reduced one",
    )
    why: str = Field(default="", description="why values are set")
    reduced: LengthSettings = Field(
        default_factory=LengthSettings, description="seconds of wall time; no verdicts"
    )
    quick: LengthSettings = Field(description="what decides the statements soonest")
    full: LengthSettings = Field(description="the paper's size")

    def at(self, length: Length) -> LengthSettings:
        """Return the settings of a length."""
        settings: LengthSettings = getattr(self, length)
        return settings

    def overrides(self, length: Length) -> tuple[str, ...]:
        """Return the values to set at a length, in their order."""
        return (*(() if length == "reduced" else self.set), *self.at(length).set)


class Paper(Strict):
    """A paper with its claims by id."""

    title: str = Field(description="authors, title, where it appeared")
    experiments: dict[str, Design] = Field(description="by name")
    claims: dict[str, Claim] = Field(description="by id")

    @field_validator("claims")
    @classmethod
    def _ids(cls, claims: dict[str, Claim]) -> dict[str, Claim]:
        for name, claim in claims.items():
            expected = [f"{name}.{number + 1}" for number in range(len(claim.statements))]
            ids = [statement.id for statement in claim.statements]
            if ids != expected:
                raise ValueError(
                    f"{name}: statements are {', '.join(ids)}, not {', '.join(expected)}"
                )
        return claims

    @model_validator(mode="after")
    def _known(self) -> Paper:
        for statement in self.statements():
            for quantity in quantities(statement):
                self._require(statement, quantity)
        return self

    def _require(self, statement: Statement, quantity: Quantity) -> None:
        if quantity.filter is not None:
            if quantity.arrivals is None or quantity.experiment is not None:
                raise ValueError(f"{statement.id}: a `filter` needs `arrivals`, and no experiment")
            return
        if quantity.experiment not in self.experiments:
            raise ValueError(f"{statement.id}: there is no experiment {quantity.experiment}")
        if (quantity.metric is None) == (quantity.sample is None):
            raise ValueError(f"{statement.id}: give a `metric` or a `sample`")
        if quantity.sample is not None and (quantity.take is None or not quantity.flows):
            raise ValueError(f"{statement.id}: a `sample` needs `flows` and `take`")
        scope = "flow" if quantity.flows else "run"
        if quantity.metric is not None and (quantity.metric, scope) not in METRICS:
            raise ValueError(f"{statement.id}: there is no metric {quantity.metric} of a {scope}")
        if quantity.plus is not None:
            self._require(
                statement, quantity.plus.with_defaults(quantity.model_copy(update={"plus": None}))
            )

    def statements(self) -> Iterator[Statement]:
        """Yield all statements in their order."""
        for claim in self.claims.values():
            yield from claim.statements


def quantities(statement: Statement) -> list[Quantity]:
    """Return every value that a statement can need, with all that it takes from ``of``."""
    if statement.cannot is not None:
        return []
    bases = [case.of.with_defaults(statement.of) for case in statement.cases] or [statement.of]
    compared = [
        compared_quantity.of.with_defaults(base)
        for base in bases
        for compared_quantity in statement.compare
    ]
    return compared or bases
