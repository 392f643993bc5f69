"""The scenario's model. Units are those of the text; inside, everything is in SI units."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from orchestrator.scenario import congestion
from orchestrator.scenario.base import Duration, Period, Slug, Strict, Time
from orchestrator.scenario.kinds import Kinds
from orchestrator.scenario.traffic import AnyTraffic
from orchestrator.scenario.traffic.bulk import Bulk
from orchestrator.units import shown

MAX_FLOWS = 10_000
MAX_RUNS = 10_000
SEED_MAX = 2**63 - 1


class TopologySpec(Strict):
    """Base of every topology's parameters; the kinds are in the package ``topologies``."""

    kind: str

    @classmethod
    def group_names(cls, data: dict[str, Any]) -> list[object]:
        """Return the names of the groups in parameters that need not be valid yet."""
        groups = data.get("groups")
        items = groups if isinstance(groups, list) else []
        return [item.get("name") for item in items if isinstance(item, dict)]


TOPOLOGIES = Kinds("topology", "topologies", TopologySpec)


class Congestion(Strict):
    """A congestion control; its name alone stands for ``{name: ...}``."""

    name: Annotated[
        str,
        AfterValidator(congestion.check_name),
        WithJsonSchema({"type": "string", "enum": list(congestion.known())}),
    ] = Field(description="as the kernel reports it")
    parameters: dict[str, int] = Field(
        default_factory=dict, description="of the module or namespace; mainline modules take none"
    )

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = handler(schema)
        name = handler.resolve_ref_schema(whole)["properties"]["name"]
        return {"anyOf": [{**name, "title": "Congestion"}, whole]}

    @field_validator("parameters")
    @classmethod
    def _known(cls, parameters: dict[str, int], info: ValidationInfo) -> dict[str, int]:
        if "name" in info.data:
            congestion.check_parameters(info.data["name"], parameters)
        return parameters


class Flow(Strict):
    """A line of flows: ``count`` on each of its group's hosts."""

    name: Slug = Field(description="unique; several flows are called name[0], name[1] ...")
    group: str = Field(description="the topology's group whose hosts it runs between")
    congestion: Congestion = Field(
        default_factory=lambda: Congestion(name="cubic"), description="congestion control"
    )
    traffic: AnyTraffic = Field(default_factory=Bulk, description="what it sends")
    start: Time = Field(default=0.0, description="since the start of traffic, before jitter")
    stop: Duration | None = Field(
        default=None, description="since the start of traffic; the scenario's end when not given"
    )
    count: int = Field(default=1, ge=1, le=MAX_FLOWS, description="flows on each host of the group")
    direction: Literal["forward", "reverse"] = Field(
        default="forward", description="forward sends from the sources, reverse from the sinks"
    )


class Sample(Strict):
    """How often samples are taken, in simulated time."""

    tcp: Period = Field(default=0.1, description="period of the TCP samples, from 1ms")
    queue: Period = Field(default=0.1, description="period of the queue samples, from 1ms")


class Window(Strict):
    """A part of the run that gets metrics of its own."""

    name: Slug = Field(description="unique")
    from_: Time = Field(alias="from", description="its begin, since the start of traffic")
    to: Duration = Field(description="its end, since the start of traffic")


def _whole(value: object) -> object:
    if type(value) is not int:  # Literal takes true and 1.0 for 1
        raise ValueError(f"must be a whole number, not {shown(value)}")
    return value


class Scenario(Strict):
    """One experiment: a network, the flows over it, and what is measured."""

    version: Annotated[Literal[1], BeforeValidator(_whole)] = Field(
        description="of the scenario language"
    )
    name: Slug = Field(description="of the scenario")
    description: str = Field(default="", description="one line for people")
    seed: int = Field(
        default=1, ge=0, le=SEED_MAX, description="everything random is drawn from it"
    )
    duration: Duration = Field(description="simulated time from the start of traffic")
    warmup: Time = Field(default=0.0, description="left out of the metrics")
    start_jitter: Time = Field(
        default=0.0, description="each flow's start is delayed by up to this, drawn from the seed"
    )
    topology: Annotated[TopologySpec, TOPOLOGIES] = Field(description="the network")
    flows: list[Flow] = Field(min_length=1, description="who sends what")
    sample: Sample = Field(default_factory=Sample, description="sampling periods")
    measure: list[Window] = Field(
        default_factory=list, description="windows with metrics of their own"
    )
    repetitions: int = Field(
        default=1, ge=1, le=MAX_RUNS, description="runs of each variant, each with its own seed"
    )
    matrix: Annotated[
        dict[str, Any],
        WithJsonSchema(
            {
                "type": "object",
                "properties": {
                    "include": {"type": "array", "items": {"type": "object"}},
                    "exclude": {"type": "array", "items": {"type": "object"}},
                },
                "additionalProperties": {"type": "array", "minItems": 1},
            }
        ),
    ] = Field(
        default_factory=dict,
        description="path (as of --set) to a list of values: every combination is a variant; "
        "`exclude` takes combinations away, `include` extends or adds them",
    )
