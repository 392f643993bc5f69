"""Makes a ``Recording`` from the files of a test bed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.compile.netem import netem_provenance
from orchestrator.compile.policer import LINK_HEADER_BYTES
from orchestrator.decode import decode, kernel_warnings
from orchestrator.decode.digest import DigestInput, digest
from orchestrator.decode.edges.counters import counters as read_counters
from orchestrator.decode.edges.sojourn import sojourn_times
from orchestrator.decode.edges.times import edges_ns
from orchestrator.decode.event_log import event_provenance, rate_steps
from orchestrator.decode.facts import facts as read_facts
from orchestrator.decode.facts import one_fact, require_of_run
from orchestrator.decode.flows.kept_files import kept_files
from orchestrator.decode.flows.multipath_reports import multipath_connections
from orchestrator.decode.flows.outcomes import flow_ends
from orchestrator.decode.flows.program_reports import extracted_numbers, program_reports
from orchestrator.decode.flows.receive_windows import receive_windows
from orchestrator.decode.flows.socket_flows import flow_ports
from orchestrator.decode.flows.sprayed_shares import shares_of_packets
from orchestrator.decode.output import OutputFolder, believing_nothing, console_text, malformed
from orchestrator.decode.queue_readings import readings as queue_readings
from orchestrator.decode.ranges import (
    require_counters,
    require_readings,
    require_samples,
    require_sojourn_times,
)
from orchestrator.decode.trace import trace as read_trace
from orchestrator.errors import BedError
from orchestrator.network import DirectionName, Link
from orchestrator.planning.runspec import PlannedFlow, RunSpec
from orchestrator.protocol.links.frames import ECHO_FRAME_BYTES, ETHERNET_BYTES, TUN_BYTES
from orchestrator.protocol.links.qdisc import Statistic
from orchestrator.protocol.numbering import (
    CHANNEL_ENDS,
    NETEM_HANDLE,
    POLICER_HANDLE,
    QUEUE_HANDLE,
    wire_index,
)
from orchestrator.protocol.reports import facts as protocol
from orchestrator.protocol.reports.facts import Fact
from orchestrator.protocol.reports.records import QUEUE_COUNTERS, QUEUE_TIME
from orchestrator.recording import extracted, multipath
from orchestrator.recording.counters import PROVENANCE as COUNTERS
from orchestrator.recording.model import (
    FlowRecord,
    QueueRecord,
    Recording,
)
from orchestrator.recording.readings import needed
from orchestrator.recording.trace import Capture, Trace

_DIRECTIONS: tuple[DirectionName, ...] = ("forward", "reverse")
_MOST_PER_CHANNEL = 4
"""Places in the bed's list: link, queue, netem and policer."""


@dataclass(frozen=True)
class Machine:
    """The machine of a test bed, as the back end knows it.

    ``provenance`` is JSON-ready and becomes part of the run's. A guest's has ``guest_kernel`` and
    ``confined``. What the bed itself reports of a real machine is the fact ``host``. ``addresses``
    are those of hosts where they are not the network's.
    """

    provenance: Mapping[str, Any] = field(default_factory=dict)
    addresses: Mapping[str, str] | None = None


@dataclass(frozen=True)
class ProvidedModule:
    """A kernel module that a back end gave to the test bed. ``provenance`` is JSON-ready."""

    name: str
    parameters: str
    provenance: dict[str, Any]


def decoder(
    spec: RunSpec, output: OutputFolder, addresses: Mapping[str, str] | None = None
) -> decode.TcpDecoder:
    """Return the decoder of the run's TCP samples, for ``assemble``; ``addresses`` as Machine's."""
    return decode.TcpDecoder(output, flow_ports(spec, addresses), edges_ns(spec))


def assemble(
    spec: RunSpec,
    output: OutputFolder,
    console: Path,
    tcp: decode.TcpDecoder,
    modules: Sequence[ProvidedModule],
    machine: Machine,
) -> Recording:
    """Return the recording of a run whose test bed has ended.

    Args:
        spec: the planned run.
        output: the files of the test bed.
        console: file with the console's text; it need not exist.
        tcp: decoder of the run's TCP samples, which may have decoded some already.
        modules: the kernel modules that the back end gave to the test bed.
        machine: the machine of the test bed.

    Raises:
        BedError: the bed's files are incomplete or malformed, or a traffic end point failed.
    """
    with believing_nothing():
        return _assembled(spec, output, console, tcp, modules, machine)


