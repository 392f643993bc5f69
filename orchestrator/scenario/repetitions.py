"""How often a scenario's variants are repeated: a number of times, or until a mean is known."""

from __future__ import annotations

from typing import Any

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from orchestrator.kinds.fields import Probability, Slug, Strict
from orchestrator.repetitions import MAX_RUNS, RepetitionRule
from orchestrator.units import shown

LEAST, MOST = 5, 50


class Until(Strict):
    """The mean that must be known, and how well."""

    metric: str = Field(description="name of a metric, such as goodput_bps")
    flow: Slug | None = Field(
        default=None, description="flow entry whose metric it is; the run's own when not given"
    )
    window: Slug | None = Field(
        default=None,
        description="window of `measure`; the whole run after the warm-up when not given",
    )
    interval: Probability = Field(
        description="half the width of the 95% interval, as a share of the mean, such as 2%"
    )

    @field_validator("interval")
    @classmethod
    def _above_zero(cls, value: float) -> float:
        if value <= 0:
            raise ValueError("must be above 0")
        return value


class Repetitions(Strict):
    """A number of repetitions, or ``until`` with a least and a most number.

    A number stands for itself as ``least`` and ``most``.
    """

    until: Until | None = Field(
        default=None,
        description="repeat each variant until this mean is known; docs/experiments.md has the "
        "rule",
    )
    least: int = Field(default=LEAST, ge=1, le=MAX_RUNS, description="repetitions of each variant")
    most: int = Field(
        default=MOST, ge=1, le=MAX_RUNS, description="repetitions of each variant, at most"
    )

    @model_validator(mode="before")
    @classmethod
    def _number_alone(cls, data: Any) -> Any:
        if isinstance(data, dict):
            if "until" not in data:
                raise ValueError("`until` is missing: say which mean, or give a number")
            return data
        if type(data) is not int or not 1 <= data <= MAX_RUNS:
            raise ValueError(
                f"must be a whole number from 1 to {MAX_RUNS} or a mapping with `until`, not "
                f"{shown(data)}"
            )
        return {"until": None, "least": data, "most": data}

    @model_validator(mode="after")
    def _in_order(self) -> Repetitions:
        if self.least > self.most:
            raise ValueError(f"`least` {self.least} is above `most` {self.most}")
        if self.until is not None and self.least < 2:
            raise ValueError("`least` must be 2 or more: one value has no deviation")
        return self

    @model_serializer(mode="wrap")
    def _number_as_it_was(self, handler: SerializerFunctionWrapHandler) -> Any:
        return self.least if self.until is None else handler(self)

    @property
    def rule(self) -> RepetitionRule | None:
        """The rule as stored with each run, None for a fixed number."""
        until = self.until
        if until is None:
            return None
        return RepetitionRule(
            until.metric, until.flow, until.window, until.interval, self.least, self.most
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        mapping = handler.resolve_ref_schema(handler(schema))
        number = {"type": "integer", "minimum": 1, "maximum": MAX_RUNS}
        return {
            "description": "A number, or a rule.",
            "anyOf": [number, {**mapping, "required": ["until"]}],
            "default": 1,
        }


ONCE = Repetitions.model_validate(1)
