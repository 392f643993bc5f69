"""The types of a run's specification, which the controller writes and the test bed reads.

All values are JSON. Times are whole nanoseconds, rates whole bits per second including Ethernet's
header, and addresses IPv4. A channel is one direction of a link, called ``LINK:forward`` (from the
link's end a to its end b) or ``LINK:reverse``. ``version.py`` has the version of this form.

The test bed imports this module for type checks only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from orchestrator.protocol.probe_specification import ProbesSpec, RoundTripProbe

if TYPE_CHECKING:
    from typing import TypeAlias

    from typing_extensions import NotRequired  # noqa: UP035 - typing has it from Python 3.11 on

Direction: TypeAlias = "Literal['forward', 'reverse']"
"""From a to b, or from b to a."""


class SettingSpec(TypedDict):
    """One value among the options of a qdisc or an action; see ``qdisc.Setting``."""

    name: str
    """Name that ends in the unit; unique among the settings of one qdisc."""
    attribute: list[int]
    """Path of attribute types inside TCA_OPTIONS; [] is the fixed structure at its beginning."""
    offset: int
    """Place inside the attribute or structure in bytes."""
    format: str
    """Struct format without padding (native byte order), or "s" for hexadecimal bytes."""
    value: int | str
    """The value that is sent to the kernel."""
    expected: int | str | None
    """The value that must be read back; None is not compared."""
    once: bool
    """Sent when the qdisc is made, and not again when it is changed."""


class WordSpec(TypedDict):
    """A 32-bit word that a qdisc keeps, sampled with its counters."""

    attribute: list[int]
    """Path of attribute types in the kernel's answer about the qdisc."""
    offset: int
    """Place inside the attribute in bytes."""


class QueueSpec(TypedDict):
    """A queueing discipline: sch_link, or the queue or sch_netem below it."""

    kind: str
    """The kernel's name of the qdisc, such as "pfifo" or "netem"."""
    settings: list[SettingSpec]
    """In the order in which they are sent to the kernel."""
    words: list[WordSpec]
    """Samples beside bytes, packets and drops; only queues have some."""


LinkQdiscSpec: TypeAlias = QueueSpec
"""Rate and propagation delay of a channel; see ``link.py``."""

NetemSpec: TypeAlias = QueueSpec
"""Delay, jitter, loss, reordering, duplication and corruption of a channel; see ``netem.py``."""


class PolicerSpec(TypedDict):
    """The act_police at a channel's entry."""

    settings: list[SettingSpec]


class ChannelSpec(TypedDict):
    """One direction of a link: a policer, then a queue, a transmitter and a delay."""

    link: LinkQdiscSpec | None
    """None means that packets pass at once."""
    queue: QueueSpec | None
    """Of packets that wait for the transmitter; None where there is no rate."""
    netem: NetemSpec | None
    """Impairments after the transmission, with the delay; None means no impairment."""
    policer: PolicerSpec | None
    chosen: NotRequired[list[SettingSpec]]
    """Settings by which the link loses packets by their numbers. The bed adds them to those of the
    link right before traffic, because packets are counted from then on; see ``chosen.py``."""


class LinkSpec(TypedDict):
    """A full-duplex link; its index in the list is its number, which determines its devices."""

    name: str
    a: str
    """The node at the end a; packets from there go forward."""
    b: str
    mtu_bytes: int
    """Largest IP packet."""
    forward: ChannelSpec
    reverse: ChannelSpec


class AgentLinkSpec(LinkSpec):
    """The link that a lab's router emulates between two of its interfaces."""

    left: str
    """The interface towards a."""
    right: str
    """The interface towards b."""


class HostSpec(TypedDict):
    """An emulated host: one interface with one address, in most cases in a namespace of its own."""

    name: str
    address: str
    mac: str
    """MAC address as six pairs of hexadecimal digits with colons."""
    peers: list[str]
    """Names of the hosts that it exchanges packets with."""
    machine: NotRequired[str]
    """An earlier host whose namespace has this host's interface, too; absent for one of its own."""


class SwitchSpec(TypedDict):
    """An Open vSwitch bridge; its position in the list, from 1, is its data path's number."""

    name: str
    device: str
    """Name of the bridge's device."""


class QuantitySpec(TypedDict):
    """A random quantity in whole units of its parameter; see ``random_quantities``."""

    distribution: Literal[
        "fixed", "exponential", "pareto", "lognormal", "uniform", "empirical", "mixture"
    ]
    mean: int
    shape: float | None
    """Shape of a Pareto distribution, above 1."""
    deviation: NotRequired[int]
    """Standard deviation of a lognormal distribution."""
    most: NotRequired[int]
    """A value above this is drawn again. Of a uniform distribution it is the largest value."""
    least: NotRequired[int]
    """Smallest value of a uniform distribution."""
    points: NotRequired[list[list[float]]]
    """[value, share of values that are not larger] of an empirical distribution, both rising."""
    parts: NotRequired[list[list[Any]]]
    """[share, quantity] of each part of a mixture; the shares add up to 1."""


