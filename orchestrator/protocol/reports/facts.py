"""The facts that a test bed reports: one JSON line of ``facts.jsonl`` each.

A fact's key "fact" has its name, by which FACTS finds its form. Times are whole nanoseconds, since
the start of traffic unless another clock is named. Facts of emulated beds and of lab hosts have the
same names. Keys of a class ``_Of...``, or of one with ``total=False``, may be absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from orchestrator.protocol.probe_specification import (
    BurstProbe,
    EndProbe,
    PolicerProbe,
    RoundTripProbe,
)
from orchestrator.protocol.reports.counter_facts import Counters as Counters
from orchestrator.protocol.reports.machine_facts import Host as Host
from orchestrator.protocol.reports.multipath_facts import Multipath as Multipath
from orchestrator.protocol.reports.multipath_facts import SubflowState as SubflowState
from orchestrator.protocol.reports.packet_facts import Packets as Packets
from orchestrator.protocol.reports.packet_facts import Sprayed as Sprayed
from orchestrator.protocol.reports.program_facts import Extracted as Extracted
from orchestrator.protocol.reports.program_facts import ExtractedValue as ExtractedValue
from orchestrator.protocol.reports.program_facts import Kept as Kept
from orchestrator.protocol.reports.program_facts import Program as Program

if TYPE_CHECKING:
    from typing import TypeAlias

F = TypeVar("F")

Fact: TypeAlias = "Mapping[str, object]"
"""A fact of any form. ``of()`` returns those of one form."""

SettingValue: TypeAlias = "int | str | None"


class _OfChannel(TypedDict, total=False):
    policer: dict[str, Any]


class Channel(_OfChannel):
    """One direction of a link as the kernel has it: {name of a setting: value} and the kinds.

    A kind is empty where the kernel has no such qdisc.
    """

    link: dict[str, Any]
    queue: dict[str, Any]
    netem: dict[str, Any]


class _OfChannels(TypedDict, total=False):
    differences: list[tuple[str, str, SettingValue, SettingValue]]
    """[channel, setting, requested, found] where the two differ; at the end only."""


class Channels(_OfChannels):
    """The kernel's settings of every channel, at the start and at the end."""

    fact: str
    at: str
    """"start" or "end"."""
    channels: dict[str, Channel]
    """By names such as "bottleneck:forward"."""


_Global = TypedDict("_Global", {"global": dict[str, str]}, total=False)


class Sysctls(_Global, total=False):
    """Values of sysctls that matter, as the kernel has them; all keys but "fact" may be absent.

    "global" has those of the whole machine.
    """

    fact: str
    hosts: dict[str, dict[str, str]]
    """{host: {sysctl: value}} of hosts that differ from the others, or of each lab host."""
    every_host: dict[str, str]
    """{sysctl: value} of all other hosts."""
    values: dict[str, str]
    """{sysctl: value} of one lab host."""


class _OfVersions(TypedDict, total=False):
    kernel_build: str
    kernel_compiler: str
    machine: str
    mininet: str
    openvswitch: str
    iperf3: str
    python: str
    wall_clock_s: float
    hosts: dict[str, Any]
    """{host: versions of that host} of a lab's hosts."""


class Versions(_OfVersions):
    """Versions of what took part."""

    fact: str
    kernel: str


class _OfRoundTrip(TypedDict, total=False):
    ttl: int | None
    at: str
    machine: str


class RoundTrip(RoundTripProbe, _OfRoundTrip):
    """A base RTT that was measured on the idle network."""

    fact: str
    measured_ns: int | None
    """None when no echo returned."""


class RoundTripAfter(RoundTrip):
    """The same RTT after traffic, between the hosts of a lab."""


class RoundTripEnd(EndProbe):
    """A base RTT that was measured after traffic in an emulated network."""

    fact: str
    measured_ns: int | None
    """None when no echo returned, or when the queues did not run empty."""
    quiet: bool
    """Whether the queues ran empty after traffic had been stopped."""


