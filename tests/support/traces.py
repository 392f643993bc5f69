"""Records of traces as the kernel writes them, and traces that are made up."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.decode.output import OutputFolder
from orchestrator.decode.trace import trace
from orchestrator.planning.plan import plan
from orchestrator.planning.runspec import RunSpec
from orchestrator.protocol.numbering import wire_index
from orchestrator.protocol.reports import trace_records as records
from orchestrator.recording.trace import TABLES, Capture, Trace
from orchestrator.scenario import load
from results.store.store import Store
from tests.support.recordings import head, whole

SCENARIO = """\
version: 1
name: traced
duration: 2s
topology:
  kind: dumbbell
  bottleneck: {rate: 10mbit, delay: 10ms}
  groups: [{name: a, access: {delay: 5ms}}]
flows:
  - {name: up, group: a, traffic: {kind: bulk}}
  - {name: down, group: a, direction: reverse, traffic: {kind: bulk}}
  - {name: asked, group: a, traffic: {kind: request-response}}
  - {name: voice, group: a, traffic: {kind: cbr, rate: 1mbit}}
"""
"""Both directions, a server that sends, and UDP."""

UP, DOWN, ASKED, VOICE = range(4)

ORIGIN_NS = 5_000_000_000
"""When traffic starts, by the clock of the records."""

Address = tuple[str, int]
"""IPv4 address and port."""

NOWHERE: Address = ("0.0.0.0", 0)


@cache
def planned() -> RunSpec:
    """The run of SCENARIO."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "traced.yaml")
        file.write_text(SCENARIO, encoding="utf-8")
        return plan(load(file)).runs[0]


def address(spec: RunSpec, host: str) -> str:
    """The address of a host of a run."""
    number = spec.network.hosts.index(host) + 1
    return str(ipaddress.IPv4Address((10 << 24) + number))


def ends_of(spec: RunSpec, flow: int) -> tuple[Address, Address]:
    """Address and port of a flow's source and of its sink; that of a client is 40000."""
    planned = spec.flows[flow]
    own, other = (planned.port, 40000) if planned.server == "source" else (40000, planned.port)
    return (address(spec, planned.source), own), (address(spec, planned.sink), other)


def leaves(spec: RunSpec, link: str, direction: str) -> int:
    """The interface by which packets leave a link in a direction."""
    number = [each.name for each in spec.network.links].index(link)
    return wire_index(number, {"forward": "b", "reverse": "a"}[direction])


def record(
    kind: int, time_ns: int, body: bytes = b"", what: int = 0, of: int = 0, length: int = -1
) -> bytes:
    """A record at a time of traffic; ``length`` is said in place of the right one."""
    size = records.HEAD.size + len(body)
    padding = -size % 8
    said = size + padding if length < 0 else length
    return records.HEAD.pack(ORIGIN_NS + time_ns, said, kind, what, of) + body + bytes(padding)


def socket(end: int, own: Address, peer: Address, name: bytes = b"cubic") -> bytes:
    """A SOCKET, of what happened before traffic."""
    body = records.SOCKET_BODY.pack(_packed(own), _packed(peer), own[1], peer[1], 0, name)
    return record(records.SOCKET, -1_000_000, body, of=end)


def state(time_ns: int, end: int, by: int = records.BY_SEGMENT, **values: Any) -> bytes:
    """A STATE; fields that are not named are zero."""
    body = _body(records.STATE_FIELDS, values)
    return record(records.STATE, time_ns, body, by, end)


def event(time_ns: int, end: int, what: int, **values: Any) -> bytes:
    """An EVENT."""
    return record(records.EVENT, time_ns, _body(records.EVENT_FIELDS, values), what, end)


def link(
    time_ns: int, interface: int, step: int, source: Address, sink: Address, **values: Any
) -> bytes:
    """A LINK."""
    body = _body(records.LINK_FIELDS, _flow(source, sink) | values)
    return record(records.LINK, time_ns, body, step, interface)


def drop(time_ns: int, source: Address, sink: Address, **values: Any) -> bytes:
    """A DROP."""
    body = _body(records.DROP_FIELDS, _flow(source, sink) | values)
    return record(records.DROP, time_ns, body)


def frame(
    time_ns: int,
    step: int,
    content: bytes,
    *,
    interface: int = 2,
    host: str = NOWHERE[0],
    snap_bytes: int = records.SNAP_BYTES,
    size: int = -1,
    captured: int = -1,
) -> bytes:
    """A FRAME; ``size`` and ``captured`` are said in place of the right ones."""
    kept = content[:snap_bytes]
    body = records.FRAME_BODY.pack(
        _packed((host, 0)), len(content) if size < 0 else size,
        len(kept) if captured < 0 else captured, 0,
    )  # fmt: skip
    return record(records.FRAME, time_ns, body + kept, step, interface)


def full(time_ns: int) -> bytes:
    """A FULL."""
    return record(records.FULL, time_ns)


def packet(
    source: Address, sink: Address, protocol: int = 6, bytes_behind: int = 0, words: int = 5
) -> bytes:
    """An Ethernet frame with an IPv4 header of so many words, and ports behind it."""
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x40 | words, 0, 0, 0, 0, 64, protocol, 0, _packed(source), _packed(sink)
    )
    options = bytes(4 * (words - 5))
    ports = struct.pack(">HH", source[1], sink[1])
    return bytes(12) + b"\x08\x00" + ip + options + ports + bytes(bytes_behind)


def _packed(address: Address) -> bytes:
    return ipaddress.IPv4Address(address[0]).packed


