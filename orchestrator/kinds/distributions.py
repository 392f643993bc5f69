"""Describes random quantities of a traffic source; protocol/random_quantities.py draws them."""

from __future__ import annotations

import math
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from orchestrator.kinds.fields import Duration, Size, Strict, located
from orchestrator.protocol.specification import QuantitySpec

T = TypeVar("T")


class Distribution(Strict, Generic[T]):
    """A quantity that is fixed, or drawn from a distribution; a value alone is a fixed one.

    Pareto: P(X > x) = (least / x)^shape with least = mean (shape - 1) / shape. Up to a shape of 2
    its variance is infinite, so means over a run converge slowly. Lognormal: the logarithm is
    normal, of the variance ln(1 + deviation^2 / mean^2). Values above ``most`` are drawn again,
    which makes the mean smaller.
    """

    distribution: Literal["fixed", "exponential", "pareto", "lognormal"] = Field(
        default="fixed", description="distribution of the values; fixed is always the mean"
    )
    mean: T = Field(description="mean, such as 100ms, before values above `most` are drawn again")
    shape: float | None = Field(
        default=None,
        gt=1,
        le=100,
        allow_inf_nan=False,
        description="tail index of a Pareto distribution; the mean exists above 1",
        validate_default=True,
    )
    deviation: T | None = Field(
        default=None, description="standard deviation of a lognormal distribution"
    )
    most: T | None = Field(
        default=None,
        description="largest value, above the mean; larger ones are drawn again; unbounded when "
        "not given",
    )

    @model_validator(mode="before")
    @classmethod
    def _mean_alone(cls, data: Any) -> Any:
        return data if isinstance(data, dict | Distribution) else {"mean": data}

    @field_validator("shape")
    @classmethod
    def _of_pareto_alone(cls, shape: float | None, info: ValidationInfo) -> float | None:
        distribution = info.data.get("distribution")
        if distribution == "pareto" and shape is None:
            raise ValueError("a Pareto distribution needs a `shape` above 1, such as 1.5")
        if distribution not in ("pareto", None) and shape is not None:
            raise ValueError(f"only a Pareto distribution has a shape, not {distribution}")
        return shape

    @model_validator(mode="after")
    def _fitting(self) -> Distribution[T]:
        mean, most = _number(self.mean), _number(self.most)
        problems: list[tuple[tuple[str | int, ...], str]] = []
        if self.distribution == "lognormal" and self.deviation is None:
            problems.append((("deviation",), "a lognormal distribution needs a `deviation`"))
        if self.distribution != "lognormal" and self.deviation is not None:
            problems.append(
                (("deviation",), f"only a lognormal distribution has one, not {self.distribution}")
            )
        if most is not None and self.distribution == "fixed":
            problems.append((("most",), "a fixed quantity is always its mean"))
        elif most is not None and mean is not None and most <= mean:
            problems.append((("most",), "must be above the mean"))
        if problems:
            raise located(problems)
        return self

    @model_serializer(mode="wrap")
    def _gather(self, handler: SerializerFunctionWrapHandler) -> Any:
        distribution = handler(self)
        return distribution["mean"] if self.distribution == "fixed" else distribution

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = handler(schema)
        mean = dict(handler.resolve_ref_schema(whole)["properties"]["mean"])
        for key in ("description", "title"):
            mean.pop(key, None)
        return {"anyOf": [mean, whole]}

    def document(self, units: float) -> QuantitySpec:
        """Return the distribution for the test bed, with quantities times ``units``, rounded."""
        given: QuantitySpec = {
            "distribution": self.distribution,
            "mean": round((_number(self.mean) or 0) * units),
            "shape": self.shape,
        }
        deviation, most = _number(self.deviation), _number(self.most)
        if deviation is not None:
            given["deviation"] = round(deviation * units)
        if most is not None:
            given["most"] = round(most * units)
        return given

    def chance_of(self, least: float) -> float:
        """Return the probability that a drawn value is at least ``least``."""
        most = _number(self.most)
        if most is None:
            return self._tail(least)
        beyond = self._tail(most)
        return max(0.0, (self._tail(least) - beyond) / (1 - beyond))

    def _tail(self, least: float) -> float:
        """Return P(X >= least) without the limit ``most``."""
        mean = _number(self.mean) or 0.0
        if least <= 0:
            return 1.0
        if self.distribution == "exponential":
            return math.exp(-least / mean)
        if self.distribution == "pareto":
            shape = self.shape or 2.0
            return min(1.0, math.pow(mean * (shape - 1) / shape / least, shape))
        if self.distribution == "lognormal":
            middle, spread = self._logarithm()
            return _normal((middle - math.log(least)) / spread)
        return float(least <= mean)

    def average(self) -> float:
        """Return the mean of the drawn values, in closed form."""
        mean, most = _number(self.mean) or 0.0, _number(self.most)
        if most is None:
            return mean
        beyond = self._tail(most)
        if self.distribution == "exponential":
            return mean - most * beyond / (1 - beyond)
        if self.distribution == "pareto":
            shape = self.shape or 2.0
            least = mean * (shape - 1) / shape
            return mean * (1 - math.pow(least / most, shape - 1)) / (1 - beyond)
        middle, spread = self._logarithm()
        below = _normal((math.log(most) - middle) / spread - spread)
        return mean * below / (1 - beyond)

    def _logarithm(self) -> tuple[float, float]:
        """Return mean and standard deviation of a lognormal quantity's logarithm."""
        mean, deviation = _number(self.mean) or 1.0, _number(self.deviation) or 0.0
        variance = math.log1p((deviation / mean) ** 2)
        return math.log(mean) - variance / 2, math.sqrt(variance)


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _normal(value: float) -> float:
    return math.erfc(-value / math.sqrt(2)) / 2


def fixed(amount: int) -> QuantitySpec:
    """Return the distribution of a constant, for the test bed."""
    return {"distribution": "fixed", "mean": amount, "shape": None}


Positive = Annotated[int, Field(ge=1, le=100_000)]


class Durations(Distribution[Duration]):
    """Lengths of time in seconds."""


class Sizes(Distribution[Size]):
    """Bytes, rounded down, at least one."""


class Counts(Distribution[Positive]):
    """Whole numbers, rounded down, at least one."""

    def average_count(self) -> float:
        """Return the mean of the whole numbers."""
        total, number = 1.0, 2
        while (chance := self.chance_of(number)) > 1e-12:
            total += chance
            number += 1
        return total
