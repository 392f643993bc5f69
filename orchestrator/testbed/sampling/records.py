"""Writes what the bed has measured: samples as binary rows, everything else as JSON lines.

In the output folder are ``tcp.bin``, ``senders.bin``, ``queue.bin``, ``readings.bin``,
``sojourn.bin``, ``counters.bin``, ``transfers.bin`` and ``datagrams.bin``. Their rows are those of
protocol/records.py. A run with a capture also has ``trace.bin``, and one that keeps files of
programs ``kept.bin``. ``facts.jsonl`` has one line for each fact, {"fact": name, ...}. ``progress``
has the phase and the nanoseconds of traffic simulated so far, rewritten in place. The live view of
a run reads ``tcp.bin``, ``queue.bin`` and ``facts.jsonl`` before the bed has ended.
"""

from __future__ import annotations

import json
import os
import threading

from orchestrator.protocol.kept_files import FILE as KEPT_FILE
from orchestrator.protocol.kept_files import MOST_RUN_BYTES
from orchestrator.protocol.reports.records import (
    COUNTER_ROW,
    DATAGRAMS_ROW,
    QUEUE_TIME,
    READING_HEAD,
    SOJOURN_ROW,
    TCP_HEAD,
    TRANSFER_ROW,
)
from orchestrator.protocol.reports.trace_records import FILE as TRACE_FILE
from orchestrator.testbed.kernel import system

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Iterable, Mapping

_FILES = (
    "tcp.bin", "senders.bin", "queue.bin", "readings.bin", "sojourn.bin", "transfers.bin",
    "datagrams.bin", "counters.bin",
)  # fmt: skip
_FLUSH_BYTES = 1 << 18


class Records:
    """Writes the records of one bed into ``directory``.

    ``far`` tells that another kernel reads the files. Written pages are then flushed to it.
    """

    def __init__(self, directory: str, far: bool = True) -> None:
        self._directory, self._far = directory, far
        # Set when traffic is over: what flows report then is not part of the run.
        self.over = False
        self.kept_bytes, self.most_kept_bytes = 0, MOST_RUN_BYTES
        self._files = {name: _create(directory, name) for name in _FILES}
        self._lock = threading.Lock()
        self._buffers: dict[str, list[bytes]] = {name: [] for name in self._files}
        self._sizes = dict.fromkeys(self._files, 0)
        self._facts = _create(directory, "facts.jsonl")
        self._progress = _create(directory, "progress")

    def tcp(self, time_ns: int, answers: bytes) -> None:
        """Write the kernel's answers about TCP end points."""
        if answers:
            self._append("tcp.bin", TCP_HEAD.pack(time_ns, len(answers)) + answers)

    def sender_state(self, row: bytes) -> None:
        """Write one SENDER_STATE_ROW."""
        self._append("senders.bin", row)

    def queue(self, time_ns: int, counters: bytes) -> None:
        """Write one sample of all qdiscs."""
        self._append("queue.bin", QUEUE_TIME.pack(time_ns) + counters)

    def reading(self, time_ns: int, number: int, counters: bytes) -> None:
        """Write the counters of the qdisc or policer of that number, for checks."""
        self._append("readings.bin", READING_HEAD.pack(time_ns, number) + counters)

    def sojourn(self, time_ns: int, queue_number: int, values: Mapping[int, int]) -> None:
        """Write how long packets waited in the queue of that number: values by their codes."""
        rows = (
            SOJOURN_ROW.pack(time_ns, queue_number, code, value) for code, value in values.items()
        )
        self._append("sojourn.bin", b"".join(rows))

    def counters(self, time_ns: int, host: int, grown: Iterable[tuple[int, int]]) -> None:
        """Write (counter, growth since right before traffic) of a host's counters that changed."""
        rows = (COUNTER_ROW.pack(time_ns, host, counter, value) for counter, value in grown)
        self._append("counters.bin", b"".join(rows))

    def transfer(self, flow: int, start_ns: int, end_ns: int, size_bytes: int) -> None:
        """Write one transfer of a flow; see traffic.Services. Any thread may call it."""
        with self._lock:
            self._append("transfers.bin", TRANSFER_ROW.pack(flow, start_ns, end_ns, size_bytes))

    def datagrams(self, time_ns: int, flow: int, counters: Iterable[int]) -> None:
        """Write the values of DATAGRAM_COUNTERS of one flow."""
        self._append("datagrams.bin", DATAGRAMS_ROW.pack(time_ns, flow, *counters))

    def fact(self, name: str, **values: object) -> None:
        """Write one fact, without buffering."""
        line = json.dumps({"fact": name, **values}, separators=(",", ":")) + "\n"
        os.write(self._facts, line.encode())

    def trace(self, records: bytes) -> None:
        """Write records of a trace; only a run with a capture has any."""
        self._begin(TRACE_FILE)
        self._append(TRACE_FILE, records)

    def kept(self, contents: Iterable[bytes]) -> None:
        """Write the contents of files that are kept."""
        self._begin(KEPT_FILE)
        for content in contents:
            self.kept_bytes += len(content)
            self._append(KEPT_FILE, content)

    def progress(self, phase: str, time_ns: int = 0) -> None:
        """Write the phase of the run; the back end's watchdog and progress line read it."""
        os.pwrite(self._progress, f"{phase} {time_ns}".ljust(48).encode(), 0)
        self._hand_out(self._progress)

    def _begin(self, name: str) -> None:
        """Make a file that only some runs have, unless it is there."""
        if name not in self._files:
            self._files[name] = _create(self._directory, name)
            self._buffers[name], self._sizes[name] = [], 0

    def _append(self, name: str, row: bytes) -> None:
        self._buffers[name].append(row)
        self._sizes[name] += len(row)
        if self._sizes[name] > _FLUSH_BYTES:
            self._flush(name)

    def _flush(self, name: str) -> None:
        data = memoryview(b"".join(self._buffers[name]))
        while data:
            data = data[os.write(self._files[name], data) :]
        self._hand_out(self._files[name])
        self._buffers[name], self._sizes[name] = [], 0

    def _hand_out(self, descriptor: int) -> None:
        if self._far:
            system.hand_out(descriptor)

    def close(self) -> None:
        """Write what is buffered."""
        for name in self._files:
            self._flush(name)


def _create(directory: str, name: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.open(os.path.join(directory, name), flags, 0o644)
