"""One JSON file with everything stored of a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.recording.model import (
    DATAGRAM_DTYPE,
    QUEUE_DTYPE,
    RECEIVER,
    SENDER,
    SENDER_STATE_DTYPE,
    TCP_DTYPE,
    TRANSFER_DTYPE,
)
from results.contract.base import json_ready
from results.documents import run_document
from results.export.base import export_format, unit
from results.runs import result
from results.samples.sample_tables import Array, listed
from results.store.stored import StoredRun


@export_format("json", without_samples=True)
def write(run: StoredRun, paths: Sequence[Path]) -> None:
    """FILE.json: the document of ``show``, scenario, provenance, and all samples as columns.

    Each column has its unit and values; null is an infinite ssthresh or pacing rate.
    """
    head = run.head
    document = json_ready(
        {
            **run_document.document([result.of_run(run)]),
            "scenario_text": head.scenario_text,
            "resolved": head.resolved,
            "network": [link.document() for link in head.links],
            "git_commit": head.git_commit,
            "provenance": run.provenance,
        }
    )
    with paths[0].open("x", encoding="utf-8") as file:
        # Series by series, because the samples of a large run do not fit into memory as Python
        # numbers.
        file.write(_dumps(document)[:-1])
        file.write(', "samples": {"tcp": [')
        file.writelines(_joined(_tcp(run)))
        file.write('], "queues": [')
        file.writelines(_joined(_queues(run)))
        file.write('], "datagrams": [')
        file.writelines(_joined(_of_flows(run, DATAGRAM_DTYPE.names or (), run.datagrams)))
        file.write('], "transfers": [')
        file.writelines(_joined(_of_flows(run, TRANSFER_DTYPE.names or (), run.transfers)))
        file.write('], "senders": [')
        file.writelines(_joined(_of_flows(run, SENDER_STATE_DTYPE.names or (), run.senders)))
        file.write('], "counters": [')
        file.writelines(_joined(_counters(run)))
        file.write("]}}\n")


def _tcp(run: StoredRun) -> Iterator[dict[str, Any]]:
    names = [name for name in TCP_DTYPE.names or () if name not in ("flow", "endpoint")]
    for index, flow in enumerate(run.flows):
        if flow.transport != "tcp":
            continue
        # The meaning of the algorithm's own columns is known for each flow.
        fields = flow.congestion_fields
        units = {f"congestion_{slot}": own for slot, (_, own) in enumerate(fields)}
        for endpoint, end in ((SENDER, "sender"), (RECEIVER, "receiver")):
            samples = run.tcp(index, endpoint, names)
            yield {
                "flow": flow.name,
                "endpoint": end,
                "congestion_fields": fields,
                "columns": _columns(samples, units),
            }


def _queues(run: StoredRun) -> Iterator[dict[str, Any]]:
    names = [name for name in QUEUE_DTYPE.names or () if name != "queue"]
    for index, queue in enumerate(run.queues):
        samples = run.queue_samples(index, names)
        yield {**vars(queue), "columns": _columns(samples, {})}


def _of_flows(
    run: StoredRun, names: Sequence[str], read: Callable[[int, Sequence[str]], dict[str, Array]]
) -> Iterator[dict[str, Any]]:
    """Yield what is kept of each flow that has any."""
    fields = [name for name in names if name != "flow"]
    for index, flow in enumerate(run.flows):
        columns = read(index, fields)
        if len(columns[fields[0]]):
            yield {"flow": flow.name, "columns": _columns(columns, {})}


def _counters(run: StoredRun) -> Iterator[dict[str, Any]]:
    """Yield the SNMP counters of each host that has any: when each had grown how much."""
    for index, hosts in enumerate(run.counter_names.hosts):
        series = {
            name: {"time_ns": times_ns.tolist(), "value": values.tolist()}
            for name, (times_ns, values) in run.counter_series(index).items()
        }
        yield {"hosts": list(hosts), "counters": series}


def _columns(samples: Mapping[str, Array], units: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: {"unit": units.get(name) or unit(name), "values": listed(name, values)}
        for name, values in samples.items()
    }


def _joined(parts: Iterator[dict[str, Any]]) -> Iterator[str]:
    for index, part in enumerate(parts):
        yield (",\n" if index else "\n") + _dumps(part)


def _dumps(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
