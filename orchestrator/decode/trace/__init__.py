"""Decodes the trace of a run: what happened to packets and connections.

The test bed's side is testbed/sampling/trace.py, the kernel's kmods/run_trace_main.c. A trace is
hostile input like all that a test bed writes.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from orchestrator.decode.output import OutputFolder, malformed
from orchestrator.decode.trace import stream
from orchestrator.decode.trace.endpoints import Endpoints, channels_of
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.numbering import host_address
from orchestrator.protocol.reports import trace_records as records
from orchestrator.protocol.reports.facts import CapturedFrames
from orchestrator.recording import trace_ranges
from orchestrator.recording.trace import (
    ACKS_DTYPE,
    DROPS_DTYPE,
    ENDS_DTYPE,
    EVENTS_DTYPE,
    FRAMES_DTYPE,
    HOSTS_DTYPE,
    LINKS_DTYPE,
    Capture,
    Trace,
)


def trace(
    output: OutputFolder,
    spec: RunSpec,
    capture: Capture,
    origin_ns: int,
    captured: Sequence[CapturedFrames] = (),
    addresses: Mapping[str, str] | None = None,
) -> Trace:
    """Return the trace that the test bed of a run has written.

    Args:
        output: where the bed wrote.
        spec: the run.
        capture: what was asked for.
        origin_ns: when traffic started, by the bed's monotonic clock.
        captured: what came to the captures of hosts, on a real machine.
        addresses: those of hosts in frames where they are not the network's.

    Raises:
        BedError: it is missing, or not what the kernel's module writes.
    """
    data = output.whole(records.FILE)
    offsets = stream.offsets(data)
    rows = {kind: stream.rows_of(data, kind, offsets[kind]) for kind in stream.FORMS}
    endpoints = Endpoints(spec)
    in_frames = endpoints if addresses is None else Endpoints(spec, addresses)
    frames, frame_bytes = _frames(data, offsets[records.FRAME], spec, in_frames, capture, origin_ns)
    tables = {
        "ends": _ends(rows[records.SOCKET], endpoints),
        "acks": _of_ends(rows[records.STATE], ACKS_DTYPE, origin_ns, {"by": "what"}),
        "events": _of_ends(rows[records.EVENT], EVENTS_DTYPE, origin_ns, {}),
        "links": _links(rows[records.LINK], endpoints, spec, origin_ns),
        "drops": _drops(rows[records.DROP], endpoints, origin_ns),
        "frames": frames,
    }
    ordered = {
        name: table if name == "ends" else table[np.argsort(table["time_ns"], kind="stable")]
        for name, table in tables.items()
    }
    ordered["hosts"] = _hosts(captured, spec)
    made = Trace(capture, ordered, frame_bytes, _full_ns(rows[records.FULL], capture, origin_ns))
    flows, links, hosts = len(spec.flows), len(spec.network.links), len(spec.network.hosts)
    if wrong := trace_ranges.problem(made, flows, 2 * links, hosts):
        raise malformed(f"{records.FILE}: {wrong}")
    return made


def _hosts(captured: Sequence[CapturedFrames], spec: RunSpec) -> npt.NDArray[np.void]:
    known = list(spec.network.hosts)
    if any(one["host"] not in known for one in captured):
        raise malformed("the fact captures is of a host that the run has not")
    rows = [
        (known.index(one["host"]), one["from_ns"], one["to_ns"], one["seen"], one["lost"])
        for one in captured
    ]
    return np.array(rows, HOSTS_DTYPE)


def _full_ns(rows: npt.NDArray[np.void], capture: Capture, origin_ns: int) -> int | None:
    """Return when the limit was reached; None when the window was over by then."""
    if not len(rows):
        return None
    full_ns = int(rows["head_time_ns"][0]) - origin_ns
    return full_ns if full_ns < capture.to_ns else None


def _times(rows: npt.NDArray[np.void], origin_ns: int) -> npt.NDArray[np.int64]:
    """Return the times of records since the start of traffic."""
    return rows["head_time_ns"].astype(np.int64) - origin_ns


def _filled(
    rows: npt.NDArray[np.void], dtype: np.dtype[np.void], values: Mapping[str, object]
) -> npt.NDArray[np.void]:
    """Return rows of a table: given columns, and those that records have by the same names."""
    made = np.zeros(len(rows), dtype)
    for name in dtype.names or ():
        made[name] = values[name] if name in values else rows[name]
    return made


def _of_ends(
    rows: npt.NDArray[np.void],
    dtype: np.dtype[np.void],
    origin_ns: int,
    renamed: Mapping[str, str],
) -> npt.NDArray[np.void]:
    """Return records of ends of connections as rows of a table."""
    columns = {new: rows[old] for new, old in renamed.items()}
    return _filled(rows, dtype, {"time_ns": _times(rows, origin_ns), "end": rows["of"], **columns})


def _ends(rows: npt.NDArray[np.void], endpoints: Endpoints) -> npt.NDArray[np.void]:
    made = np.zeros(len(rows), ENDS_DTYPE)
    for name in ("address", "peer_address", "port", "peer_port", "congestion"):
        made[name] = rows[name]
    made["end"] = rows["of"]
    for row in made:
        own = (int(row["address"]), int(row["peer_address"]))
        row["flow"], row["is_sender"] = endpoints.find(
            *own, int(row["port"]), int(row["peer_port"])
        )
    return made


def _links(
    rows: npt.NDArray[np.void], endpoints: Endpoints, spec: RunSpec, origin_ns: int
) -> npt.NDArray[np.void]:
    flows, to_sink = endpoints.columns(rows)
    return _filled(
        rows,
        LINKS_DTYPE,
        {
            "time_ns": _times(rows, origin_ns),
            "channel": channels_of(rows["of"], spec),
            "step": rows["what"],
            "flow": flows,
            "to_sink": to_sink,
        },
    )


def _drops(
    rows: npt.NDArray[np.void], endpoints: Endpoints, origin_ns: int
) -> npt.NDArray[np.void]:
    flows, to_sink = endpoints.columns(rows)
    times = _times(rows, origin_ns)
    return _filled(rows, DROPS_DTYPE, {"time_ns": times, "flow": flows, "to_sink": to_sink})


def _frames(
    data: bytes,
    offsets: Sequence[int],
    spec: RunSpec,
    endpoints: Endpoints,
    capture: Capture,
    origin_ns: int,
) -> tuple[npt.NDArray[np.void], bytes]:
    """Return the frames, and their bytes one after the other."""
    hosts = {
        socket.inet_aton(host_address(number)): number - 1
        for number in range(1, len(spec.network.hosts) + 1)
    }
    parts: list[bytes] = []
    rows: list[tuple[int, ...]] = []
    interfaces: list[int] = []
    kept = 0
    for at in offsets:
        frame = stream.frame_at(data, at, capture.snap_bytes)
        content = data[frame.start : frame.start + frame.captured]
        host = hosts.get(frame.address, -1) if frame.step in records.AT_HOSTS else -1
        flow = endpoints.of_frame(content)
        rows.append((
            frame.time_ns - origin_ns, host, -1, flow, frame.step, frame.size, frame.captured, kept
        ))  # fmt: skip
        interfaces.append(frame.interface)
        parts.append(content)
        kept += frame.captured
    made = np.array(rows, FRAMES_DTYPE)
    at_queue = ~np.isin(made["step"], records.AT_HOSTS)
    made["channel"][at_queue] = channels_of(np.array(interfaces, np.uint32)[at_queue], spec)
    return made, b"".join(parts)
