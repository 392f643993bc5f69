"""Puts a ``Recording`` together from what the test bed wrote."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from guest.build import GuestKernel
from orchestrator.backends import decode
from orchestrator.backends.bedspec import CLIENT_PORT_OFFSET
from orchestrator.backends.modules import Handed
from orchestrator.errors import GuestError
from orchestrator.fidelity import judge
from orchestrator.fidelity.evidence import Evidence, by_queue
from orchestrator.recording import RECEIVER, SENDER, FlowRecord, QueueRecord, Recording
from orchestrator.runspec import RunSpec
from topologies.model import Link

DIGEST_NS = 100_000_000
_WIRE_INDEX_BASE = 100
_ROOT_HANDLE, _CHILD_HANDLE = 0x00010000, 0x00100000


def decoder(spec: RunSpec, folder: Path) -> decode.TcpDecoder:
    """Return the decoder of the run's TCP samples, for ``assemble``."""
    ports = [(flow.port + CLIENT_PORT_OFFSET, flow.port) for flow in spec.flows]
    return decode.TcpDecoder(folder / "out" / "tcp.bin", ports)


def assemble(
    spec: RunSpec,
    kernel: GuestKernel,
    folder: Path,
    tcp: decode.TcpDecoder,
    *,
    modules: Sequence[Handed],
    confined: bool,
) -> Recording:
    """Return the recording of a run whose bed has ended; ``modules`` were handed in to it.

    Raises:
        GuestError: the bed's files are incomplete, or a traffic end point failed.
    """
    output = folder / "out"
    facts = decode.facts(output)
    _require_whole(facts)
    tcp_samples = tcp.samples()
    names = _fact(facts, "queues")["names"]
    queues, places = _queues(spec, names, _fact(facts, "channels", "start")["channels"])
    samples = decode.queue_samples(output, len(names))
    samples = _renumbered(samples, places)
    flows = _flows(spec, facts, tcp)
    evidence = Evidence(spec.network, facts, flows, queues, samples)
    verdict, checks = judge(evidence)
    return Recording(
        kernel=_fact(facts, "versions")["kernel"],
        simulated_s=spec.duration_s,
        digest=digest(tcp_samples, samples, len(flows), len(queues)),
        verdict=verdict,
        flows=flows,
        queues=queues,
        checks=checks,
        tcp=tcp_samples,
        queue_samples=samples,
        provenance=_provenance(facts, kernel, confined, modules),
        console=_text(folder / "console"),
        log=_text(output / "bed.log"),
    )


def digest(
    tcp: npt.NDArray[np.void], queue_samples: npt.NDArray[np.void], flows: int, queues: int
) -> str:
    """Return sha256 over integers observed in the kernel, in a canonical order.

    For each flow: cwnd at every 100 ms, then the final bytes received, bytes sent, segments and
    retransmits; for each queue the bytes, packets and drops since traffic started. Only
    samples on the 100 ms grid enter, so that the sampling periods do not.
    """
    total = hashlib.sha256()
    on_grid = tcp[tcp["time_ns"] % DIGEST_NS == 0]
    for flow in range(flows):
        sender = on_grid[(on_grid["flow"] == flow) & (on_grid["endpoint"] == SENDER)]
        receiver = on_grid[(on_grid["flow"] == flow) & (on_grid["endpoint"] == RECEIVER)]
        total.update(sender["time_ns"].astype("<i8").tobytes())
        total.update(sender["snd_cwnd_segments"].astype("<i8").tobytes())
        final = [int(receiver["bytes_received"][-1])] if len(receiver) else [-1]
        if len(sender):
            last = sender[-1]
            keys = ("bytes_sent", "data_segs_out", "total_retrans_segments")
            final += [int(last[key]) for key in keys]
        total.update(np.array(final, "<i8").tobytes())
    for rows in by_queue(queue_samples, queues):
        if len(rows):
            grown = [int(rows[key][-1] - rows[key][0]) for key in ("bytes", "packets", "drops")]
            total.update(np.array(grown, "<i8").tobytes())
    return total.hexdigest()


def _require_whole(facts: list[dict[str, Any]]) -> None:
    broken = [fact for fact in facts if fact["fact"] == "flow_error"]
    if broken:
        raise GuestError(f"flow {broken[0]['flow']}: {broken[0]['problem']}")
    if not any(fact["fact"] == "done" for fact in facts):
        raise GuestError("the test bed did not finish its records")


def _fact(facts: list[dict[str, Any]], name: str, at: str | None = None) -> dict[str, Any]:
    for fact in facts:
        if fact["fact"] == name and (at is None or fact.get("at") == at):
            return fact
    raise GuestError(f"the test bed did not record {name}")