class FlowSpec(TypedDict):
    """A flow: one connection, or all connections of one source of traffic."""

    name: str
    source: str
    """The host that sends data."""
    sink: str
    """The host that receives data."""
    congestion: str | None
    """The kernel's name of the congestion control; None for UDP."""
    engine: str
    """The name of the traffic engine; see ``testbed/traffic/__init__.py``."""
    start_ns: int
    """Since the start of traffic."""
    stop_ns: int | None
    """Since the start of traffic; None runs to the end."""
    parameters: Any
    """The engine's own parameters; see ``engine_parameters.py``."""
    seed: int
    """64-bit seed of the flow's random quantities."""
    port: int
    """The port that listens."""
    client_port: int
    """The other port of a flow with one connection."""
    connections: Literal["one", "sequential", "many"]
    """How many connections there are at a time; "sequential" is one after another."""
    server: Literal["sink", "source"]
    """The end that listens."""
    number: NotRequired[int]
    """The flow's number in the run; only for lab agents, which have only some flows."""


class TimedStep(TypedDict):
    """What all changes while traffic runs have in common."""

    time_ns: int
    """Time of the step since the start of traffic."""
    event: NotRequired[int]
    """Number of the event in the run; absent for steps of models with a clock."""


class LinkStep(TimedStep):
    """Another rate, delay or list of packets to lose; the queue keeps its limit."""

    do: Literal["link"]
    channel: str
    settings: list[SettingSpec]


class QueueStep(TimedStep):
    """Other settings of a queue; the others stay."""

    do: Literal["queue"]
    channel: str
    settings: list[SettingSpec]


class NetemStep(TimedStep):
    """Other settings of a netem; the others stay, but a loss replaces the whole loss."""

    do: Literal["netem"]
    channel: str
    settings: list[SettingSpec]


class RuleSpec(TypedDict):
    """The rule at one switch for packets from one host to another."""

    switch: str
    source: str
    sink: str
    link: str | None
    """The outgoing link; None removes the rule, so that the destination's rule applies."""


class SpraySpec(TypedDict):
    """Links among which a switch chooses at random for each packet to some hosts."""

    switch: str
    links: list[str]
    """Two or more; the first is that of ``forwarding``."""
    destinations: list[str]


class RouteStep(TimedStep):
    """Other routes at all switches at once."""

    do: Literal["route"]
    rules: list[RuleSpec]


class SysctlStep(TimedStep):
    """Another value of a sysctl in a host's namespace."""

    do: Literal["sysctl"]
    host: str
    name: str
    value: str | int


PlannedStep: TypeAlias = LinkStep | QueueStep | NetemStep | RouteStep | SysctlStep
"""A change while traffic runs."""


class TraceSpec(TypedDict):
    """The trace of opportunities to send that a channel follows instead of a rate."""

    channel: str
    opportunities: list[tuple[int, int]]
    """[time in ms since the start of traffic, full-size frames that may leave then], in order."""


class CaptureSpec(TypedDict):
    """What the kernel records of packets and connections; see reports/trace_records.py."""

    wanted: int
    """A sum of the values of WANTED."""
    from_ns: int
    """Since the start of traffic; what happens then is in."""
    to_ns: int
    """What happens then is out."""
    limit_bytes: int
    snap_bytes: int
    """Bytes kept of each frame, from its begin on."""


class CapturedHostSpec(TypedDict):
    """A host of the network whose frames the machine that represents it captures."""

    name: str
    address: str
    """Its own in the network, which records have; the machine has another one."""
    peers: list[str]
    """Addresses of the machines with the other ends of its flows."""
    ports: list[tuple[int, int]]
    """First and last of each range of ports at which its flows listen."""


class AgentCaptureSpec(TypedDict):
    """What the machine of an agent captures of the frames of flows."""

    capture: CaptureSpec
    """Its limit is this machine's part of that of the run."""
    hosts: list[CapturedHostSpec]


class SampleSpec(TypedDict):
    """Sampling periods."""

    tcp_ns: int
    """Period for TCP senders."""
    queue_ns: int
    """Period for queues."""
    readings_ns: int
    """Period at which queues are read for checks; a divisor of a second."""
    grid_ns: int | None
    """Period at which the states of TCP senders are read for metrics; None if there are none."""
    counters_ns: NotRequired[int]
    """Period of the SNMP counters of hosts; when absent, they are read at edges of windows only."""