def _assembled(
    spec: RunSpec,
    output: OutputFolder,
    console: Path,
    tcp: decode.TcpDecoder,
    modules: Sequence[ProvidedModule],
    machine: Machine,
) -> Recording:
    facts = read_facts(output)
    require_of_run(facts, spec)
    tcp_samples = tcp.samples()
    listed = one_fact(facts, protocol.Queues)
    names = _listed(spec, listed)
    queues, places = _queues(spec, names, one_fact(facts, protocol.Channels, "start")["channels"])
    statistics = _statistics(spec, listed["names"])
    header_bytes = _header_bytes(spec, names)
    samples = decode.queue_samples(output, statistics, header_bytes)
    samples = _renumbered(samples, places)
    readings = queue_readings(output, header_bytes)
    readings = needed(_renumbered(readings, places), queues)
    sojourn = _renumbered(sojourn_times(output, len(names)), places)
    ends = flow_ends(spec, facts, tcp_samples)
    flows = [
        replace(flow, **vars(end)) for flow, end in zip(_flows(spec, facts, tcp), ends, strict=True)
    ]
    names_of_counters, counters = read_counters(output, one_fact(facts, protocol.Counters), spec)
    datagrams, transfers = decode.datagrams(output), decode.transfers(output)
    senders = decode.sender_states(output)
    require_samples(spec, tcp_samples, samples, datagrams, transfers, senders)
    require_readings(spec, readings)
    require_sojourn_times(spec, sojourn)
    require_counters(spec, counters)
    numbers = extracted_numbers(spec.flows, facts)
    kept = kept_files(spec, facts, output)
    connections = multipath_connections(spec, facts)
    return Recording(
        kernel=one_fact(facts, protocol.Versions)["kernel"],
        simulated_s=spec.duration_s,
        digest=digest(
            DigestInput(
                tcp_samples,
                samples,
                datagrams,
                transfers,
                len(flows),
                len(queues),
                _many(spec),
                {
                    index: numbers[flow.name]
                    for index, flow in enumerate(spec.flows)
                    if flow.name in numbers
                },
                kept.files,
            )
        ),
        flows=flows,
        queues=queues,
        tcp=tcp_samples,
        queue_samples=samples,
        sojourn=sojourn,
        counters=counters,
        datagrams=datagrams,
        transfers=transfers,
        sender_states=senders,
        provenance={
            **_provenance(facts, modules),
            **machine.provenance,
            COUNTERS: names_of_counters.document(),
            **({extracted.PROVENANCE: extracted.document(numbers)} if numbers else {}),
            **({multipath.PROVENANCE: multipath.document(connections)} if connections else {}),
            **shares_of_packets(spec),
            "impairments": netem_provenance(spec),
            "events": event_provenance(spec, one_fact(facts, protocol.Timeline)),
        },
        console=console_text(console),
        log=output.text("bed.log"),
        facts=facts,
        readings=readings,
        kernel_warnings=kernel_warnings.read(console)
        if "guest_kernel" in machine.provenance
        else None,
        windows=dict(receive_windows(spec, tcp_samples)),
        kept=kept,
        trace=None if spec.capture is None else _trace(spec, spec.capture, output, facts, machine),
    )


def _trace(
    spec: RunSpec, capture: Capture, output: OutputFolder, facts: list[Fact], machine: Machine
) -> Trace:
    origin_ns = one_fact(facts, protocol.Done)["origin_ns"]
    captured = [host for one in protocol.of(facts, protocol.Captures) for host in one["hosts"]]
    return read_trace(output, spec, capture, origin_ns, captured, machine.addresses)


def bottleneck_places(spec: RunSpec, facts: list[Fact]) -> tuple[dict[str, int], int]:
    """Return the place of each bottleneck's queue in a row of queue.bin, and the bytes of a row.

    The facts may be those of a bed that has not ended.

    Raises:
        BedError: the bed has not recorded its queues yet, or they are malformed.
    """
    listed = one_fact(facts, protocol.Queues)
    names = _listed(spec, listed)
    queues, places = _queues(spec, names, one_fact(facts, protocol.Channels, "start")["channels"])
    further = sum(
        len(statistic.words)
        for of_queue in _statistics(spec, listed["names"])
        for statistic in of_queue
    )
    row_bytes = QUEUE_TIME.size + 4 * (len(QUEUE_COUNTERS) * len(names) + further)
    studied = {
        queue.name: index
        for queue, index in zip(queues, places, strict=True)
        if queue.bottleneck and queue.role == "queue" and queue.direction == "forward"
    }
    return studied, row_bytes


