"""What captures of a run on lab hosts have, beside what the kernel and the flows counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.protocol.reports.trace_records import RECEIVED, SENT
from results.store.stored import StoredRun

SENDER, RECEIVER = 0, 1


def counts(run: StoredRun) -> dict[str, Any]:
    """Return counts of frames by flow and by interface, with those of other instruments.

    ``flows`` has for each flow what its source sent and got, and what its sink got and sent:
    frames, and segments of TCP by the last tcp_info, or datagrams by the ends themselves.
    ``interfaces`` has what each host's interface received, and the frames that were received there.
    """
    (head,) = run.traces
    trace = run.trace(head.number)
    frames, hosts = trace.tables["frames"], list(run.evidence["network"]["hosts"])

    def number(host: str, step: int, flow: int | None = None) -> int:
        there = (frames["host"] == hosts.index(host)) & (frames["step"] == step)
        return int(np.sum(there if flow is None else there & (frames["flow"] == flow)))

    flows = {}
    for index, flow in enumerate(run.flows):
        captured = [
            number(host, step, index)
            for host, step in (
                (flow.source, SENT), (flow.source, RECEIVED), (flow.sink, RECEIVED),
                (flow.sink, SENT),
            )
        ]  # fmt: skip
        flows[flow.name] = {"frames": captured, "counted": _counted(run, index)}
    before, after = (
        fact["interfaces"] for fact in run.evidence["facts"] if fact["fact"] == "interfaces"
    )
    interfaces = {}
    for machine, facts in run.provenance["lab"]["hosts"].items():
        if facts["plays"]:
            (name,) = [name for name in after if name.startswith(f"{machine}/")]
            grown = after[name]["rx_packets"] - before[name]["rx_packets"]
            seen = sum(number(host, RECEIVED) for host in facts["plays"])
            interfaces[machine] = {"rx_packets": grown, "frames": seen}
    return {
        "flows": flows,
        "interfaces": interfaces,
        "hosts": [
            {"host": hosts[host], "seen": seen, "lost": lost, "kept": kept}
            for host, seen, lost, kept in (
                (*row, int(np.sum(frames["host"] == row[0])))
                for row in trace.tables["hosts"][["host", "seen", "lost"]].tolist()
            )
        ],
        "times_ns": [int(frames["time_ns"].min()), int(frames["time_ns"].max())]
        if len(frames)
        else [],
    }


def _counted(run: StoredRun, flow: int) -> list[int]:
    """Return what a flow's ends counted: sent and got at the source, got and sent at the sink."""
    if run.flows[flow].transport == "udp":
        datagrams = run.datagrams(flow)
        sent, got = (int(datagrams[name][-1]) for name in ("sent_packets", "received_packets"))
        return [sent, 0, got, 0]
    source, sink = (run.tcp(flow, end, ("segs_out", "segs_in")) for end in (SENDER, RECEIVER))
    return [
        int(source["segs_out"][-1]), int(source["segs_in"][-1]),
        int(sink["segs_in"][-1]), int(sink["segs_out"][-1]),
    ]  # fmt: skip