class Burst(BurstProbe):
    """Bursts through a queue: the settings of the probe, and when each packet passed."""

    fact: str
    came: int
    """Number of packets that arrived at the link."""
    passed: list[tuple[int, int, int, int]]
    """[round, number, came_ns, left_ns] of the packets that left it, by the wall clock."""


class Policer(PolicerProbe):
    """Bursts through a policer; keys as of Burst."""

    fact: str
    came: int
    passed: list[tuple[int, int, int, int]]


class _OfQueues(TypedDict, total=False):
    devices: dict[str, int]
    """Interface indices of a lab's router by the ends of its link."""


class Queues(_OfQueues):
    """The qdiscs and policers in each row of queue.bin, in their order."""

    fact: str
    names: list[tuple[int, int]]
    """(interface index, handle) of each qdisc."""
    policers: list[int]
    """Interface index of each policer."""


class _OfInterface(TypedDict, total=False):
    shared: bool
    """Whether other programs also use this interface of a lab host."""


class Interface(_OfInterface):
    """Offloads and counters of an interface."""

    offloads: dict[str, bool]
    rx_packets: int
    rx_dropped: int
    tx_dropped: int


class Interfaces(TypedDict):
    """All interfaces, at the start and at the end."""

    fact: str
    at: str
    interfaces: dict[str, Interface]
    """By "node/name"."""


class HostState(TypedDict):
    """Whether interfaces, routes and sysctls are as requested, at the start and at the end.

    On lab hosts the request at the end is what there was at the start.
    """

    fact: str
    at: str
    settings: int
    """The number of settings that were compared."""
    differences: list[tuple[str, str, str, str]]
    """[namespace, setting, requested, found] where the two differ; "" is none."""


class Softnet(TypedDict):
    """Packets that the kernel dropped before any queue, at the start and at the end."""

    fact: str
    at: str
    drops: int


class _OfTimeline(TypedDict, total=False):
    chosen_losses: dict[str, list[tuple[str, int, int, int, int]]]
    """(ranges in hexadecimal, port, data only, packets counted, packets lost) of each list of
    packets that a channel loses by their numbers, in the order of time; see chosen.py."""


class Timeline(_OfTimeline):
    """A summary of the scheduler's steps."""

    fact: str
    steps: int
    due: int
    """How many steps should have been done."""
    late_ns: dict[str, int]
    """The worst lateness of each kind of step."""
    events: list[tuple[int, int]]
    """(number of the event, time of its last step in ns)."""
    granted_frames: int
    """Frames that traces allowed."""
    impairments: dict[str, list[tuple[dict[str, int], int, int, int]]]
    """(netem's settings, packets, drops, packets without delay) of each channel with changes."""
    netem_changes: dict[str, int]
    """How often each channel's netem changed."""


class Namespaces(TypedDict):
    """Sysctls of single hosts that the run set, as they were at the end."""

    fact: str
    at: str
    values: dict[str, dict[str, str | int]]
    """{host: {sysctl: value}}."""


class Namespace(TypedDict):
    """A changed sysctl of a host, with the value read back."""

    fact: str
    host: str
    sysctl: str
    value: str | int
    clock_ns: int
    """Time on the bed's clock."""


class Checksums(TypedDict):
    """Packets with wrong checksums, by host; only when channels corrupt packets."""

    fact: str
    at: str
    errors: dict[str, int]


class CapturedFrames(TypedDict):
    """What came to the capture of a host while it was open."""

    host: str
    from_ns: int
    """When it was open, since the start of traffic: a part of the window that was asked for."""
    to_ns: int
    seen: int
    """Frames that came, also shortly before and after the window."""
    lost: int
    """Those of them for which the buffer had no room."""


class Captures(TypedDict):
    """Captures of frames at the hosts of a real machine; only a run with a capture has them."""

    fact: str
    hosts: list[CapturedFrames]


