"""Checks the survey of all lab hosts before a run, and names each problem with its fix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kmods import catalogue
from orchestrator.backends.lab.agent_spec import (
    emulated,
    flows_of,
    modules_of,
    needs_counts,
    plan_of,
    ports,
)
from orchestrator.backends.lab.signals import ends
from orchestrator.backends.remote.ssh import ClockOffset
from orchestrator.errors import MachineError
from orchestrator.planning.flows.programs import program_names
from orchestrator.planning.runspec import LabHost, LabRouter, PlannedFlow, RunSpec
from orchestrator.protocol import engines
from orchestrator.protocol.examination import (
    InterfaceState,
    InterfaceStates,
    RouteState,
    SurveyAnswer,
    SurveySpec,
)
from orchestrator.protocol.kernel_modules import COUNTS
from orchestrator.protocol.programs import CLIENT, PROGRAM, SERVER
from orchestrator.protocol.version import SPECIFICATION_VERSION

MTU_BYTES = 1500
MOST_UNCERTAIN_NS = 2_500_000
"""Half of the largest clock difference at the end of a run (see fidelity/check_clock.py)."""
LEAST_HEADROOM = 1.05
_MODULES_FIX = "ansible-playbook -i INVENTORY playbooks/site.yml"


@dataclass(frozen=True)
class LabProblem:
    """What is wrong with a machine, and the command or action that fixes it."""

    host: str
    what: str
    fix: str


@dataclass
class LabState:
    """The state of a lab: what each machine answered, by the machine's name.

    ``bare_ns`` has the round-trip times between machines without emulation.
    """

    answers: dict[str, SurveyAnswer] = field(default_factory=dict)
    clocks: dict[str, ClockOffset] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    bare_ns: dict[tuple[str, str], int] = field(default_factory=dict)


def require_none(problems: Sequence[LabProblem]) -> None:
    """Raise MachineError with a table of the problems, if there are any."""
    if not problems:
        return
    rows = [("host", "what is wrong", "fix"), *((p.host, p.what, p.fix) for p in problems)]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"  {a:{widths[0]}}  {b:{widths[1]}}  {c}" for a, b, c in rows]
    count = "1 problem prevents" if len(problems) == 1 else f"{len(problems)} problems prevent"
    text = "\n".join([f"{count} the lab run; nothing was run:", *lines])
    raise MachineError(text, problems[0].fix if len(problems) == 1 else "the last column, by line")


def question(run: RunSpec, host: LabHost) -> SurveySpec:
    """Return what a machine is asked first."""
    flows = list(flows_of(run, host))
    sysctls = [run.hosts[node].sysctls for node in host.nodes if node in run.hosts]
    return {
        "version": SPECIFICATION_VERSION,
        "interfaces": list(host.interfaces),
        "congestion": [module["congestion"] for module in modules_of(run, host)],
        "routes_to": [],
        "echoes": [],
        "ports": ports(run),
        "udp": any(flow.transport == "udp" for flow in flows),
        "programs": engines.programs(flow.engine for flow in flows),
        "users_programs": sorted(set(_users_programs(flows, host))),
        "servers": sorted(set(_servers(flows, host))),
        "counts": needs_counts(run, host),
        "links": emulated(run) if host.role == "router" else [],
        "sysctls": sorted({name for values in sysctls for name in values}),
    }


def _users_programs(flows: Sequence[PlannedFlow], host: LabHost) -> Iterator[str]:
    """Yield the programs of the scenario that run on a machine and have to be there."""
    for flow in flows:
        if flow.engine == PROGRAM:
            for role, end in zip((SERVER, CLIENT), ends(flow), strict=True):
                if end in host.nodes:
                    yield from program_names([flow], [role])


def _servers(flows: Sequence[PlannedFlow], host: LabHost) -> Iterator[tuple[str, int]]:
    """Yield (transport, port) of the sockets that programs of the scenario open on a machine."""
    for flow in flows:
        if flow.engine == PROGRAM and ends(flow)[0] in host.nodes:
            ready = flow.traffic_parameters["ready"]
            if ready is not None:
                yield ready["transport"], ready["port"]


_SILENT: SurveySpec = {
    "version": SPECIFICATION_VERSION,
    "interfaces": [], "congestion": [], "routes_to": [], "echoes": [], "ports": [1, 1],
    "udp": False, "programs": [], "users_programs": [], "servers": [], "counts": False,
    "links": [], "sysctls": [],
}  # fmt: skip


def look(run: RunSpec, state: LabState) -> Iterator[LabProblem]:
    """Yield the problems of single machines, and note their addresses."""
    lab = plan_of(run)
    for host in lab.hosts:
        answer = state.answers[host.name]
        yield from _machine(run, host, answer)
        if host.role == "router" and lab.router is not None:
            yield from _router(lab.router, answer)
        elif (interface := answer["interfaces"][host.interfaces[0]]) is not None:
            if interface["addresses"]:
                state.addresses[host.name] = interface["addresses"][0][0]
            else:
                name = host.interfaces[0]
                fix = f"ip address add ADDRESS/24 dev {name}"
                yield LabProblem(host.name, f"{name} has no IPv4 address", fix)
        offset = state.clocks[host.name]
        if offset.uncertainty_ns > MOST_UNCERTAIN_NS:
            what = f"its clock can be read to within {offset.uncertainty_ns / 1e6:.1f} ms only"
            fix = f"reach it by a path with round trips below {2 * MOST_UNCERTAIN_NS / 1e6:g} ms"
            yield LabProblem(host.name, what, fix)
    yield from _modules(run, state)


def _machine(run: RunSpec, host: LabHost, answer: SurveyAnswer) -> Iterator[LabProblem]:
    name = host.name
    if answer["locked"]:
        yield LabProblem(name, answer["locked"], "wait for its end")
    for left in answer["leftovers"]:
        if ": " in left:
            yield LabProblem(name, f"a run that was killed left {left}", "undo it by hand")
    for interface in host.interfaces:
        yield from _interface(run, host, interface, answer["interfaces"])
    for sysctl in answer["missing_sysctls"]:
        fix = "leave that option out of `tcp`, or take a newer kernel"
        yield LabProblem(name, f"kernel {answer['kernel']} has no {sysctl}", fix)
    if answer["ports_in_use"]:
        used = ", ".join(map(str, answer["ports_in_use"]))
        yield LabProblem(
            name, f"ports of flows are in use: {used}", "end what has them (ss -tuanp)"
        )
    yield from _missing(name, answer)
    if answer["io_uring"] is False:
        fix = "sysctl -w kernel.io_uring_disabled=0"
        yield LabProblem(name, "UDP is sent by io_uring, which is switched off", fix)


def _missing(host: str, answer: SurveyAnswer) -> Iterator[LabProblem]:
    """Yield the programs, and the module for programs, that a machine lacks."""
    for program, there in answer["programs"].items():
        if not there:
            yield LabProblem(host, f"there is no {program}", f"apt-get install {program}")
    for program, there in answer["users_programs"].items():
        if not there:
            what = f"there is no {program}, which the scenario runs there"
            yield LabProblem(host, what, "install it there")
    if answer["counts"] is False:
        what = f"there is no module {COUNTS}, which counts the datagrams of programs"
        yield LabProblem(host, what, _MODULES_FIX)


def _interface(
    run: RunSpec, host: LabHost, name: str, interfaces: InterfaceStates
) -> Iterator[LabProblem]:
    state: InterfaceState | None = interfaces[name]
    if state is None:
        there = ", ".join(other for other in interfaces[""] if other != "lo")
        fix = f"name one of these in the scenario's `lab`: {there}"
        yield LabProblem(host.name, f"there is no interface {name}", fix)
        return
    if not state["up"]:
        yield LabProblem(host.name, f"{name} is down", f"ip link set {name} up")
    rates = [rate for link in run.network.links for c in (link.forward, link.reverse)
             if (rate := c.rate_bps) is not None]  # fmt: skip
    if not rates:
        return
    if state["mtu"] != MTU_BYTES:
        what = f"{name} has an MTU of {state['mtu']}, and a bottleneck's frames have {MTU_BYTES}"
        yield LabProblem(host.name, what, f"ip link set {name} mtu {MTU_BYTES}")
    speed = state["speed_mbitps"]
    if speed is not None and speed * 1e6 < LEAST_HEADROOM * max(rates):
        what = f"{name} has {speed} Mbit/s, and the bottleneck {max(rates) / 1e6:g}"
        yield LabProblem(
            host.name, what, "lower topology.bottleneck.rate, or take a faster interface"
        )


def _router(router: LabRouter, answer: SurveyAnswer) -> Iterator[LabProblem]:
    if not answer["forwards"]:
        yield LabProblem(router.host, "it does not forward", "sysctl -w net.ipv4.ip_forward=1")
    for name in (router.left, router.right):
        state: InterfaceState | None = answer["interfaces"][name]
        for foreign in [] if state is None else state["foreign"]:
            what = f"{name} has {foreign}, which somebody else has set"
            hook = "clsact" if foreign.startswith(("clsact", "ingress")) else "root"
            yield LabProblem(router.host, what, f"tc qdisc del dev {name} {hook}")
    if answer["comes_in_by"] in (router.left, router.right):
        what = f"the SSH connection uses {answer['comes_in_by']}, which is to be a bottleneck"
        yield LabProblem(router.host, what, "reach it by another interface (ansible_host)")
    if answer["emulation"]:
        what = f"the kernel cannot emulate this: {answer['emulation']}"
        fix = "make -C kmods dkms (for sch_link); a kernel with netem and the queue's kind"
        yield LabProblem(router.host, what, fix)


def _modules(run: RunSpec, state: LabState) -> Iterator[LabProblem]:
    """Yield congestion controls that are missing, take other parameters, or are not the same."""
    first: dict[str, tuple[str, str | None]] = {}
    for host in plan_of(run).hosts:
        for module in modules_of(run, host):
            name = module["congestion"]
            has = state.answers[host.name]["congestion"][name]
            ours = name in catalogue.modules()
            if has is None:
                fix = _MODULES_FIX if ours else f"modprobe tcp_{name}"
                yield LabProblem(host.name, f"there is no congestion control {name}", fix)
                continue
            for parameter in module["parameters"]:
                if parameter not in has["parameters"]:
                    what = f"tcp_{name} takes no parameter {parameter}"
                    fix = _MODULES_FIX if ours else f"use a kernel whose tcp_{name} takes it"
                    yield LabProblem(host.name, what, fix)
            source = has["srcversion"]
            other, same = first.setdefault(name, (host.name, source))
            if source != same and None not in (source, same):
                what = f"tcp_{name} is of other sources ({source}) than on {other} ({same})"
                yield LabProblem(host.name, what, _MODULES_FIX)


def second_question(run: RunSpec, host: LabHost, state: LabState) -> SurveySpec:
    """Return what a machine is asked once all addresses are known."""
    lab = plan_of(run)
    peers = sorted({state.addresses[other] for other in _peers(run, host)})
    if host.role == "router":
        others = [other.name for other in lab.hosts if other.role != "router"]
        return {**_SILENT, "routes_to": [state.addresses[other] for other in others]}
    own = state.addresses[host.name]
    return {**_SILENT, "routes_to": peers, "echoes": [(own, peer) for peer in peers]}


def _peers(run: RunSpec, host: LabHost) -> list[str]:
    """Return the machines that have a flow with that one."""
    machine = {node: lab_host.name for lab_host in plan_of(run).hosts for node in lab_host.nodes}
    pairs = [(machine[flow.source], machine[flow.sink]) for flow in run.flows]
    peers = [b if a == host.name else a for a, b in pairs if host.name in (a, b)]
    return list(dict.fromkeys(peers))


def look_again(
    run: RunSpec, state: LabState, second: Mapping[str, SurveyAnswer]
) -> Iterator[LabProblem]:
    """Yield what is wrong with the routes between machines, and note their round trips."""
    lab = plan_of(run)
    at = {address: name for name, address in state.addresses.items()}
    for host in lab.hosts:
        if host.role == "router":
            continue
        for address, route in second[host.name]["routes"].items():
            yield from _route(lab.router, host, at[address], address, route, state)
        for echo in second[host.name]["echoes"]:
            there = at[echo["destination"]]
            if echo["round_trip_ns"] is None:
                what = f"no echo comes back from {there} ({echo['destination']})"
                fix = "make the path work in both directions, and let ICMP echoes pass"
                yield LabProblem(host.name, what, fix)
            else:
                state.bare_ns[host.name, there] = echo["round_trip_ns"]
    if lab.router is None:
        return
    sides = {"sender": lab.router.left, "receiver": lab.router.right}
    for host in lab.hosts:
        if host.role in sides:
            address = state.addresses[host.name]
            route = second[lab.router.host]["routes"][address]
            out = None if route is None else route["interface"]
            if out != sides[host.role]:
                what = f"packets to {host.name} ({address}) leave by {out or 'no interface'}"
                fix = f"let them leave by {sides[host.role]}: ip route add {address}/32 dev ..."
                yield LabProblem(lab.router.host, what, fix)


def _route(
    router: LabRouter | None,
    host: LabHost,
    there: str,
    address: str,
    route: RouteState | None,
    lab_state: LabState,
) -> Iterator[LabProblem]:
    """Yield what is wrong with the route from one end to another."""
    what = f"packets to {there} ({address}) "
    if route is None:
        yield LabProblem(host.name, f"{what}have no route", f"ip route add {address}/32 via ...")
        return
    if route["interface"] != host.interfaces[0]:
        fix = f"ip route add {address}/32 dev {host.interfaces[0]} ..., or name that interface"
        yield LabProblem(host.name, f"{what}leave by {route['interface']}", fix)
        return
    if router is None:
        return
    near = router.left if host.role == "sender" else router.right
    state: InterfaceState | None = lab_state.answers[router.host]["interfaces"][near]
    gateways = [] if state is None else [address for address, _prefix in state["addresses"]]
    if route["gateway"] not in gateways:
        by = f"by {route['gateway']}" if route["gateway"] else "directly"
        fix = f"ip route add {address}/32 via {', '.join(gateways) or 'the router'}"
        yield LabProblem(host.name, f"{what}go {by}, not by {router.host}", fix)
