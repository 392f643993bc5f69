"""The digest of a run: equal digests mean that equal things happened in the kernel.

It covers integers, and the numbers and files that a scenario takes from its programs. Those of TCP
and of UDP are samples on the digest's own grid, which every run has whatever its scenario samples.
So the digest does not depend on sampling periods.
Its version is ``orchestrator.protocol.version.DIGEST_VERSION``: raise it with every change here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from orchestrator.protocol.sampling_schedule import DIGEST_NS, MANY_NS
from orchestrator.recording.extracted import ExtractedNumber
from orchestrator.recording.kept import KeptFile
from orchestrator.recording.model import RECEIVER, SENDER, by_queue

Rows = npt.NDArray[np.void]

SENDER_COLUMNS = (
    "time_ns",
    "snd_cwnd_segments",
    "snd_ssthresh_segments",
    "rtt_us",
    "rttvar_us",
    "min_rtt_us",
    "bytes_sent",
    "bytes_acked",
    "data_segs_out",
    "total_retrans_segments",
    "delivered_segments",
    "delivered_ce_segments",
)
RECEIVER_COLUMNS = ("time_ns", "bytes_received", "rcv_ooopack")
QUEUE_COLUMNS = (
    "bytes",
    "packets",
    "drops",
    "overlimits",
    "backlog_bytes",
    "backlog_packets",
    *(f"statistic_{slot}" for slot in range(4)),
)
"""With the first four statistics of a kind only: runs had no others when digests began to cover
them, and a digest stays what it was."""
DATAGRAM_COLUMNS = (
    "time_ns",
    "sent_packets",
    "sent_bytes",
    "received_packets",
    "received_bytes",
    "expected_packets",
    "reordered_packets",
    "duplicate_packets",
    "delay_sum_ns",
    "delay_squares_us2",
    "delay_changes_ns",
)
"""Without the smallest and largest delays, which are those since the previous sample."""
TCP_CLOSE = 7
"""The state of a socket that the kernel has closed (include/net/tcp_states.h)."""
TRANSFER_COLUMNS = ("start_ns", "end_ns", "bytes")


@dataclass(frozen=True)
class DigestInput:
    """What a digest is made of.

    Attributes:
        tcp: samples, of TCP_DTYPE, in the order of time.
        queue_samples: samples, of QUEUE_DTYPE, in the order of time.
        datagrams: samples, of DATAGRAM_DTYPE, in the order of time.
        transfers: all transfers, of TRANSFER_DTYPE, in the order of flows and their starts.
        flows: how many flows there are.
        queues: how many queues there are.
        many: numbers of the flows with many connections at a time.
        extracted: numbers that were taken from the output of programs, by the number of the flow.
        kept: files that were kept of programs, and those that were left out.
    """

    tcp: Rows
    queue_samples: Rows
    datagrams: Rows
    transfers: Rows
    flows: int
    queues: int
    many: Collection[int] = ()
    extracted: Mapping[int, Sequence[ExtractedNumber]] = field(default_factory=dict)
    kept: Sequence[KeptFile] = ()


def digest(observed: DigestInput) -> str:
    """Return sha256 over integers observed in the kernel, in a canonical order.

    - Of each TCP flow, every 100 ms and at the end: its sender's cwnd, ssthresh, RTTs and counters,
      and its receiver's counters. Flows with many connections at a time are sampled every second.
    - Of each UDP flow, every 100 ms and at the end: what was sent and received, and the sums of the
      one-way delays that its sink measured.
    - Of each flow: every transfer.
    - Of a flow that asks for numbers of its program's output: these. A flow that asks for none adds
      nothing, as before there were such numbers.
    - Of a flow that keeps files of its programs: their names, sizes and SHA-256, and those of files
      that are left out with the reason. A flow that keeps none adds nothing.
    - Of each queue: counters, statistics such as marks, and the backlog, each from the start of
      traffic to its end.
    """
    total = hashlib.sha256()
    for flow in range(observed.flows):
        period_ns = MANY_NS if flow in observed.many else DIGEST_NS
        tcp = observed.tcp[observed.tcp["flow"] == flow]
        for end, columns in ((SENDER, SENDER_COLUMNS), (RECEIVER, RECEIVER_COLUMNS)):
            rows = _end_on_grid(tcp[tcp["endpoint"] == end], period_ns)
            total.update(_part(_on_grid(rows, period_ns), columns))
        datagrams = observed.datagrams[observed.datagrams["flow"] == flow]
        total.update(_part(_on_grid(datagrams, DIGEST_NS), DATAGRAM_COLUMNS))
        transfers = observed.transfers[observed.transfers["flow"] == flow]
        total.update(_part(transfers, TRANSFER_COLUMNS))
        if flow in observed.extracted:
            total.update(_of_numbers(observed.extracted[flow]))
        kept = [one for one in observed.kept if one.flow == flow]
        if kept:
            total.update(_of_files(kept))
    for rows in by_queue(observed.queue_samples, observed.queues):
        first, last = _table(rows[:1], QUEUE_COLUMNS), _table(rows[-1:], QUEUE_COLUMNS)
        total.update(_with_size(last - first))
    return total.hexdigest()


def _end_on_grid(rows: Rows, period_ns: int) -> Rows:
    """Return the rows, the last one at the next multiple of the period if its socket is closed.

    The kernel reports a socket when it closes. The bed notes that with the next samples, which may
    be those of the scenario's own period.
    """
    if not len(rows) or rows["state"][-1] != TCP_CLOSE:
        return rows
    moved = rows.copy()
    moved["time_ns"][-1] = -(-rows["time_ns"][-1] // period_ns) * period_ns
    return moved


def _on_grid(rows: Rows, period_ns: int) -> Rows:
    """Return the rows at multiples of the period, and the last row."""
    kept: npt.NDArray[np.bool] = rows["time_ns"] % period_ns == 0
    kept[-1:] = True
    chosen: Rows = rows[kept]
    return chosen


def _part(rows: Rows, columns: Sequence[str]) -> bytes:
    return _with_size(_table(rows, columns))


def _with_size(table: npt.NDArray[np.int64]) -> bytes:
    """Return a table's number of rows and its integers, so that no two tables run together."""
    return len(table).to_bytes(8, "little") + table.astype("<i8").tobytes()


def _of_numbers(numbers: Sequence[ExtractedNumber]) -> bytes:
    """Return numbers by their names as text, with its size before it; a float is written whole."""
    return _of_rows(sorted((one.metric, one.value, one.matches, one.numbers) for one in numbers))


def _of_files(files: Sequence[KeptFile]) -> bytes:
    """Return files as text in their order, with its size before it."""
    return _of_rows(
        [(one.role, one.name, one.size_bytes, one.sha256, one.left_out) for one in files]
    )


def _of_rows(rows: Sequence[tuple[object, ...]]) -> bytes:
    text = json.dumps(rows).encode()
    return len(text).to_bytes(8, "little") + text


def _table(rows: Rows, columns: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return columns of the rows as 64-bit integers, of shape (rows, columns)."""
    return np.column_stack([rows[name].astype(np.int64) for name in columns])
