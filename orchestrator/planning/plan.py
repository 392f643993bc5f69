"""Plans the runs of a loaded scenario, with all random values drawn.

- Repetition 0 uses the scenario's ``seed`` itself. Repetition r > 0 uses the first eight bytes of
  sha256("<seed>:repetition:<r>"), big-endian, without the top bit. So neighbouring seeds share no
  repetition. Variants of a matrix share their seeds, so that they are compared under equal draws.
- With ``seeds: independent`` a repetition's seed comes from
  sha256("<seed>:variant:<variant>:repetition:<r>") likewise. <variant> is the JSON of its values by
  path, with sorted keys and no spaces. So a further value of an axis changes no other seed.
- A flow's jitter is floor(u x (J + 1)) microseconds. J is ``start_jitter`` in whole microseconds. u
  is the first number of Python's ``random.Random("<seed>:start:<index>")`` (Mersenne Twister seeded
  with the text). The index counts the expanded flows from 0. A draw depends on no other draw, and
  not on names: renaming a flow does not change the run. Its place in a ``start_window`` is drawn
  likewise from ``random.Random("<seed>:window:<index>")``.
- RTTs and delays are drawn by the topology; see ``Chain.layout``.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path as FilePath
from typing import Any

from guest.choice import DEFAULT
from orchestrator.errors import Fault, ScenarioError
from orchestrator.files.scenario_files import NamedFile
from orchestrator.kinds import tcp
from orchestrator.kinds.queues import QueueFault, QueueSpec
from orchestrator.kinds.tcp import HostTcp
from orchestrator.network import Channel, DirectionName, Link, Network, Queue
from orchestrator.planning.advice import AdviceInput, advise, too_large
from orchestrator.planning.captures import capture_faults, capture_of
from orchestrator.planning.chosen_losses import list_faults
from orchestrator.planning.description import Plan
from orchestrator.planning.flows import multipath
from orchestrator.planning.flows.expansion import expand
from orchestrator.planning.flows.faults import (
    flow_ends,
    listed_control_faults,
    mtu_faults,
    name_faults,
    settings_faults,
)
from orchestrator.planning.flows.programs import program_faults
from orchestrator.planning.identity import COMMON, experiment_sha256
from orchestrator.planning.lab_roles import lab_faults, lab_plan
from orchestrator.planning.network.network_cards import (
    card_faults,
    unknown_names,
    with_cards,
    with_qdiscs,
)
from orchestrator.planning.network.network_state import EventInputs
from orchestrator.planning.network.sizing import sized_queue
from orchestrator.planning.planned_events import plan_events, with_events
from orchestrator.planning.runspec import (
    LabPlan,
    PlannedEvent,
    PlannedFlow,
    RunSpec,
    at_most,
)
from orchestrator.protocol.units import NS_PER_S, nanoseconds
from orchestrator.scenario import LoadedScenario, LoadedVariant, Scenario, load
from orchestrator.windows import Window
from topologies import Layout, RequestedQueue, Topology, checks, machines

__all__ = ["Plan", "PlannedFlow", "RunSpec", "plan", "validate"]

MAX_PLANNED_FLOWS = 1_000_000
"""Most flows of all runs together."""


def plan(
    loaded: LoadedScenario,
    experiment: str | None = None,
    repetitions: Sequence[Iterable[int]] | None = None,
) -> Plan:
    """Return every run of the scenario; ``experiment`` is the scenario's name by default.

    ``repetitions`` are the numbers of the repetitions of each variant. When not given, they are the
    scenario's; where a rule decides their number, the least of them.

    Raises:
        ScenarioError: a queue is below one frame, two hosts are not connected, or the scenario is
            too large; at the line and column of the cause.
    """
    faults: list[Fault] = []
    runs: list[RunSpec] = []
    warnings: list[Fault] = []
    planned = 0
    most = loaded.scenario.repetitions.most
    if repetitions is None:
        repetitions = [range(loaded.scenario.repetitions.least)] * len(loaded.variants)
    identity = experiment_sha256(loaded)
    rule = loaded.scenario.repetitions.rule
    for variant, numbers in zip(loaded.variants, repetitions, strict=True):
        try:
            draft = _draft(variant, variant.scenario.seed)
        except ScenarioError as error:
            faults += error.faults
            continue
        planned += len(draft.flows) * most
        if planned > MAX_PLANNED_FLOWS:
            where = ("repetitions",) if most > 1 else ("matrix",)
            message = f"more than {MAX_PLANNED_FLOWS} flows in all runs together"
            raise ScenarioError([loaded.mark(where).fault(message)])
        if not faults:
            for number in numbers:
                seed = _seed(variant, number)
                if draft.drawn and seed != variant.scenario.seed:
                    draft = _draft(variant, seed)
                run = _run(loaded, variant, draft, number, seed)
                runs.append(replace(run, experiment_sha256=identity, repetition_rule=rule))
                warnings += draft.warnings
    if faults:
        raise ScenarioError(list(dict.fromkeys(faults)))
    return Plan(
        experiment or loaded.scenario.name, runs, list(dict.fromkeys(warnings)), loaded.counts
    )


def validate(path: FilePath, overrides: Sequence[str] = ()) -> list[Fault]:
    """Return every fault of a scenario file, including those that planning finds."""
    try:
        plan(load(path, overrides))
    except ScenarioError as error:
        return error.faults
    return []


def repetition_seed(seed: int, repetition: int) -> int:
    """Return the seed of a repetition, from 0 to 2^63 - 1; see the module's docstring."""
    if repetition == 0:
        return seed
    return _drawn_seed(f"{seed}:repetition:{repetition}")


