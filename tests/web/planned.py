"""Stored runs of planned scenarios, whose samples are those of the synthetic run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.network import DirectionName
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.recording.model import FlowRecord, QueueRecord
from orchestrator.scenario import load
from results.records.links import summarise_links
from results.store.store import Store
from tests.web import synthetic

SCENARIOS = Path(__file__).parents[2] / "scenarios"
DIRECTIONS: tuple[DirectionName, ...] = ("forward", "reverse")
QUICKSTART = SCENARIOS / "quickstart.yaml"


def add(store: Store, spec: RunSpec) -> str:
    """Store a run with the network and the flows of a planned one; return its id."""
    head = replace(synthetic.HEAD, links=summarise_links(spec.network.links))
    recording = synthetic.recording(flows=flows(spec))
    recording.queues = queues(spec)
    run = store.begin(head)
    store.finish(run, recording, wall_s=1.0)
    return run


def flows(spec: RunSpec) -> tuple[FlowRecord, ...]:
    """Return the records of the planned flows, without what is measured."""
    return tuple(
        FlowRecord(
            name=flow.name, group=flow.group, source=flow.source, sink=flow.sink,
            engine="builtin", congestion_asked=flow.congestion,
            congestion_control=flow.congestion, start_s=flow.start_s, stop_s=None,
            base_rtt_s=flow.base_rtt_s, base_rtt_measured_s=None, path=flow.path,
        )
        for flow in spec.flows
    )  # fmt: skip


def queues(spec: RunSpec) -> list[QueueRecord]:
    """Return the queues of a planned network, those of bottlenecks first."""
    found = [
        QueueRecord(
            f"{link.name}:{way}:queue", link.name, way, "queue", "pfifo", channel.is_bottleneck,
            rate_bps=channel.rate_bps, limit_packets=(queue := channel.queue).limit_packets,
            limit_bytes=queue.limit_bytes, delay_s=channel.delay_s,
        )
        for link in spec.network.links
        for way in DIRECTIONS
        if (channel := link.channel(way)).queue is not None
    ]  # fmt: skip
    return sorted(found, key=lambda one: not one.bottleneck)


def spec_of(file: Path, overrides: Sequence[str] = ()) -> RunSpec:
    """Return the first run of a scenario."""
    return plan(load(file, tuple(overrides))).runs[0]


def hosts(folder: Path, groups: int, each: int) -> RunSpec:
    """Return the run of a dumbbell of as many groups of as many hosts on each side."""
    file = folder / "many.yaml"
    lines = [
        f"    - {{name: g{one}, hosts: {each}, access: {{rate: 100mbit, delay: {one + 1}ms}}}}"
        for one in range(groups)
    ]
    flows = [
        f"  - {{name: f{one}, group: g{one}, congestion: reno, traffic: {{kind: bulk}}}}"
        for one in range(groups)
    ]
    file.write_text("\n".join([
        "version: 1", "name: many", "seed: 1", "duration: 60s", "topology:", "  kind: dumbbell",
        "  bottleneck: {rate: 10mbit, delay: 10ms, queue: {kind: droptail, limit: 100p}}",
        "  groups:", *lines, "flows:", *flows, "",
    ]))  # fmt: skip
    return spec_of(file)
