"""Describes random quantities of a traffic source; protocol/random_quantities.py draws them."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from orchestrator.kinds.fields import Duration, Probability, Size, Strict, located
from orchestrator.kinds.files import empirical, known_sizes
from orchestrator.protocol.specification import QuantitySpec
from orchestrator.units import shown

T = TypeVar("T")

_OF_SIZES = {"empirical": "that of the `cdf`", "mixture": "that of the sizes in `mix`"}
"""Distributions of sizes alone, and what their largest value is."""
_WITHOUT_MEAN = ("uniform", *_OF_SIZES)
MOST_PARTS = 100
_NEAR = 1e-9
_HEAVY_TAILS = ("pareto", "lognormal")


class Distribution(Strict, Generic[T]):
    """A quantity that is fixed, or drawn from a distribution; a value alone is a fixed one.

    Pareto: P(X > x) = (least / x)^shape with least = mean (shape - 1) / shape. Up to a shape of 2
    its variance is infinite, so means over a run converge slowly. Lognormal: the logarithm is
    normal, of the variance ln(1 + deviation^2 / mean^2). Values above ``most`` are drawn again,
    which makes the mean smaller. Uniform: from ``least`` to ``most``, whose middle is the mean.
    """

    _of_sizes: ClassVar[bool] = False
    """Whether its values may be those of a ``cdf`` or of a ``mix``."""

    distribution: Literal[
        "fixed", "exponential", "pareto", "lognormal", "uniform", "empirical", "mixture"
    ] = Field(
        default="fixed",
        description="distribution of the values; fixed is always the mean. Of sizes only: "
        "empirical is that of a `cdf`, and mixture that of a `mix`",
    )
    mean: T | None = Field(
        default=None,
        description="mean, such as 100ms, before values above `most` are drawn again; not of a "
        "uniform or empirical distribution, or a mixture",
    )
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
    least: T | None = Field(
        default=None,
        description="smallest value of a uniform distribution, below `most`; 0 when not given",
    )

    @model_validator(mode="before")
    @classmethod
    def _mean_alone(cls, data: Any) -> Any:
        return data if isinstance(data, dict | Distribution) else {"mean": data}

    @field_validator("distribution")
    @classmethod
    def _of_sizes_alone(cls, distribution: str) -> str:
        if distribution in _OF_SIZES and not cls._of_sizes:
            raise ValueError(f"only sizes can be {distribution}")
        return distribution

    @field_validator("shape")
    @classmethod
    def _of_pareto_alone(cls, shape: float | None, info: ValidationInfo) -> float | None:
        distribution = info.data.get("distribution")
        if distribution == "pareto" and shape is None:
            raise ValueError("a Pareto distribution needs a `shape` above 1, such as 1.5")
        if distribution != "pareto" and distribution is not None and shape is not None:
            raise ValueError(f"only a Pareto distribution has a shape, not {distribution}")
        return shape

    @model_validator(mode="after")
    def _fitting(self) -> Distribution[T]:
        mean, most, least = _number(self.mean), _number(self.most), _number(self.least)
        problems: list[tuple[tuple[str | int, ...], str]] = []
        by_ends = self.distribution in _WITHOUT_MEAN
        if by_ends and mean is not None:
            problems.append((("mean",), f"that of a {self.distribution} distribution follows"))
        if not by_ends and mean is None:
            problems.append((("mean",), "is required"))
        if self.distribution == "uniform":
            if most is None or most <= (least or 0.0):
                problems.append((("most",), "a uniform distribution needs `most`, above `least`"))
        elif least is not None:
            problems.append((("least",), "only a uniform distribution has a least value"))
        if self.distribution in _OF_SIZES and most is not None:
            problems.append((("most",), f"the largest value is {_OF_SIZES[self.distribution]}"))
        if self.distribution == "lognormal" and self.deviation is None:
            problems.append((("deviation",), "a lognormal distribution needs a `deviation`"))
        if self.distribution != "lognormal" and self.deviation is not None:
            problems.append(
                (("deviation",), f"only a lognormal distribution has one, not {self.distribution}")
            )
        if most is not None and self.distribution == "fixed":
            problems.append((("most",), "a fixed quantity is always its mean"))
        elif not by_ends and most is not None and mean is not None and most <= mean:
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
        mean = handler.resolve_ref_schema(whole)["properties"]["mean"]
        (one,) = (option for option in mean["anyOf"] if option != {"type": "null"})
        return {"anyOf": [one, whole]}

    @property
    def is_endless(self) -> bool:
        """Whether its tail is heavy and has no end, so that sums of it never settle."""
        return self.distribution in _HEAVY_TAILS and self.most is None

    def document(self, units: float) -> QuantitySpec:
        """Return the distribution for the test bed, with quantities times ``units``, rounded."""
        given: QuantitySpec = {
            "distribution": self.distribution,
            "mean": round(self.average() * units)
            if self.distribution in _WITHOUT_MEAN
            else round((_number(self.mean) or 0) * units),
            "shape": self.shape,
        }
        deviation, most = _number(self.deviation), _number(self.most)
        if deviation is not None:
            given["deviation"] = round(deviation * units)
        if most is not None:
            given["most"] = round(most * units)
        if self.distribution == "uniform":
            given["least"] = round((_number(self.least) or 0.0) * units)
        return given

    def chance_of(self, least: float) -> float:
        """Return the probability that a drawn value is at least ``least``."""
        most = _number(self.most)
        if most is None or self.distribution == "uniform":
            return self._tail(least)
        beyond = self._tail(most)
        return max(0.0, (self._tail(least) - beyond) / (1 - beyond))

    def _tail(self, least: float) -> float:
        """Return P(X >= least) without the limit ``most``."""
        mean = _number(self.mean) or 0.0
        if least <= 0:
            return 1.0
        if self.distribution == "uniform":
            low, high = _number(self.least) or 0.0, _number(self.most) or 0.0
            return min(1.0, max(0.0, (high - least) / (high - low)))
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
        if self.distribution == "uniform":
            return ((_number(self.least) or 0.0) + (most or 0.0)) / 2
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


class UnmixedSizes(Distribution[Size]):
    """Bytes, rounded down, at least one.

    Empirical: those of a cumulative distribution function, whose points are joined by straight
    lines. ``cdf`` alone is enough.
    """

    _of_sizes: ClassVar[bool] = True

    cdf: str | None = Field(
        default=None,
        description=f"{', '.join(known_sizes.KNOWN)}, or a file with a line `BYTES SHARE` for each "
        "point of the cumulative distribution function, SHARE in 0..1 or in percent",
    )
    sha256: str | None = Field(
        default=None,
        validate_default=True,
        description="SHA-256 that the file must have; not checked when not given",
    )

    _points: known_sizes.Points = PrivateAttr(default=())

    @model_validator(mode="before")
    @classmethod
    def _cdf_alone(cls, data: Any) -> Any:
        if isinstance(data, dict) and "cdf" in data and "distribution" not in data:
            return {"distribution": "empirical", **data}
        return data

    @field_validator("cdf")
    @classmethod
    def _place(cls, cdf: str | None, info: ValidationInfo) -> str | None:
        return None if cdf is None else empirical.points_of(cdf, info)[0]

    @field_validator("sha256")
    @classmethod
    def _of_the_file(cls, sha256: str | None, info: ValidationInfo) -> str | None:
        cdf = info.data.get("cdf")
        has = None if cdf is None else empirical.points_of(cdf, info)[2]
        if sha256 not in (None, has) and "cdf" in info.data:
            raise ValueError(f"`{cdf}` has the SHA-256 {has}, not {shown(sha256)}")
        return has

    @model_validator(mode="after")
    def _keep(self, info: ValidationInfo) -> Any:
        if (self.distribution == "empirical") != (self.cdf is not None):
            raise located([(("cdf",), "an empirical distribution has a `cdf`, and no other has")])
        if self.cdf is not None:
            self._points = empirical.points_of(self.cdf, info)[1]
        return self

    def document(self, units: float) -> QuantitySpec:
        """Return the distribution for the test bed, in bytes."""
        given = super().document(units)
        if self._points:
            given["points"] = [[value * units, share] for value, share in self._points]
        return given

    def average(self) -> float:
        """Return the mean of the drawn values, in closed form."""
        return known_sizes.mean(self._points) if self._points else super().average()

    def chance_of(self, least: float) -> float:
        """Return the probability that a drawn value is at least ``least``."""
        return empirical.tail(self._points, least) if self._points else super().chance_of(least)

    def lost_by_rounding(self) -> float:
        """Return by how many bytes drawn sizes are smaller on average than ``average``."""
        return 0.0 if self.distribution == "fixed" else 0.5


class SizePart(Strict):
    """A part of a mixture of sizes."""

    share: Probability = Field(description="share of the draws, such as 90%; all add up to 100%")
    size: UnmixedSizes = Field(description="size, such as 10kB, or its distribution")


class Sizes(UnmixedSizes):
    """Bytes, rounded down, at least one.

    Empirical: those of a cumulative distribution function, whose points are joined by straight
    lines. Mixture: each draw takes one of several sizes or distributions by their shares. ``cdf``
    or ``mix`` alone is enough.
    """

    mix: Annotated[list[SizePart], Field(min_length=2, max_length=MOST_PARTS)] | None = Field(
        default=None,
        description="sizes of a mixture, such as [{share: 90%, size: 10kB}, {share: 10%, size: "
        "{cdf: websearch}}]",
    )

    @model_validator(mode="before")
    @classmethod
    def _mix_alone(cls, data: Any) -> Any:
        if isinstance(data, dict) and "mix" in data and "distribution" not in data:
            return {"distribution": "mixture", **data}
        return data

    @model_validator(mode="after")
    def _whole_mix(self) -> Sizes:
        if (self.distribution == "mixture") != (self.mix is not None):
            raise located([(("mix",), "a mixture has a `mix`, and no other distribution has")])
        total = sum(part.share for part in self.mix or ())
        if self.mix and abs(total - 1) > _NEAR:
            raise located([(("mix",), f"the shares add up to {100 * total:.6g}%, not to 100%")])
        if any(part.share == 0 for part in self.mix or ()):
            raise located([(("mix",), "a share must be above zero")])
        return self

    @property
    def is_endless(self) -> bool:
        """Whether a tail is heavy and has no end, so that sums of it never settle."""
        return super().is_endless or any(part.size.is_endless for part in self.mix or ())

    def document(self, units: float) -> QuantitySpec:
        """Return the distribution for the test bed, in bytes."""
        given = super().document(units)
        if self.mix:
            given["parts"] = [[part.share, part.size.document(units)] for part in self.mix]
        return given

    def average(self) -> float:
        """Return the mean of the drawn values, in closed form."""
        if self.mix:
            return sum(part.share * part.size.average() for part in self.mix)
        return super().average()

    def chance_of(self, least: float) -> float:
        """Return the probability that a drawn value is at least ``least``."""
        if self.mix:
            return sum(part.share * part.size.chance_of(least) for part in self.mix)
        return super().chance_of(least)

    def lost_by_rounding(self) -> float:
        """Return by how many bytes drawn sizes are smaller on average than ``average``."""
        if self.mix:
            return sum(part.share * part.size.lost_by_rounding() for part in self.mix)
        return super().lost_by_rounding()


class Counts(Distribution[Positive]):
    """Whole numbers, rounded down, at least one."""

    def average_count(self) -> float:
        """Return the mean of the whole numbers."""
        total, number = 1.0, 2
        while (chance := self.chance_of(number)) > 1e-12:
            total += chance
            number += 1
        return total