class ModuleSpec(TypedDict):
    """A kernel module that the controller provides or that the machine has installed."""

    name: str
    parameters: str
    """As insmod takes them: "name=value ..."."""


class EndpointSpec(TypedDict):
    """An address that the path manager of a machine may use for subflows."""

    address: str
    announced: bool
    """Whether it is told to the peer, which then connects to it; else the machine connects."""
    backup: bool


class PathManagerSpec(TypedDict):
    """The kernel's path manager of Multipath TCP in one namespace."""

    host: str
    """The machine's first host."""
    further_subflows: int
    """Limit of the subflows of a connection beside the first one."""
    endpoints: list[EndpointSpec]


class AgentModuleSpec(TypedDict):
    """A congestion control that a lab's machine needs."""

    congestion: str
    """The kernel's name of the congestion control."""
    parameters: dict[str, int]
    """Of its module."""


class _RunSpec(TypedDict):
    version: int
    """See ``version.SPECIFICATION_VERSION``."""
    duration_ns: int
    """From the start of traffic to its end."""
    edges_ns: list[int]
    """Borders of the windows for metrics, ascending; everything is sampled at these times."""
    sample: SampleSpec
    flows: list[FlowSpec]
    sysctls: dict[str, str | int]
    """Sysctls of every host's network namespace."""
    namespaces: dict[str, dict[str, str | int]]
    """{host: {sysctl: value}} of single hosts, read back at the end, too."""
    planned_steps: list[PlannedStep]
    """In the order in which they are applied."""
    traces: list[TraceSpec]
    real_time: NotRequired[bool]
    """Set by a test bed on a real machine."""
    late_datagrams_ns: NotRequired[int]
    """Largest lateness of a datagram; set by a test bed on a real machine. 0 when absent."""


class TestbedSpec(_RunSpec):
    """The specification for a guest or a local test bed: the whole network."""

    hosts: list[HostSpec]
    """The n-th host, from 1, has the n-th address."""
    switches: list[SwitchSpec]
    links: list[LinkSpec]
    forwarding: dict[str, dict[str, str]]
    """{switch: {destination host: link by which its packets leave}}."""
    pair_rules: NotRequired[list[RuleSpec]]
    """Rules for pairs of hosts from the start on, where equal paths are chosen by pairs (ECMP)."""
    sprays: NotRequired[list[SpraySpec]]
    """Where packets are sprayed over equal paths, while traffic runs."""
    route_metrics: dict[str, dict[str, int]]
    """{host: {RTAX_* as decimal digits: value}} of all routes of a host."""
    global_sysctls: dict[str, str | int]
    """Sysctls of the whole machine, which only a guest sets."""
    probes: ProbesSpec
    path_managers: NotRequired[list[PathManagerSpec]]
    """Of machines with connections of Multipath TCP."""
    tso_hosts: NotRequired[list[str]]
    """Hosts that hand super-packets to their links. Only these links cut them into frames."""
    gro_hosts: NotRequired[list[str]]
    """Hosts whose kernels merge segments that come at once."""
    capture: NotRequired[CaptureSpec]
    interactive: NotRequired[bool]
    """Whether the network is for a user's commands; then it has no flows."""
    modules: NotRequired[list[ModuleSpec]]
    """Set by the back end before it writes the file."""
    hook: NotRequired[str]
    """Set by tests: a Python file in ``folder`` that breaks the finished bed on purpose."""
    folder: NotRequired[str]
    """The folder of ``spec.json``; set by the test bed."""


class AgentSpec(_RunSpec):
    """The specification for the agent of a lab machine: its own part of the network."""

    name: str
    """The machine's name in the scenario."""
    nodes: list[str]
    """The network's hosts that it represents; empty for a router."""
    addresses: dict[str, str]
    """{host of the network: address of the machine that represents it}."""
    interfaces: list[str]
    """The machine's interfaces that traffic crosses."""
    offloads_off: bool
    """Whether segmentation and receive offloads are switched off."""
    links: list[AgentLinkSpec]
    """The link that it emulates as a router, if it does."""
    route_metrics: dict[str, dict[str, int]]
    """{address of a peer: {RTAX_* as decimal digits: value}}."""
    modules: list[AgentModuleSpec]
    ports: list[int]
    """The first and the last port that flows listen at."""
    round_trips: list[RoundTripProbe]
    """Measurements that begin at this machine."""
    counts: bool
    """Whether our module run_counts is needed, which counts the datagrams of programs."""
    most_kept_bytes: int
    """Of all files together that are kept of the programs of this machine."""
    capture: NotRequired[AgentCaptureSpec]
    origin_ns: NotRequired[int]
    """The origin on this machine's monotonic clock; added by the start message."""
    origins_ns: NotRequired[dict[str, int]]
    """The same of every host of the network, each by its own clock."""
