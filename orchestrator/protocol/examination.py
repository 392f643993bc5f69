"""What the controller asks about a machine or its kernel apart from a run, and the answers.

Three programs of the test bed answer: ``preflight`` for machines with a whole test bed,
``lab.survey`` for lab hosts, and ``module_check`` for the guest's kernel. All values are JSON.
The test bed imports this module for type checks only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from orchestrator.protocol.specification import AgentLinkSpec

if TYPE_CHECKING:
    from typing import TypeAlias


class Needs(TypedDict):
    """What runs need of a real machine."""

    modules: list[str]
    """Names of kernel modules."""
    ours: list[str]
    """Those kernel modules that this project provides."""
    programs: list[str]
    io_uring: bool
    """Whether datagrams are sent."""


class Finding(TypedDict):
    """One property of a real machine that runs depend on."""

    name: str
    ok: bool
    detail: str
    fix: str
    """The command or action that fixes what is not ok; empty where it is ok."""


class SurveySpec(TypedDict):
    """What a lab host is asked before a run."""

    version: int
    """See ``version.SPECIFICATION_VERSION``."""
    interfaces: list[str]
    """Interfaces that the run uses."""
    congestion: list[str]
    """Congestion controls to look for."""
    routes_to: list[str]
    """Addresses whose routes are looked up."""
    echoes: list[tuple[str, str]]
    """[own address, other's address] to measure the round trip of."""
    ports: list[int]
    """The first and the last port that flows listen at."""
    udp: bool
    """Whether a flow sends datagrams."""
    programs: list[str]
    """Programs that flows need."""
    users_programs: list[str]
    """Programs that the scenario names, by their names or paths."""
    servers: list[tuple[str, int]]
    """[transport, port] of each socket that a program of the scenario is to open."""
    counts: bool
    """Whether our module run_counts is needed."""
    links: list[AgentLinkSpec]
    """What a router is to emulate."""
    sysctls: list[str]
    """Sysctls that the run sets."""


class InterfaceState(TypedDict):
    """An interface of a lab host."""

    up: bool
    mtu: int
    addresses: list[tuple[str, int]]
    """[IPv4 address, prefix length] of each."""
    speed_mbitps: int | None
    """None where the driver does not say."""
    offloads: dict[str, bool]
    qdisc: str | None
    """The kernel's name of the root qdisc."""
    foreign: list[str]
    """Qdiscs and filters that this project has not set."""


class CongestionState(TypedDict):
    """A congestion control of a lab host's kernel; values are None where the kernel has none.

    Modules of the same sources have the same srcversion.
    """

    version: str | None
    srcversion: str | None
    sha256: str | None
    """Of the module's file."""
    parameters: list[str]
    """Names of the module's parameters."""


class RouteState(TypedDict):
    """How packets to an address leave a lab host."""

    interface: str
    gateway: str | None
    """None where the address is a neighbour's."""
    source: str | None


class EchoResult(TypedDict):
    """A round trip between two lab hosts."""

    source: str
    destination: str
    round_trip_ns: int | None
    """The shortest of several; None where no echo came back."""
    ttl: int | None
    """TTL with which the echo arrived."""


InterfaceStates: TypeAlias = dict[str, Any]
"""{name: InterfaceState, or None where there is no such interface}.

The key "" has the names of all interfaces of the host.
"""


class SurveyAnswer(TypedDict):
    """What a lab host answers; it becomes part of the provenance."""

    kernel: str
    machine: str
    locked: str | None
    """Why another run keeps this one from the host; None where none does."""
    leftovers: list[str]
    """Folders of runs that were killed: "FOLDER", or "FOLDER: what could not be undone"."""
    forwards: bool
    interfaces: InterfaceStates
    comes_in_by: str | None
    """The interface with the address that the controller connected to."""
    congestion: dict[str, CongestionState | None]
    """None where the kernel has no such congestion control."""
    missing_sysctls: list[str]
    ports_in_use: list[int]
    routes: dict[str, RouteState | None]
    """By address; None where there is no route."""
    echoes: list[EchoResult]
    programs: dict[str, bool]
    """Whether each program is installed."""
    users_programs: dict[str, bool]
    """The same of those that the scenario names."""
    counts: bool | None
    """Whether run_counts is loaded or can be; None where it is not needed."""
    io_uring: bool | None
    """Whether io_uring can be used; None where no flow sends datagrams."""
    emulation: str | None
    """Why the kernel cannot emulate the links; None where it can."""
    clock_source: str | None


class ParameterCheck(TypedDict):
    """A parameter of a congestion-control module, or its setting in a network namespace."""

    name: str
    default: int | None
    """None where the source does not say; never of this project's modules."""
    low: int
    high: int
    bad: list[str]
    """Values that the kernel must refuse, as text."""


class ModuleCheck(TypedDict):
    """A congestion-control module whose behaviour in the kernel is checked."""

    name: str
    """The kernel's name of the congestion control."""
    file: str
    parameters: list[ParameterCheck]
    """Parameters of the kernel module."""
    settings: list[ParameterCheck]
    """Sysctls of each network namespace."""


Observed: TypeAlias = "str | bool | list[str]"


class ModuleAnswer(TypedDict):
    """One thing that was tried with a module, and its result."""

    about: str
    """"loads", "parameters", "refuses" or "unloads"."""
    parameter: str | None
    """The parameter that was tried, if it was one."""
    asked: str
    """What was tried."""
    wanted: Observed
    """The result that the module's source promises."""
    got: Observed
    """The result; errors by their names, such as "EINVAL"."""