def _many(spec: RunSpec) -> set[int]:
    return {number for number, flow in enumerate(spec.flows) if flow.connections == "many"}


def _listed(spec: RunSpec, queues: protocol.Queues) -> list[tuple[int, int]]:
    """Return (index, handle) of each qdisc and policer that is sampled, by its place in samples."""
    names = [*queues["names"], *((index, POLICER_HANDLE) for index in queues["policers"])]
    most = _MOST_PER_CHANNEL * 2 * len(spec.network.links)
    if len(names) > most or len({tuple(name) for name in names}) < len(names):
        raise malformed(f"the fact queues has {len(names)} places; up to {most}, each once, may be")
    return names


def _queues(
    spec: RunSpec, names: list[tuple[int, int]], channels: dict[str, protocol.Channel]
) -> tuple[list[QueueRecord], list[int]]:
    """Return the queues in the order of the scenario's links, and for each its place in samples.

    Of a link and the queue below it only the queue is kept, because the same packets pass both.
    """
    place_of = {(index, handle): position for position, (index, handle) in enumerate(names)}
    steps = rate_steps(spec)
    records: list[QueueRecord] = []
    places: list[int] = []
    for link, direction, source, sink in _devices(spec):
        settings = channels[f"{link.name}:{direction}"]
        for role, name in (
            ("queue", (sink, QUEUE_HANDLE)),
            ("delay", (sink, NETEM_HANDLE)),
            ("policer", (source, POLICER_HANDLE)),
        ):
            if name in place_of:
                record = _queue(spec, link, direction, role, settings)
                changes = steps.get(f"{link.name}:{direction}", ()) if role == "queue" else ()
                records.append(replace(record, rate_steps=changes))
                places.append(place_of[name])
    return records, places


def _devices(spec: RunSpec) -> Iterator[tuple[Link, DirectionName, int, int]]:
    """Yield (link, direction, indices of the devices by which packets enter and leave)."""
    for number, link in enumerate(spec.network.links):
        for direction in _DIRECTIONS:
            source, sink = (wire_index(number, end) for end in CHANNEL_ENDS[direction])
            yield link, direction, source, sink


def _header_bytes(spec: RunSpec, names: list[tuple[int, int]]) -> list[int]:
    """Return, for each place in samples, what to add to the bytes of each packet.

    The kernel counts the packets of a policer without a header. A link that follows a trace counts
    TUN's header, as mahimahi does, where the kernel's queues count Ethernet's.
    """
    traced = {
        (sink, QUEUE_HANDLE)
        for link, direction, _source, sink in _devices(spec)
        if link.channel(direction).trace is not None
    }
    return [
        LINK_HEADER_BYTES
        if name[1] == POLICER_HANDLE
        else (TUN_BYTES - ETHERNET_BYTES) * (tuple(name) in traced)
        for name in names
    ]


def _statistics(spec: RunSpec, names: list[tuple[int, int]]) -> list[tuple[Statistic, ...]]:
    """Return the sampled statistics of each qdisc in the bed's list, without its counters."""
    kept = {
        (sink, QUEUE_HANDLE): queue.qdisc.statistics
        for link, direction, _source, sink in _devices(spec)
        if (queue := link.channel(direction).queue) is not None
    }
    return [kept.get((index, handle), ()) for index, handle in names]


def _queue(
    spec: RunSpec,
    link: Link,
    direction: DirectionName,
    role: str,
    settings: protocol.Channel,
) -> QueueRecord:
    channel = link.channel(direction)
    common = (f"{link.name}:{direction}:{role}", link.name, direction)
    if role == "delay":
        delay = settings["netem"]
        return QueueRecord(
            *common, "delay", delay["kind"], False,
            # A netem that the specification did not request has no settings here.
            delay_s=delay.get("delay_ns", 0) / 1e9,
            loss=None if channel.begins_with_list else channel.mean_loss,
            limit_packets=delay.get("limit_packets"),
        )  # fmt: skip
    if role == "policer":
        assert channel.policer is not None, "or the bed would have none"
        return QueueRecord(
            *common, "policer", "police", False, rate_bps=channel.policer.rate_bps,
            limit_bytes=channel.policer.burst_bytes,
        )  # fmt: skip
    queue = settings["queue"]
    statistics = channel.queue.qdisc.statistics if channel.queue else ()
    return QueueRecord(
        *common, "queue", channel.queue.kind if channel.queue else queue["kind"],
        link.name in spec.network.bottlenecks, rate_bps=settings["link"]["rate_bps"],
        delay_s=None if channel.impaired else settings["link"]["delay_ns"] / 1e9,
        loss=None if channel.impaired else 0.0,
        limit_packets=channel.queue.limit_packets if channel.queue else None,
        limit_bytes=channel.queue.limit_bytes if channel.queue else None,
        statistics=tuple((statistic.name, statistic.unit) for statistic in statistics),
    )  # fmt: skip


