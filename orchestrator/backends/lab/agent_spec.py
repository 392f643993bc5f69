"""Builds the specification for each lab agent: its own part of the whole bed's specification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from orchestrator.compile.testbed_spec import bed_spec
from orchestrator.planning.flows.programs import runs_in
from orchestrator.planning.runspec import LabHost, LabPlan, PlannedFlow, RunSpec
from orchestrator.protocol.kept_files import MOST_RUN_BYTES
from orchestrator.protocol.links.frames import ECHO_FRAME_BYTES
from orchestrator.protocol.ports import MANY_PORTS
from orchestrator.protocol.programs import PROGRAM
from orchestrator.protocol.specification import (
    AgentCaptureSpec,
    AgentLinkSpec,
    AgentModuleSpec,
    AgentSpec,
    CapturedHostSpec,
    FlowSpec,
    PlannedStep,
    TestbedSpec,
)

_COUNTED_BYTES = 2**30
"""Memory size for ``bed_spec``; only guests use it."""


def agent_documents(
    run: RunSpec, addresses: Mapping[str, str], bare_ns: Mapping[tuple[str, str], int]
) -> dict[str, AgentSpec]:
    """Return the specification for each machine by its name; see testbed/lab/bed.py.

    Args:
        run: a run with lab hosts.
        addresses: the address of each machine that sends or receives.
        bare_ns: round trips from machine to machine without emulation.
    """
    lab = plan_of(run)
    spec = bed_spec(run, _COUNTED_BYTES)
    by_node = {node: addresses[host.name] for host in lab.hosts for node in host.nodes}
    machine = {node: host.name for host in lab.hosts for node in host.nodes}
    for probe in spec["probes"]["round_trips"]:
        probe["bare_ns"] = bare_ns[machine[probe["source"]], machine[probe["sink"]]]
        probe["expected_ns"] += probe["bare_ns"]
    return {host.name: _agent(run, lab, host, spec, by_node) for host in lab.hosts}


def plan_of(run: RunSpec) -> LabPlan:
    """Return the run's plan of machines, which every lab run has."""
    assert run.lab is not None, "the back end refuses runs without lab hosts"
    return run.lab


def _agent(
    run: RunSpec, lab: LabPlan, host: LabHost, spec: TestbedSpec, addresses: dict[str, str]
) -> AgentSpec:
    ends = host.role != "router"
    flows: list[FlowSpec] = [
        {**flow, "number": number}
        for number, flow in enumerate(spec["flows"])
        if {flow["source"], flow["sink"]} & set(host.nodes)
    ]
    made: AgentSpec = {
        "version": spec["version"],
        "duration_ns": spec["duration_ns"],
        "edges_ns": spec["edges_ns"],
        "sample": spec["sample"],
        "name": host.name,
        "nodes": list(host.nodes),
        "addresses": addresses,
        "interfaces": list(host.interfaces),
        "offloads_off": lab.offloads_off,
        "links": emulated(run) if host.role == "router" else [],
        "flows": flows,
        "sysctls": spec["sysctls"] if ends else {},
        "namespaces": {n: v for n, v in spec["namespaces"].items() if n in host.nodes},
        "route_metrics": _route_metrics(spec, flows, host, addresses),
        "modules": modules_of(run, host),
        "ports": ports(run),
        "planned_steps": [step for step in spec["planned_steps"] if _is_here(step, host)],
        "traces": [] if ends else spec["traces"],
        "round_trips": [
            probe
            for probe in spec["probes"]["round_trips"]
            if probe["source"] in host.nodes and probe["frame_bytes"] == ECHO_FRAME_BYTES
        ],
        "counts": needs_counts(run, host),
        "most_kept_bytes": most_kept_bytes(run),
    }
    if (captured := _captured(run, host, spec, addresses)) is not None:
        made["capture"] = captured
    return made


