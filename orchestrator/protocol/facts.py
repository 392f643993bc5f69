"""The facts that a test bed reports: one JSON line of ``facts.jsonl`` each.

A fact's key "fact" has its name, by which FACTS finds its form. Times are whole nanoseconds, since
the start of traffic unless another clock is named. Facts of emulated beds and of lab hosts have the
same names. Keys of a class ``_Of...``, or of one with ``total=False``, may be absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

if TYPE_CHECKING:
    from typing import TypeAlias

F = TypeVar("F")

SettingValue: TypeAlias = "int | str | None"


class Rate(TypedDict, total=False):
    """The token bucket of a channel, empty where it has none."""

    kind: str
    rate_bps: int


class Channel(TypedDict, total=False):
    """One direction of a link as the kernel has it: {name of a setting: value} and the kinds."""

    rate: Rate
    queue: dict[str, Any]
    delay: dict[str, Any]
    policer: dict[str, Any]


class _OfChannels(TypedDict, total=False):
    differences: list[tuple[str, str, SettingValue, SettingValue]]
    """[channel, setting, requested, found] of all settings that differ; at the end only."""


class Channels(_OfChannels):
    """What the kernel says of every channel, at the start and at the end."""

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


class Versions(TypedDict, total=False):
    """Versions of what took part; "kernel" is always there."""

    fact: str
    kernel: str
    kernel_build: str
    kernel_compiler: str
    machine: str
    mininet: str
    openvswitch: str
    iperf3: str
    python: str
    wall_clock_s: float
    hosts: dict[str, Any]


class _OfRoundTrip(TypedDict, total=False):
    bare_ns: int
    """Of a lab's machines without emulation."""
    ttl: int | None
    at: str
    machine: str


class RoundTrip(_OfRoundTrip):
    """A base RTT that was measured on the idle network."""

    fact: str
    source: str
    sink: str
    expected_ns: int
    attempts: int
    measured_ns: int | None
    """None where no echo came back."""


class RoundTripAfter(RoundTrip):
    """The same after traffic, between the hosts of a lab."""


class Burst(TypedDict):
    """Bursts through a queue: what was requested, and when each packet passed."""

    fact: str
    channel: str
    source: str
    sink: str
    packets: int
    rounds: int
    settle_ns: int
    rate_bps: int
    queue_packets: int | None
    came: int
    """Number of packets that came to the queue."""
    passed: list[tuple[int, int, int, int]]
    """[round, number, came_ns, left_ns] of the packets that left it, by the wall clock."""


class Policer(TypedDict):
    """Bursts through a policer; keys as of Burst."""

    fact: str
    channel: str
    source: str
    sink: str
    packets: int
    rounds: int
    pause_ns: int
    settle_ns: int
    rate_bps: int
    burst_bytes: int
    queued: bool
    came: int
    passed: list[tuple[int, int, int, int]]


class _OfQueues(TypedDict, total=False):
    devices: dict[str, int]
    """Interface indices of a lab's router by the ends of its link."""


class Queues(_OfQueues):
    """What the rows of queue.bin are of, in their order."""

    fact: str
    names: list[tuple[int, int]]
    """(interface index, handle) of each qdisc."""
    policers: list[int]
    """Interface index of each policer."""


class _OfInterface(TypedDict, total=False):
    shared: bool
    """Whether others use this interface of a lab host, too."""


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


class Softnet(TypedDict):
    """Packets that the kernel dropped before any queue, at the start and at the end."""

    fact: str
    at: str
    drops: int


class Timeline(TypedDict):
    """What the scheduler did."""

    fact: str
    steps: int
    due: int
    """How many steps should have been done."""
    late_ns: dict[str, int]
    """The worst lateness of each kind of step."""
    events: list[tuple[int, int]]
    """(place of the event, when its last step was done in ns)."""
    granted_frames: int
    """Frames that traces had room for."""
    impairments: dict[str, list[tuple[dict[str, int], int, int, int]]]
    """Of channels whose impairments changed: (settings of the netem, packets, drops, packets that
    skipped the delay)."""
    netem_changes: dict[str, int]
    """How often each channel's netem changed."""


class Namespaces(TypedDict):
    """Sysctls of single hosts that the run set, as they were at the end."""

    fact: str
    at: str
    values: dict[str, dict[str, str | int]]
    """{host: {sysctl: value}}."""


class Namespace(TypedDict):
    """A sysctl of a host that was changed, as it was read back."""

    fact: str
    host: str
    sysctl: str
    value: str | int
    clock_ns: int
    """When, by the bed's clock."""


class Checksums(TypedDict):
    """Packets whose checksums were wrong, by host; only where channels corrupt packets."""

    fact: str
    at: str
    errors: dict[str, int]


class Congestion(TypedDict):
    """The congestion control that the kernel has for a flow's sender."""

    fact: str
    flow: str
    kernel: str


class Engine(TypedDict):
    """What the program of a flow's engine itself reports."""

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
    """How much farther ahead it was at the end."""
    between_ns: int
    """The time between the two measurements."""


class Lateness(TypedDict, total=False):
    """How late the process that watches a machine woke up, in ns."""

    median: int
    p99: int
    max: int


class Second(TypedDict, total=False):
    """One second of a machine; shares are of the CPU's time."""

    late_ns: int
    """The worst lateness."""
    own: float
    others: float
    softirq: float
    steal: float
    idle: float
    pressure: float | None
    """Share of the time in which anything on the machine waited for a CPU."""


class _OfHost(TypedDict, total=False):
    late_timers_ns: int
    netem_seeded: bool
    """Whether the machine's netem takes a seed."""
    uptime_s: float
    processor: str
    python: str
    modules: Any
    machine: str


class Host(_OfHost):
    """How busy and how late a real machine was while traffic ran."""

    fact: str
    node: str
    cpu: int
    """The CPU of the packets."""
    cpus: int
    wakeups: int
    missed: int
    """Wake-ups that were due while the CPU's counters were read."""
    late_ns: Lateness
    seconds: list[Second]


class Done(TypedDict):
    """The last fact of a bed that ended well."""

    fact: str
    origin_ns: int
    """The start of traffic by the bed's clock."""
    duration_ns: int


FACTS: Mapping[str, Any] = {
    "channels": Channels,
    "sysctls": Sysctls,
    "versions": Versions,
    "round_trip": RoundTrip,
    "round_trip_after": RoundTripAfter,
    "burst": Burst,
    "policer": Policer,
    "queues": Queues,
    "interfaces": Interfaces,
    "softnet": Softnet,
    "timeline": Timeline,
    "namespaces": Namespaces,
    "namespace": Namespace,
    "checksums": Checksums,
    "congestion": Congestion,
    "engine": Engine,
    "clock": Clock,
    "host": Host,
    "done": Done,
}
"""The form of each fact by its name.

Not here: "route", which only goes into the provenance, failures of flows and of the scheduler, and
halves of transfers that lab agents report.
"""

_NAMES = {form: name for name, form in FACTS.items()}


def name_of(form: type) -> str:
    """Return the name of the facts of that form."""
    return _NAMES[form]


def of(facts: Iterable[Mapping[str, Any]], form: type[F], **wanted: object) -> list[F]:
    """Return the facts of that form, in their order, whose values match ``wanted``."""
    name = _NAMES[form]
    found: list[Any] = [
        fact
        for fact in facts
        if fact["fact"] == name and all(fact.get(key) == value for key, value in wanted.items())
    ]
    return found