def _renumbered(samples: npt.NDArray[np.void], places: list[int]) -> npt.NDArray[np.void]:
    """Return the samples of the kept qdiscs only, numbered by the records."""
    queue: npt.NDArray[np.int32] = samples["queue"]
    size = max([int(queue.max(initial=0)), *places]) + 1
    number = np.full(size, -1, np.int64)
    number[places] = np.arange(len(places))
    out: npt.NDArray[np.void] = samples[number[queue] >= 0].copy()
    kept: npt.NDArray[np.int32] = out["queue"]
    out["queue"] = number[kept]
    return out


def _flows(
    spec: RunSpec,
    facts: list[Fact],
    tcp: decode.TcpDecoder,
) -> list[FlowRecord]:
    trips = {
        (fact["source"], fact["sink"]): fact["measured_ns"]
        for fact in protocol.of(facts, protocol.RoundTrip)
        if fact["frame_bytes"] == ECHO_FRAME_BYTES
    }
    reported = {fact["flow"]: fact["kernel"] for fact in protocol.of(facts, protocol.Congestion)}
    records = []
    for number, flow in enumerate(spec.flows):
        measured_ns = trips.get((flow.source, flow.sink))
        records.append(
            FlowRecord(
                name=flow.name,
                group=flow.group,
                source=flow.source,
                sink=flow.sink,
                engine=flow.engine,
                congestion_asked=flow.congestion,
                congestion_control=tcp.congestion_names.get(number, reported.get(flow.name)),
                start_s=flow.start_s,
                stop_s=flow.stop_s,
                base_rtt_s=_base_rtt_s(spec, flow, measured_ns),
                base_rtt_measured_s=None if measured_ns is None else measured_ns / 1e9,
                path=flow.crossed,
                congestion_fields=flow.shown or tcp.congestion_fields.get(number, ()),
                transport=flow.transport,
                traffic=flow.traffic,
                connections=tcp.connections(number),
            )
        )
    return records


def _base_rtt_s(spec: RunSpec, flow: PlannedFlow, measured_ns: int | None) -> float:
    """Return the requested base RTT; of a live path the measured one."""
    if not spec.network.live:
        return flow.base_rtt_s
    if measured_ns is None:
        raise BedError(f"no echo came back from {flow.sink} to {flow.source}: no base RTT is known")
    return measured_ns / 1e9


def _provenance(facts: list[Fact], modules: Sequence[ProvidedModule]) -> dict[str, Any]:
    origin_ns = one_fact(facts, protocol.Done)["origin_ns"]
    return {
        "versions": one_fact(facts, protocol.Versions),
        "sysctls": one_fact(facts, protocol.Sysctls),
        "channels": {
            when: one_fact(facts, protocol.Channels, when)["channels"] for when in ("start", "end")
        },
        "interfaces": {
            when: one_fact(facts, protocol.Interfaces, when)["interfaces"]
            for when in ("start", "end")
        },
        "modules": {module.name: module.provenance for module in modules},
        "hosts": [
            {key: value for key, value in fact.items() if key != "fact"}
            for fact in protocol.of(facts, protocol.Host)
        ],
        "namespaces": {
            "set": [
                {
                    "host": fact["host"],
                    "sysctl": fact["sysctl"],
                    "value": fact["value"],
                    "time_ns": fact["clock_ns"] - origin_ns,
                }
                for fact in protocol.of(facts, protocol.Namespace)
            ],
            "end": one_fact(facts, protocol.Namespaces, "end")["values"],
        },
        "engines": {
            fact["flow"]: {
                "sent_bytes": fact["sent_bytes"],
                "received_bytes": fact["received_bytes"],
            }
            for fact in protocol.of(facts, protocol.Engine)
        },
        "programs": program_reports(facts),
        "origin_ns": origin_ns,
    }
