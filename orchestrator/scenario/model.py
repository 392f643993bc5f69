"""The scenario's model. Units are those of the text; inside, everything is in SI units."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from kmods.catalogue import Folder
from orchestrator.scenario import congestion
from orchestrator.scenario.base import Context, Duration, Period, Slug, Strict, Time
from orchestrator.scenario.events import AnyEvent
from orchestrator.scenario.kinds import Kinds
from orchestrator.scenario.lab import Lab
from orchestrator.scenario.tcp import TcpOptions
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
    """A congestion control; its name alone stands for ``{name: ...}``.

    Once validated, ``module`` is absolute, ``sources`` is there with it, and parameters are whole
    numbers in their own units.
    """

    module: str | None = Field(
        default=None,
        description="folder with the sources of a module of your own, from the scenario's folder",
    )
    sources: str | None = Field(
        default=None,
        validate_default=True,
        description="SHA-256 that the sources in that folder must have; whatever it is when not "
        "given",
    )
    name: str = Field(description="as the kernel reports it")
    parameters: Annotated[
        dict[str, int],
        WithJsonSchema({"type": "object", "additionalProperties": {"type": ["integer", "string"]}}),
    ] = Field(
        default_factory=dict,
        description="of the module, or of the sending host's namespace: whole numbers in their own "
        "units, or quantities such as 5mbit for names in _bps, _kbps, _us, _ms and _bytes; "
        "mainline modules take none",
    )

    @model_validator(mode="before")
    @classmethod
    def _name_alone(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        whole = handler.resolve_ref_schema(handler(schema))
        properties = whole["properties"]
        known = {**properties["name"], "enum": list(congestion.known())}
        without = {"name": known, "parameters": properties["parameters"]}
        texts = {
            key: {"type": "string", "description": properties[key]["description"]}
            for key in ("module", "sources")
        }
        closed = {"type": "object", "additionalProperties": False}
        return {
            "title": "Congestion",
            "description": "A congestion control; its name alone stands for `{name: ...}`.",
            "anyOf": [
                known,
                {**closed, "properties": without, "required": ["name"]},
                {**closed, "properties": {**properties, **texts}, "required": ["name", "module"]},
            ],
        }

    @field_validator("module")
    @classmethod
    def _absolute(cls, module: str | None, info: ValidationInfo) -> str | None:
        return None if module is None else str(_modules(info).folder(module).path)

    @field_validator("sources")
    @classmethod
    def _of_the_folder(cls, sources: str | None, info: ValidationInfo) -> str | None:
        if "module" not in info.data:
            return sources  # the folder's own fault is enough
        folder = _folder(info)
        if folder is None:
            if sources is not None:
                raise ValueError("belongs to `module`, and none is given")
            return None
        if sources not in (None, folder.sha256):
            raise ValueError(
                f"the sources in `{folder.path}` have the SHA-256 {folder.sha256}, "
                f"not {shown(sources)}"
            )
        return folder.sha256

    @field_validator("name")
    @classmethod
    def _defined(cls, name: str, info: ValidationInfo) -> str:
        if "module" not in info.data:
            return name
        return congestion.check_name(name, _folder(info))

    @field_validator("parameters", mode="before")
    @classmethod
    def _whole(cls, parameters: Any, info: ValidationInfo) -> Any:
        """Put whole numbers in the place of quantities; each fault is at its own parameter."""
        if not isinstance(parameters, dict) or not {"module", "name"} <= info.data.keys():
            return parameters if not isinstance(parameters, dict) else {}
        name = info.data["name"]
        module = _modules(info).find(name, info.data["module"])
        numbers: dict[str, int] = {}
        faults: list[InitErrorDetails] = []
        for key, value in parameters.items():
            try:
                numbers[key] = congestion.check_parameter(name, module, key, value)
            except ValueError as error:
                wrong = PydanticCustomError("parameter", "{text}", {"text": str(error)})
                faults.append(InitErrorDetails(type=wrong, loc=(key,), input=value))
        if faults:
            raise ValidationError.from_exception_data("parameters", faults)
        return numbers


def _modules(info: ValidationInfo) -> congestion.Modules:
    if isinstance(info.context, Context):
        return info.context.modules
    return congestion.Modules(FilePath())


def _folder(info: ValidationInfo) -> Folder | None:
    module = info.data.get("module")
    return None if module is None else _modules(info).folder(module)


class Flow(Strict):
    """A line of flows: ``count`` on each of its group's hosts."""

    name: Slug = Field(description="unique; several flows are called name[0], name[1] ...")
    group: str = Field(description="the topology's group whose hosts it runs between")
    congestion: Congestion = Field(
        default_factory=lambda: Congestion(name="cubic"),
        description="congestion control of TCP; cubic when not given",
    )
    traffic: AnyTraffic = Field(default_factory=Bulk, description="what it sends")
    start: Time = Field(default=0.0, description="since the start of traffic, before jitter")
    start_window: Time = Field(
        default=0.0,
        description="each flow starts within so long behind `start`, drawn evenly from the seed",
    )
    stagger: Time = Field(
        default=0.0, description="each flow of the line starts so much after the one before it"
    )
    stop: Duration | None = Field(
        default=None, description="since the start of traffic; the scenario's end when not given"
    )
    count: int = Field(default=1, ge=1, le=MAX_FLOWS, description="flows on each host of the group")
    direction: Literal["forward", "reverse"] = Field(
        default="forward", description="forward sends from the sources, reverse from the sinks"
    )
    tcp: TcpOptions = Field(
        default_factory=TcpOptions,
        description="of the hosts at its ends; goes before the scenario's `tcp`",
    )

    @model_serializer(mode="wrap")
    def _without_what_udp_lacks(self, handler: SerializerFunctionWrapHandler) -> Any:
        each = handler(self)
        if self.traffic.names_congestion or self.traffic.demand().transport == "udp":
            each.pop("congestion", None)
        return each


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
    tcp: TcpOptions = Field(default_factory=TcpOptions, description="of all flows' hosts")
    events: list[AnyEvent] = Field(
        default_factory=list, description="what changes while traffic runs"
    )
    sample: Sample = Field(default_factory=Sample, description="sampling periods")
    measure: list[Window] = Field(
        default_factory=list, description="windows with metrics of their own"
    )
    lab: Lab | None = Field(default=None, description="the hosts of `--backend lab`")
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
    reduced: Annotated[
        dict[str, Any],
        WithJsonSchema({"type": "object", "propertyNames": {"not": {"enum": ["version"]}}}),
    ] = Field(
        default_factory=dict,
        exclude=True,
        description="path (as of --set) to the value it has in the short form of the same "
        "scenario, that of --reduced",
    )