def _queues(
    spec: RunSpec, names: list[list[int]], channels: dict[str, Any]
) -> tuple[list[QueueRecord], list[int]]:
    """Return the queues in the order of the scenario's links, and for each its place in samples.

    Of a token bucket and the queue under it only the queue is kept: the same packets pass both.
    """
    place_of = {(index, handle): place for place, (index, handle) in enumerate(names)}
    records: list[QueueRecord] = []
    places: list[int] = []
    for number, link in enumerate(spec.network.links):
        base = _WIRE_INDEX_BASE + 4 * number
        devices: tuple[tuple[Literal["forward", "reverse"], int, int], ...] = (
            ("forward", base + 2, base + 1),
            ("reverse", base + 3, base),
        )
        for direction, queue_index, delay_index in devices:
            settings = channels[f"{link.name}:{direction}"]
            for role, index, handle in (
                ("queue", queue_index, _CHILD_HANDLE),
                ("delay", delay_index, _ROOT_HANDLE),
            ):
                if (index, handle) in place_of:
                    records.append(_queue(spec, link, direction, role, settings))
                    places.append(place_of[(index, handle)])
    return records, places


def _queue(
    spec: RunSpec,
    link: Link,
    direction: Literal["forward", "reverse"],
    role: str,
    settings: dict[str, Any],
) -> QueueRecord:
    channel = link.channel(direction)
    common = (f"{link.name}:{direction}:{role}", link.name, direction)
    if role == "delay":
        delay = settings["delay"]
        return QueueRecord(
            *common, "delay", delay["kind"], False,
            delay_s=delay["delay_ns"] / 1e9, loss=delay["loss"],
            limit_packets=delay["limit_packets"],
        )  # fmt: skip
    queue = settings["queue"]
    return QueueRecord(
        *common, "queue", channel.queue.kind if channel.queue else queue["kind"],
        link.name in spec.network.bottlenecks, rate_bps=settings["rate"]["rate_bps"],
        limit_packets=queue.get("limit_packets"), limit_bytes=queue.get("limit_bytes"),
    )  # fmt: skip


def _renumbered(samples: npt.NDArray[np.void], places: list[int]) -> npt.NDArray[np.void]:
    """Return the samples of the kept qdiscs only, numbered by the records."""
    size = int(samples["queue"].max()) + 1 if len(samples) else 0
    number = np.full(size, -1)
    number[places] = np.arange(len(places))
    out: npt.NDArray[np.void] = samples[number[samples["queue"]] >= 0].copy()
    out["queue"] = number[out["queue"]]
    return out


def _flows(
    spec: RunSpec,
    facts: list[dict[str, Any]],
    tcp: decode.TcpDecoder,
) -> list[FlowRecord]:
    trips = {
        (fact["source"], fact["sink"]): fact["measured_ns"]
        for fact in facts
        if fact["fact"] == "round_trip"
    }
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
                congestion_control=tcp.congestion_names.get(number),
                start_s=flow.start_s,
                stop_s=flow.stop_s,
                base_rtt_s=flow.base_rtt_s,
                base_rtt_measured_s=None if measured_ns is None else measured_ns / 1e9,
                path=flow.path,
                congestion_fields=flow.shown or tcp.congestion_fields.get(number, ()),
            )
        )
    return records


def _provenance(
    facts: list[dict[str, Any]], kernel: GuestKernel, confined: bool, modules: Sequence[Handed]
) -> dict[str, Any]:
    origin_ns = _fact(facts, "done")["origin_ns"]
    return {
        "versions": _fact(facts, "versions"),
        "sysctls": _fact(facts, "sysctls"),
        "channels": {when: _fact(facts, "channels", when)["channels"] for when in ("start", "end")},
        "interfaces": {
            when: _fact(facts, "interfaces", when)["interfaces"] for when in ("start", "end")
        },
        "guest_kernel": {
            key: value for key, value in kernel.manifest.items() if key != "modules_sha256"
        },
        "modules": {module.name: module.provenance for module in modules},
        "namespaces": {
            "set": [
                {
                    **{key: fact[key] for key in ("host", "sysctl", "value")},
                    "time_ns": fact["clock_ns"] - origin_ns,
                }
                for fact in facts
                if fact["fact"] == "namespace"
            ],
            "end": _fact(facts, "namespaces", "end")["values"],
        },
        "engines": {
            fact["flow"]: {key: fact[key] for key in ("sent_bytes", "received_bytes")}
            for fact in facts
            if fact["fact"] == "engine"
        },
        "confined": confined,
        "origin_ns": origin_ns,
    }


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