def independent_seed(seed: int, values: Mapping[str, Any], repetition: int) -> int:
    """Return the seed of a repetition of the variant with these values by path."""
    variant = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return _drawn_seed(f"{seed}:variant:{variant}:repetition:{repetition}")


def _drawn_seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def _seed(variant: LoadedVariant, repetition: int) -> int:
    scenario = variant.scenario
    if scenario.seeds == COMMON:
        return repetition_seed(scenario.seed, repetition)
    return independent_seed(scenario.seed, variant.values, repetition)


def start_jitter_ns(seed: int, index: int, most_s: float) -> int:
    """Return a flow's jitter, in whole microseconds from 0 to ``most_s``, as ns."""
    return _drawn_ns(f"{seed}:start:{index}", most_s)


def start_window_ns(seed: int, index: int, most_s: float) -> int:
    """Return how far into its window a flow starts, in whole microseconds, as ns."""
    return _drawn_ns(f"{seed}:window:{index}", most_s)


def _drawn_ns(seed: str, most_s: float) -> int:
    return int(random.Random(seed).random() * (nanoseconds(most_s) // 1000 + 1)) * 1000


@dataclass(frozen=True)
class _Draft:
    """The plan of a variant without its repetitions: sized queues, and flows without jitter.


    When values of the network are ``drawn``, each seed needs its own draft.
    """

    network: Network
    flows: tuple[PlannedFlow, ...]
    events: tuple[PlannedEvent, ...]
    resolved: dict[str, Any]
    warnings: list[Fault]
    hosts: dict[str, HostTcp]
    drawn: bool
    lab: LabPlan | None
    files: dict[str, NamedFile]


def _draft(variant: LoadedVariant, seed: int) -> _Draft:
    topology = variant.scenario.topology
    if not isinstance(topology, Topology):
        raise TypeError(f"{type(topology).__name__} is not derived from topologies.Topology")
    layout = _layout(variant, topology, seed)
    network = with_cards(variant.scenario, layout.network)
    queues = with_qdiscs(variant.scenario, network, layout.queues)
    layout = replace(layout, network=network, queues=queues)
    entries, rtts_ns = expand(variant, layout.network)
    faults = [
        *name_faults(variant, entries),
        *settings_faults(variant, entries, layout.network),
        *mtu_faults(variant, entries),
        *program_faults(variant, entries, layout.network),
        *listed_control_faults(variant, entries),
        *multipath.machine_faults(variant, entries, layout.network),
    ]
    ends = flow_ends(variant.scenario, entries, layout.network)
    options, differences = tcp.options_by_host(ends)
    faults += [
        variant.mark(("flows", entry, "tcp", key)).fault(text) for entry, key, text in differences
    ]
    hosts = {
        interface: tcp.host_tcp(values)
        for host, values in options.items()
        if values
        for interface in layout.network.interfaces(host)
    }
    wrong = [
        *checks.check(layout.network, layout.scenario_paths, variant.scenario.duration),
        *list_faults(
            variant.scenario, layout.network, layout.scenario_paths, list(chain(*entries))
        ),
        *lab_faults(variant.scenario, layout.network, layout.scenario_paths, entries, hosts),
        *capture_faults(variant.scenario, layout.network, list(chain(*entries))),
        *unknown_names(variant.scenario, layout.network),
    ]
    faults += [variant.mark(path).fault(message) for path, message in wrong]
    if faults:
        raise ScenarioError(faults)
    network = _with_queues(variant, layout.network, layout.queues, rtts_ns)

    def size(name: str, spec: QueueSpec, channel: Channel) -> Queue:
        return sized_queue(spec, channel, _rtts_ns(rtts_ns, name, layout.queues[name]))

    requested = {name: requested_queue.spec for name, requested_queue in layout.queues.items()}
    events, event_faults = plan_events(
        EventInputs(variant.scenario, network, entries, requested, size, seed)
    )
    if event_faults:
        raise ScenarioError([variant.mark(path).fault(message) for path, message in event_faults])
    network = with_events(network, events)
    if wrong := list(card_faults(variant.scenario, network)):
        raise ScenarioError([variant.mark(path).fault(message) for path, message in wrong])
    resolved = variant.scenario.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude={"matrix", "repetitions", "seeds"}
    )
    drawn = layout.drawn or any(event.is_drawn for event in variant.scenario.events)
    planned = AdviceInput(variant.scenario, network, entries, layout.scenario_paths, events, drawn)
    largest = replace(planned, network=at_most(network, events))
    if large := list(too_large(largest)):
        raise ScenarioError([variant.mark(path).fault(message) for path, message in large])
    warnings = [variant.mark(path).fault(message) for path, message in advise(planned)]
    flows = tuple(planned.flows)
    lab = lab_plan(variant.scenario, network)
    files = variant.modules.files.named_in(resolved)
    return _Draft(network, flows, events, resolved, warnings, hosts, drawn, lab, files)


def _layout(variant: LoadedVariant, topology: Topology, seed: int) -> Layout:
    """Return the topology's network with its machines; ScenarioError when it has none such."""
    layout, joined = topology.layout(seed), topology.joined_groups
    if wrong := list(machines.machine_faults(layout.network, joined)):
        raise ScenarioError([variant.mark(path).fault(message) for path, message in wrong])
    return replace(layout, network=machines.with_machines(layout.network, joined))


def _with_queues(
    variant: LoadedVariant,
    network: Network,
    queues: dict[str, RequestedQueue],
    rtts_ns: dict[str, set[int]],
) -> Network:
    """Return the network with every queue sized; ScenarioError with every queue that cannot be."""
    faults: list[Fault] = []
    links: list[Link] = []
    for link in network.links:
        channels: dict[DirectionName, Channel] = {}
        for hop in link.hops:
            channel, requested_queue = hop.channel, queues.get(hop.name)
            if requested_queue is not None and channel.rate_bps is not None:
                try:
                    of_flows_ns = _rtts_ns(rtts_ns, hop.name, requested_queue)
                    queue = sized_queue(requested_queue.spec, channel, of_flows_ns)
                    channel = replace(channel, queue=queue)
                except QueueFault as error:
                    where = (*requested_queue.where[:-1], error.key)
                    faults.append(variant.mark(where).fault(str(error)))
                except ValueError as error:
                    faults.append(variant.mark(requested_queue.where).fault(str(error)))
            channels[hop.direction] = channel
        links.append(replace(link, forward=channels["forward"], reverse=channels["reverse"]))
    if faults:
        raise ScenarioError(faults)
    return replace(network, links=tuple(links))


def _rtts_ns(
    by_channel: Mapping[str, set[int]], name: str, queue: RequestedQueue
) -> set[int] | None:
    """Return the RTTs of which a channel's queue takes a limit in BDP; None when there are none."""
    if name in by_channel or not queue.of_any_flow:
        return by_channel.get(name)
    return set().union(*by_channel.values())


def _run(
    loaded: LoadedScenario, variant: LoadedVariant, draft: _Draft, number: int, seed: int
) -> RunSpec:
    scenario = variant.scenario
    drawn_s = [_start_s(scenario, seed, index, flow) for index, flow in enumerate(draft.flows)]
    flows = tuple(
        replace(flow, start_s=start_s)
        for flow, start_s in zip(draft.flows, multipath.starts_s(draft.flows, drawn_s), strict=True)
    )
    return RunSpec(
        scenario_name=scenario.name,
        description=scenario.description,
        variant=variant.values,
        variant_sets=variant.sets,
        repetition=number,
        seed=seed,
        duration_s=scenario.duration,
        warmup_s=scenario.warmup,
        network=draft.network,
        hosts=draft.hosts,
        lab=draft.lab,
        flows=flows,
        sample_tcp_s=scenario.sample.tcp,
        sample_queue_s=scenario.sample.queue,
        sample_counters_s=scenario.sample.counters,
        windows=tuple(Window(window.name, window.from_, window.to) for window in scenario.measure),
        scenario_text=loaded.text,
        scenario_sha256=loaded.sha256,
        resolved={**draft.resolved, "seed": seed},
        files=draft.files,
        events=draft.events,
        capture=capture_of(scenario),
        kernel=DEFAULT if scenario.kernel is None else scenario.kernel.choice,
    )


def _start_s(scenario: Scenario, seed: int, index: int, flow: PlannedFlow) -> float:
    drawn_ns = start_jitter_ns(seed, index, scenario.start_jitter)
    drawn_ns += start_window_ns(seed, index, flow.start_window_s)
    return (nanoseconds(flow.start_s) + drawn_ns) / NS_PER_S
