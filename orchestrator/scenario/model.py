"""The model of a scenario; its values are in SI units, while the text has explicit units."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)

from orchestrator.kinds.congestion_control import Congestion
from orchestrator.kinds.events import AnyEvent
from orchestrator.kinds.fields import MAX_FLOWS, Duration, Period, Slug, Strict, Time
from orchestrator.kinds.host import HostOptions
from orchestrator.kinds.kernel import Kernel
from orchestrator.kinds.mptcp import Mptcp
from orchestrator.kinds.tcp import TcpOptions
from orchestrator.kinds.traffic import AnyTraffic
from orchestrator.kinds.traffic.bulk import Bulk
from orchestrator.scenario.capture import Capture
from orchestrator.scenario.lab import Lab
from orchestrator.scenario.repetitions import ONCE, Repetitions
from orchestrator.units import shown
from results.experiment.expectations import Expectation
from results.figures import FIGURES, MOST_FIGURES, FigureSpec
from topologies import TOPOLOGIES, Topology

SEED_MAX = 2**63 - 1
KEYS_OF_GROUPS = ("group", "count", "direction", "stagger")
"""Keys of a flow entry that are about the pairs of a group."""


class Flow(Strict):
    """A flow entry: ``count`` flows on each of its group's hosts, or those that a file lists."""

    name: Slug = Field(description="unique; several flows are named name[0], name[1] ...")
    group: str | None = Field(
        default=None,
        description="group of the topology between whose hosts the flow runs; required, unless "
        "the traffic names its own hosts (`schedule`), or `mptcp` names paths",
    )
    mptcp: Mptcp | None = Field(
        default=None,
        description="Multipath TCP over several groups, in place of `group`; on Linux 6.8 or later",
    )
    congestion: Congestion = Field(
        default_factory=lambda: Congestion(name="cubic"),
        description="congestion control; cubic when not given",
    )
    traffic: AnyTraffic = Field(default_factory=Bulk, description="what the flow sends")
    start: Time = Field(default=0.0, description="since the start of traffic, before jitter")
    start_window: Time = Field(
        default=0.0,
        description="each flow starts within this time after `start`, drawn uniformly from the "
        "seed",
    )
    stagger: Time = Field(
        default=0.0, description="each flow of the entry starts this much after the one before it"
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
        description="TCP options of the hosts at its ends; they override the scenario's `tcp`",
    )

    @property
    def has_own_congestion(self) -> bool:
        """Whether the entry names its congestion control, or needs none."""
        if self.traffic.names_congestion or self.traffic.demand().transport != "tcp":
            return True
        return "congestion" in self.model_fields_set

    @model_serializer(mode="wrap")
    def _without_what_it_lacks(self, handler: SerializerFunctionWrapHandler) -> Any:
        """Leave out what traffic decides itself, because a scenario may not say it."""
        serialized = handler(self)
        if self.traffic.names_hosts:
            for key in KEYS_OF_GROUPS:
                serialized.pop(key, None)
        if self.traffic.names_congestion or self.traffic.demand().transport != "tcp":
            serialized.pop("congestion", None)
        return serialized


class Defaults(Strict):
    """What flow entries have that do not say it themselves."""

    congestion: Congestion = Field(
        description="congestion control of TCP flow entries without one; an axis can name it: "
        "`defaults.congestion`"
    )


class Sample(Strict):
    """How often samples are taken, in simulated time."""

    tcp: Period = Field(default=0.1, description="period of the TCP samples, from 1ms")
    queue: Period = Field(default=0.1, description="period of the queue samples, from 1ms")
    counters: Period | None = Field(
        default=None,
        description="period of the SNMP counters of hosts (nstat), from 1ms; when not given, they "
        "are read at the edges of windows only",
    )


class Window(Strict):
    """A part of the run that gets metrics of its own."""

    name: Slug = Field(description="unique")
    from_: Time = Field(alias="from", description="its beginning, since the start of traffic")
    to: Duration = Field(description="its end, since the start of traffic")