def _flow(source: Address, sink: Address) -> dict[str, int]:
    (saddr,), (daddr,) = (struct.unpack("=I", _packed(each)) for each in (source, sink))
    return {"source_address": saddr, "sink_address": daddr, "source_port": source[1],
            "sink_port": sink[1], "protocol": 6}  # fmt: skip


def _body(fields: tuple[tuple[str, str], ...], values: dict[str, Any]) -> bytes:
    row = np.zeros(1, list(fields))
    for name, value in values.items():
        row[name] = value
    return row.tobytes()


CAPTURE = Capture(1_000_000_000, 2_000_000_000, limit_bytes=2**20)
"""The window of the traces that are made up."""


def decoded(folder: Path, *parts: bytes, capture: Capture = CAPTURE) -> Trace:
    """The trace that records give, which a test bed of :func:`planned` writes into a folder."""
    (folder / records.FILE).write_bytes(b"".join(parts))
    return trace(OutputFolder(folder), planned(), capture, ORIGIN_NS)


def drawn(seed: int, most_rows: int = 40, capture: Capture = CAPTURE) -> Trace:
    """A trace with any values that its tables can hold, some of them extreme; of no real run."""
    draw = np.random.default_rng(seed)
    tables = {}
    for name, dtype in TABLES.items():
        size = int(draw.integers(0, most_rows + 1)) * dtype.itemsize
        rows = np.frombuffer(draw.bytes(size), dtype).copy()
        for column in dtype.names or ():
            if dtype[column].kind in "iu" and draw.integers(0, 2):
                limits = np.iinfo(dtype[column])
                some = np.array([limits.min, limits.max, 0, 1], dtype[column])
                rows[column] = draw.choice(some, len(rows))
        tables[name] = rows
    full_ns = int(draw.integers(0, capture.to_ns)) if draw.integers(0, 2) else None
    return Trace(capture, tables, draw.bytes(int(draw.integers(0, 2000))), full_ns)


def small(capture: Capture = CAPTURE) -> Trace:
    """A sound trace of a run with a flow and a link, with two rows and more in each table."""
    start = capture.from_ns
    rows: dict[str, list[dict[str, Any]]] = {
        "ends": [
            {"end": 1, "flow": 0, "is_sender": 1, "port": 40000, "congestion": b"reno"},
            {"end": 2, "flow": 0, "peer_port": 40000, "congestion": b"dctcp-reno"},
            {"end": 3, "flow": -1},
        ],
        "acks": [
            {"time_ns": start, "end": 1, "by": records.BY_SEGMENT, "cwnd_segments": 10},
            {"time_ns": start + 5, "end": 3, "by": records.BY_TIMER, "ca_state": 4},
        ],
        "events": [
            {"time_ns": start, "end": 1, "what": records.COUNTER, "name": b"TCPLossUndo"},
            {"time_ns": start + 7, "end": 2, "what": records.TIMER, "value": 1},
        ],
        "links": [
            {"time_ns": start + 1, "channel": 0, "step": records.ENQUEUED, "to_sink": 1},
            {"time_ns": start + 1, "channel": 1, "step": records.BEGUN, "flow": -1,
             "sojourn_ns": 2**63},
        ],
        "drops": [
            {"time_ns": start, "flow": 0, "name": b"TCP_OFOMERGE"},
            {"time_ns": start + 9, "flow": -1, "name": b"UNKNOWN"},
        ],
        "frames": [
            {"time_ns": start, "host": 0, "channel": -1, "flow": 0, "step": records.SENT,
             "frame_bytes": 1514, "captured_bytes": 3},
            {"time_ns": start + 1, "host": -1, "channel": 1, "flow": -1, "step": records.BEGUN,
             "frame_bytes": 2, "captured_bytes": 2, "offset": 3},
        ],
        "hosts": [
            {"host": 0, "from_ns": start, "to_ns": capture.to_ns, "seen": 1000, "lost": 7},
            {"host": 1, "from_ns": start + 1, "to_ns": capture.to_ns, "seen": 1},
        ],
    }  # fmt: skip
    return Trace(capture, filled(rows), b"abcde", None)


def filled(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, npt.NDArray[np.void]]:
    """Tables with these rows; columns that are not named are zero."""
    tables = {}
    for name, dtype in TABLES.items():
        given = rows.get(name, [])
        tables[name] = np.zeros(len(given), dtype)
        for number, row in enumerate(given):
            for column, value in row.items():
                tables[name][column][number] = value
    return tables


def same(one: Trace, other: Trace) -> bool:
    """Whether two traces are equal to the bit."""
    return _content(one) == _content(other)


def _content(trace: Trace) -> tuple[object, ...]:
    tables = {name: (rows.dtype, rows.tobytes()) for name, rows in trace.tables.items()}
    return trace.capture, tables, trace.frame_bytes, trace.full_ns


def finished(store: Store, trace: Trace | None = None) -> str:
    """Store a run that ended well; return its id."""
    run_id = store.begin(head())
    store.finish(run_id, replace(whole(), trace=trace), 1.0)
    return run_id


def ids_of(path: Path) -> list[str]:
    """The ids of all runs of a store."""
    with Store.open_read_only(path) as store:
        return [row.id for row in store.list_runs()]


def store(path: Path) -> Path:
    """Make a store with a run that has two traces, and another run with one; return its path."""
    path.write_bytes(_filled())
    return path


@cache
def _filled() -> bytes:
    """The content of the store's file. To make it takes a second."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "runs.db")
        with Store(path) as store:
            for count in (2, 1):
                run_id = finished(store)
                for _ in range(count):
                    store.add_trace(run_id, small())
        return path.read_bytes()