class Congestion(TypedDict):
    """The congestion control of a flow's sender in the kernel."""

    fact: str
    flow: str
    kernel: str


class Outcome(TypedDict):
    """How the connections of a flow ended, as the ends on one machine know it."""

    fact: str
    flow: str
    begun: int
    """How many began."""
    connected: bool
    """Whether any was established."""
    going_on: int
    """How many were established and went on at the end of the run."""
    ended_ns: int | None
    """When the last one ended without failure; None if none did.

    That is when its receiver had read everything. If that did not happen after the flow's stop
    time, it is the stop time.
    """
    failures: list[tuple[int, int, int, bool]]
    """[begin in ns, end in ns, errno, whether it was established] of each that failed.

    The errno is 0 where nobody had answered when the connection was given up, or by the end of the
    run. Its end is then -1.
    """


class Engine(TypedDict):
    """The report of the program that a flow's engine starts."""

    fact: str
    flow: str
    sent_bytes: int
    received_bytes: int


class Clock(TypedDict):
    """The clock of a lab host against the controller's."""

    fact: str
    host: str
    uncertainty_ns: int
    drift_ns: int
    """Change of the offset until the end."""
    between_ns: int
    """The time between the two measurements."""


class FlowError(TypedDict):
    """The failure of a flow's traffic, with which the run fails."""

    fact: str
    flow: str
    problem: str


class TimelineError(TypedDict):
    """The failure of the scheduler, with which the run fails."""

    fact: str
    problem: str


class Route(TypedDict, total=False):
    """Metrics of a host's routes as they were read back; "host" or "destination" is there."""

    fact: str
    host: str
    destination: str
    metrics: dict[str, int]
    machine: str


class TransferBegins(TypedDict):
    """The begin of a transfer whose end is on another machine of a lab."""

    fact: str
    flow: str
    port: int
    """The client's."""
    start_ns: int


class TransferEnds(TypedDict):
    """The end of such a transfer."""

    fact: str
    flow: str
    port: int
    end_ns: int
    """-1 where it was not complete at the end of the run."""
    bytes: int


class Done(TypedDict):
    """The last fact of a bed without failure."""

    fact: str
    origin_ns: int
    """The origin on the bed's clock."""
    duration_ns: int


FACTS: Mapping[str, Any] = {
    "channels": Channels,
    "sysctls": Sysctls,
    "versions": Versions,
    "round_trip": RoundTrip,
    "round_trip_after": RoundTripAfter,
    "round_trip_end": RoundTripEnd,
    "burst": Burst,
    "policer": Policer,
    "queues": Queues,
    "counters": Counters,
    "interfaces": Interfaces,
    "packets": Packets,
    "captures": Captures,
    "host_state": HostState,
    "softnet": Softnet,
    "timeline": Timeline,
    "namespaces": Namespaces,
    "namespace": Namespace,
    "sprayed": Sprayed,
    "checksums": Checksums,
    "congestion": Congestion,
    "outcome": Outcome,
    "multipath": Multipath,
    "subflow": SubflowState,
    "engine": Engine,
    "program": Program,
    "extracted": Extracted,
    "kept": Kept,
    "clock": Clock,
    "host": Host,
    "flow_error": FlowError,
    "timeline_error": TimelineError,
    "route": Route,
    "transfer_begins": TransferBegins,
    "transfer_ends": TransferEnds,
    "done": Done,
}
"""The form of each fact by its name."""

_NAMES = {form: name for name, form in FACTS.items()}


def name_of(form: type) -> str:
    """Return the name of the facts of that form."""
    return _NAMES[form]


def of(facts: Iterable[Fact], form: type[F], **wanted: object) -> list[F]:
    """Return the facts of that form, in their order, whose values match ``wanted``."""
    name = _NAMES[form]
    found: list[Any] = [
        fact
        for fact in facts
        if fact["fact"] == name and all(fact.get(key) == value for key, value in wanted.items())
    ]
    return found
