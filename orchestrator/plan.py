"""From a loaded scenario to the runs it asks for: everything decided, nothing left to draw.

- Repetition 0 uses the scenario's ``seed`` itself. Repetition r > 0 uses the first eight bytes of
  sha256("<seed>:repetition:<r>"), big-endian, less the top bit: neighbouring seeds share no
  repetition. Variants of a matrix share their seeds, so that they are compared under equal
  draws.
- A flow's jitter is floor(u x (J + 1)) microseconds, where J is ``start_jitter`` in whole
  microseconds and u the first number of Python's ``random.Random("<seed>:start:<index>")``
  (Mersenne Twister seeded with the text), index counting the expanded flows from 0. A draw
  depends on no other draw, and not on names: renaming a flow does not change the run.
- A queue limit of n bdp is n x rate x base RTT of the flows whose data or ACKs cross the channel.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path as FilePath
from typing import Any

from orchestrator.errors import Fault, ScenarioError
from orchestrator.runspec import FRAME_BYTES, Plan, PlannedFlow, RunSpec, Window
from orchestrator.scenario import Flow, LoadedScenario, LoadedVariant, Scenario, load
from orchestrator.scenario.model import MAX_FLOWS
from orchestrator.units import LIMIT_MAX, NS_PER_S, Limit, format_rate, format_time, shown
from topologies import QueuePlace, Topology
from topologies.model import Channel, DirectionName, Hop, Link, Network, Queue, path_delay_s

__all__ = ["Plan", "PlannedFlow", "RunSpec", "Window", "plan", "validate"]

FIRST_PORT = 5001
MAX_PLANNED_FLOWS = 1_000_000
"""Flows of all runs together."""


def plan(loaded: LoadedScenario, experiment: str | None = None) -> Plan:
    """Return every run that the scenario asks for; ``experiment`` is its name by default.

    Raises:
        ScenarioError: a queue is below one frame, two hosts are not joined, or the scenario is
            larger than is sensible; at the line and column of the cause.
    """
    faults: list[Fault] = []
    runs: list[RunSpec] = []
    planned = 0
    for variant in loaded.variants:
        try:
            draft = _draft(variant)
        except ScenarioError as error:
            faults += error.faults
            continue
        planned += len(draft.flows) * variant.scenario.repetitions
        if planned > MAX_PLANNED_FLOWS:
            where = ("repetitions",) if variant.scenario.repetitions > 1 else ("matrix",)
            message = f"more than {MAX_PLANNED_FLOWS} flows in all runs together"
            raise ScenarioError([loaded.mark(where).fault(message)])
        if not faults:
            numbers = range(variant.scenario.repetitions)
            runs += [_run(loaded, variant, draft, number) for number in numbers]
    if faults:
        raise ScenarioError(list(dict.fromkeys(faults)))
    return Plan(experiment or loaded.scenario.name, runs)


def validate(path: FilePath, overrides: Sequence[str] = ()) -> list[Fault]:
    """Return every fault of a scenario file, also those that only planning finds; none if valid."""
    try:
        plan(load(path, overrides))
    except ScenarioError as error:
        return error.faults
    return []


def repetition_seed(seed: int, repetition: int) -> int:
    """Return the seed of a repetition, from 0 to 2^63 - 1; see the module's docstring."""
    if repetition == 0:
        return seed
    digest = hashlib.sha256(f"{seed}:repetition:{repetition}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def start_jitter_ns(seed: int, index: int, most_s: float) -> int:
    """Return a flow's jitter, in whole microseconds from 0 to ``most_s``, as ns."""
    draw = random.Random(f"{seed}:start:{index}").random()
    return int(draw * (_ns(most_s) // 1000 + 1)) * 1000


@dataclass(frozen=True)
class _Draft:
    """What the repetitions of a variant share: queues sized, flows without jitter."""

    network: Network
    flows: tuple[PlannedFlow, ...]
    resolved: dict[str, Any]


def _draft(variant: LoadedVariant) -> _Draft:
    topology = variant.scenario.topology
    if not isinstance(topology, Topology):
        raise TypeError(f"{type(topology).__name__} is not derived from topologies.Topology")
    layout = topology.layout()
    flows: list[PlannedFlow] = []
    lines: list[list[PlannedFlow]] = []
    trips: dict[str, set[int]] = {}  # base RTTs (ns) of the flows that cross each channel
    for index, flow in enumerate(variant.scenario.flows):
        lines.append(_expand(variant, flow, index, layout.network, len(flows), trips))
        flows += lines[-1]
    faults = list(_settings_faults(variant, lines))
    if faults:
        raise ScenarioError(faults)
    network = _with_queues(variant, layout.network, layout.queues, trips)
    resolved = variant.scenario.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"matrix", "repetitions"}
    )
    return _Draft(network, tuple(flows), resolved)


def _expand(
    variant: LoadedVariant,
    flow: Flow,
    index: int,
    network: Network,
    before: int,
    trips: dict[str, set[int]],
) -> list[PlannedFlow]:
    """Return the flows of one line, host by host, and note which channels they cross."""
    group = network.group(flow.group)
    pairs = list(zip(group.sources, group.sinks, strict=True))
    if flow.direction == "reverse":
        pairs = [(sink, source) for source, sink in pairs]
    number = len(pairs) * flow.count
    if before + number > MAX_FLOWS:
        mark = variant.mark(("flows", index))
        raise ScenarioError([mark.fault(f"{before + number} flows; {MAX_FLOWS} are allowed")])
    demand, control = flow.traffic.demand(), flow.congestion
    module = variant.modules.find(control.name, control.module)
    scopes = {} if module is None else {p.name: p.scope for p in module.parameters.values()}
    told = control.parameters.items()
    folder = None if control.module is None else variant.modules.folder(control.module)
    flows: list[PlannedFlow] = []
    for source, sink in pairs:
        there, back = _paths(variant, index, network, source, sink)
        rtt_ns = _ns(path_delay_s((*there, *back)))
        for hop in (*there, *back):
            trips.setdefault(hop.name, set()).add(rtt_ns)
        for _ in range(flow.count):
            flows.append(
                PlannedFlow(
                    name=flow.name if number == 1 else f"{flow.name}[{len(flows)}]",
                    group=flow.group,
                    source=source,
                    sink=sink,
                    congestion=control.name,
                    parameters={key: value for key, value in told if scopes[key] == "kernel"},
                    settings={key: value for key, value in told if scopes[key] == "namespace"},
                    module=folder,
                    shown=() if module is None else module.shown,
                    traffic=flow.traffic.kind,
                    engine=demand.engine,
                    start_s=flow.start,
                    stop_s=flow.stop,
                    bytes=demand.size_bytes,
                    port=FIRST_PORT + before + len(flows),
                    base_rtt_s=rtt_ns / NS_PER_S,
                    path=tuple(hop.name for hop in there),
                    ack_path=tuple(hop.name for hop in back),
                )
            )
    return flows


def _settings_faults(
    variant: LoadedVariant, lines: Sequence[Sequence[PlannedFlow]]
) -> Iterator[Fault]:
    """Yield a fault for each setting of a host that two lines of flows do not agree on.

    A setting belongs to the sending host's namespace: every flow there whose congestion control
    is of the same module gets it, whether its line gives it or not.
    """
    first: dict[tuple[str, FilePath], int] = {}
    for index, line in enumerate(lines):
        control = variant.scenario.flows[index].congestion
        module = variant.modules.find(control.name, control.module)
        if module is None:
            continue
        told: set[str] = set()
        for flow in line:
            other = lines[first.setdefault((flow.source, module.source), index)][0]
            for name in dict.fromkeys((*flow.settings, *other.settings)):
                mine, theirs = flow.settings.get(name), other.settings.get(name)
                if mine != theirs and name not in told:
                    told.add(name)
                    where = ("flows", index, "congestion", "parameters", name)
                    yield variant.mark(where).fault(
                        f"{name} is a setting of the sending host, and flow {shown(other.name)} "
                        f"sends from {flow.source}, too, "
                        + _differently(control.name, name, mine, theirs)
                    )


def _differently(control: str, name: str, mine: int | None, theirs: int | None) -> str:
    if theirs is None:
        return f"with {control} and without {name}: it would get it, so give it the same there"
    if mine is None:
        return f"where it sets {theirs}: this flow would get that, so give it the same here"
    return f"where it sets {theirs}, not {mine}"


def _paths(
    variant: LoadedVariant, flow: int, network: Network, source: str, sink: str
) -> tuple[tuple[Hop, ...], tuple[Hop, ...]]:
    try:
        return network.path(source, sink), network.path(sink, source)
    except LookupError as error:
        mark = variant.mark(("flows", flow, "group"))
        raise ScenarioError([mark.fault(str(error))]) from None


def _with_queues(
    variant: LoadedVariant,
    network: Network,
    queues: dict[str, QueuePlace],
    trips: dict[str, set[int]],
) -> Network:
    """Return the network with every queue sized; ScenarioError with all that cannot be."""
    faults: list[Fault] = []
    links: list[Link] = []
    for link in network.links:
        channels: dict[DirectionName, Channel] = {}
        for hop in _hops(link):
            channel, place = hop.channel, queues.get(hop.name)
            if place is not None and channel.rate_bps is not None:
                try:
                    limit = place.spec.limit
                    queue = _sized(place.spec.kind, limit, channel.rate_bps, trips.get(hop.name))
                    channel = replace(channel, queue=queue)
                except ValueError as error:
                    faults.append(variant.mark(place.where).fault(str(error)))
            channels[hop.direction] = channel
        links.append(replace(link, forward=channels["forward"], reverse=channels["reverse"]))
    if faults:
        raise ScenarioError(faults)
    return replace(network, links=tuple(links))


def _sized(kind: str, limit: Limit, rate_bps: int, rtts_ns: set[int] | None) -> Queue:
    """Return the queue in packets or bytes; ValueError when it is no queue that can be built."""
    if limit.packets is not None:
        return Queue(kind, limit_packets=limit.packets)
    if limit.size_bytes is not None:
        size_bytes, how = limit.size_bytes, ""
    elif limit.time_ns is not None:
        size_bytes = rate_bps * limit.time_ns // (8 * NS_PER_S)
        how = f" at {format_rate(rate_bps)}"
    else:
        if not rtts_ns:
            raise ValueError(f"a queue of {limit} needs a flow that crosses it, and none does")
        rtt_ns = min(rtts_ns) if limit.smallest else max(rtts_ns)
        size_bytes = int((limit.bdp or Decimal(1)) * (rate_bps * rtt_ns) / (8 * NS_PER_S))
        how = f" at {format_rate(rate_bps)} and a base RTT of {format_time(rtt_ns / NS_PER_S)}"
    if size_bytes < FRAME_BYTES:
        raise ValueError(
            f"a queue of {limit} holds {size_bytes} bytes{how}: "
            f"less than one full-size frame of {FRAME_BYTES} bytes"
        )
    if size_bytes > LIMIT_MAX:
        raise ValueError(f"a queue of {limit} holds {size_bytes} bytes{how}: more than 2^32 - 1")
    return Queue(kind, limit_bytes=size_bytes)


def _run(loaded: LoadedScenario, variant: LoadedVariant, draft: _Draft, number: int) -> RunSpec:
    scenario = variant.scenario
    seed = repetition_seed(scenario.seed, number)
    flows = tuple(
        replace(flow, start_s=_start_s(scenario, seed, index, flow))
        for index, flow in enumerate(draft.flows)
    )
    return RunSpec(
        scenario_name=scenario.name,
        description=scenario.description,
        variant=variant.values,
        repetition=number,
        seed=seed,
        duration_s=scenario.duration,
        warmup_s=scenario.warmup,
        network=draft.network,
        flows=flows,
        sample_tcp_s=scenario.sample.tcp,
        sample_queue_s=scenario.sample.queue,
        windows=tuple(Window(each.name, each.from_, each.to) for each in scenario.measure),
        scenario_text=loaded.text,
        scenario_sha256=loaded.sha256,
        resolved={**draft.resolved, "seed": seed},
    )


def _start_s(scenario: Scenario, seed: int, index: int, flow: PlannedFlow) -> float:
    jitter_ns = start_jitter_ns(seed, index, scenario.start_jitter)
    return (_ns(flow.start_s) + jitter_ns) / NS_PER_S


def _ns(time_s: float) -> int:
    return round(time_s * NS_PER_S)


def _hops(link: Link) -> tuple[Hop, Hop]:
    return Hop(link, "forward"), Hop(link, "reverse")