def _whole(value: object) -> object:
    if type(value) is not int:  # Literal accepts true and 1.0 as 1
        raise ValueError(f"must be a whole number, not {shown(value)}")
    return value


class Scenario(Strict):
    """One experiment: a network, the flows over it, and what is measured."""

    version: Annotated[Literal[1], BeforeValidator(_whole)] = Field(
        description="of the scenario language"
    )
    name: Slug = Field(description="of the scenario")
    description: str = Field(default="", description="one line for readers")
    seed: int = Field(
        default=1, ge=0, le=SEED_MAX, description="everything random is drawn from it"
    )
    duration: Duration = Field(description="simulated time from the start of traffic")
    warmup: Time = Field(default=0.0, description="left out of the metrics")
    start_jitter: Time = Field(
        default=0.0, description="each flow's start is delayed by up to this, drawn from the seed"
    )
    topology: Annotated[Topology, TOPOLOGIES] = Field(description="the network")
    flows: list[Flow] = Field(min_length=1, description="who sends what to whom")
    defaults: Defaults | None = Field(
        default=None, description="what flow entries have that do not say it themselves"
    )
    tcp: TcpOptions = Field(
        default_factory=TcpOptions, description="TCP options of all flows' hosts"
    )
    host: HostOptions | None = Field(
        default=None,
        description="how all hosts hand packets to their network cards; back end guest only",
    )
    events: list[AnyEvent] = Field(
        default_factory=list, description="what changes while traffic runs"
    )
    sample: Sample = Field(default_factory=Sample, description="sampling periods")
    capture: Capture | None = Field(
        default=None, description="what is kept of packets and connections, if anything"
    )
    measure: list[Window] = Field(
        default_factory=list, description="windows with metrics of their own"
    )
    lab: Lab | None = Field(default=None, description="the hosts of `--backend lab`")
    kernel: Kernel | None = Field(
        default=None,
        description="the kernel of `--backend guest`; the machine's default kernel when not given",
    )
    repetitions: Repetitions = Field(
        default=ONCE, description="runs of each variant, each with its own seed"
    )
    seeds: Literal["common", "independent"] = Field(
        default="common",
        description="of the variants: `common` gives a repetition of all variants the same seed, "
        "so that differences are paired; `independent` gives each variant seeds of its own",
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
                "additionalProperties": {
                    "anyOf": [
                        {"type": "array", "minItems": 1},
                        {
                            "type": "object",
                            "minProperties": 1,
                            "additionalProperties": {"type": "object", "minProperties": 1},
                        },
                    ]
                },
            }
        ),
    ] = Field(
        default_factory=dict,
        description="path (as in --set) to a list of values, or name of an axis to named values "
        "that map paths to values. Every combination is a variant. `exclude` removes combinations, "
        "`include` extends or adds them",
    )
    expect: list[Expectation] = Field(
        default_factory=list,
        exclude=True,
        description="what the runs are expected to give; `orchestrator run` exits with 1 if they "
        "do not",
    )
    figures: list[Annotated[FigureSpec, FIGURES]] = Field(
        default_factory=list,
        max_length=MOST_FIGURES,
        exclude=True,
        description="what a paper shows of the runs; `orchestrator run` draws it",
    )
    reduced: Annotated[
        dict[str, Any],
        WithJsonSchema({"type": "object", "propertyNames": {"not": {"enum": ["version"]}}}),
    ] = Field(
        default_factory=dict,
        exclude=True,
        description="path (as in --set) to its value in the short form of the same scenario, "
        "which --reduced runs",
    )

    @model_validator(mode="after")
    def _with_defaults(self) -> Scenario:
        if self.defaults is not None:
            given = {"congestion": self.defaults.congestion}
            flows = [
                flow if flow.has_own_congestion else flow.model_copy(update=given)
                for flow in self.flows
            ]
            object.__setattr__(self, "flows", flows)  # the model is frozen for all others
        return self