def _captured(
    run: RunSpec, host: LabHost, spec: TestbedSpec, addresses: Mapping[str, str]
) -> AgentCaptureSpec | None:
    """Return what a machine captures: the frames of flows, apart for each host that it represents.

    The limit is shared evenly by all hosts of the run with flows.
    """
    capture, here = spec.get("capture"), nodes_with_flows(run, host)
    if capture is None or not here:
        return None
    own = {each["name"]: each["address"] for each in spec["hosts"]}
    hosts: list[CapturedHostSpec] = []
    for node in here:
        flows = [flow for flow in run.flows if node in (flow.source, flow.sink)]
        others = [flow.sink if node == flow.source else flow.source for flow in flows]
        hosts.append(
            {
                "name": node,
                "address": own[node],
                "peers": sorted({addresses[other] for other in others}),
                "ports": ranges(port for flow in flows for port in _ports_of(flow)),
            }
        )
    limit_bytes = capture["limit_bytes"] * len(here) // len(_ends(run))
    return {"capture": {**capture, "limit_bytes": limit_bytes}, "hosts": hosts}


def nodes_with_flows(run: RunSpec, host: LabHost) -> list[str]:
    """Return the hosts with ends of flows that a machine represents: those that it captures at."""
    ends = _ends(run)
    return [node for node in host.nodes if node in ends]


def _ends(run: RunSpec) -> set[str]:
    return {end for flow in run.flows for end in (flow.source, flow.sink)}


def needs_counts(run: RunSpec, host: LabHost) -> bool:
    """Return whether a machine needs our module run_counts: flows of programs have ends there."""
    return runs_in(list(flows_of(run, host)))


def most_kept_bytes(run: RunSpec) -> int:
    """Return how much each machine may keep of the files of programs: an even share."""
    machines = [host for host in plan_of(run).hosts if needs_counts(run, host)]
    return MOST_RUN_BYTES // max(len(machines), 1)


def _ports_of(flow: PlannedFlow) -> Iterable[int]:
    """Return the ports of which each packet of a flow has one."""
    return MANY_PORTS if flow.engine == PROGRAM else [flow.port]


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return numbers as ranges, each with its first and its last one."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _is_here(step: PlannedStep, host: LabHost) -> bool:
    """Return whether that machine applies a planned step."""
    return step["host"] in host.nodes if step["do"] == "sysctl" else host.role == "router"


def _route_metrics(
    spec: TestbedSpec, flows: Sequence[FlowSpec], host: LabHost, addresses: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    """Return {address of a peer: metrics} of a machine's routes."""
    metrics: dict[str, dict[str, int]] = {}
    for flow in flows:
        for here, there in ((flow["source"], flow["sink"]), (flow["sink"], flow["source"])):
            if here in host.nodes and here in spec["route_metrics"]:
                metrics[addresses[there]] = spec["route_metrics"][here]
    return metrics


def emulated(run: RunSpec) -> list[AgentLinkSpec]:
    """Return the link that the router emulates; empty over a live path."""
    router = plan_of(run).router
    if router is None:
        return []
    links = bed_spec(run, _COUNTED_BYTES)["links"]
    return [
        {**link, "left": router.left, "right": router.right}
        for link in links
        if link["name"] == router.link
    ]


def flows_of(run: RunSpec, host: LabHost) -> Iterator[PlannedFlow]:
    """Yield the flows with an end on that machine."""
    return (flow for flow in run.flows if {flow.source, flow.sink} & set(host.nodes))


def modules_of(run: RunSpec, host: LabHost) -> list[AgentModuleSpec]:
    """Return the congestion controls that a machine needs, with the parameters of their modules.

    Both ends of a flow have its congestion control.
    """
    needed: dict[str, dict[str, int]] = {}
    for flow in flows_of(run, host):
        if flow.congestion is not None:
            needed[flow.congestion] = dict(flow.parameters)
    return [
        {"congestion": name, "parameters": parameters}
        for name, parameters in sorted(needed.items())
    ]


def ports(run: RunSpec) -> list[int]:
    """Return the first and the last port that flows listen at."""
    known = [flow.port for flow in run.flows]
    return [min(known), max(known)]
