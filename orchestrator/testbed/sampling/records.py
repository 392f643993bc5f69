"""What the bed writes out: fixed-size sample rows in two files, everything else as JSON lines.

In the output folder: ``tcp.bin``, ``queue.bin``, ``transfers.bin`` and ``datagrams.bin`` (their
rows are those of protocol/records.py), ``facts.jsonl`` (one line a fact: {"fact": name, ...}) and
``progress`` (phase and nanoseconds of traffic simulated so far, rewritten in place).
All but ``tcp.bin`` and ``progress`` are read only when the bed has ended.
"""

import json
import os
import threading

from orchestrator.protocol.records import DATAGRAMS_ROW, QUEUE_TIME, TCP_HEAD, TRANSFER_ROW
from orchestrator.testbed.kernel import system

_FILES = ("tcp.bin", "queue.bin", "transfers.bin", "datagrams.bin")
_FLUSH_BYTES = 1 << 18


class Records:
    """Writers of one bed's records in ``directory``.

    ``far`` tells that another kernel reads them, which has to be handed what was written.
    """

    def __init__(self, directory, far=True):
        self._far = far
        self._files = {name: _create(directory, name) for name in _FILES}
        self._lock = threading.Lock()
        self._buffers = {name: [] for name in self._files}
        self._sizes = dict.fromkeys(self._files, 0)
        self._facts = _create(directory, "facts.jsonl")
        self._progress = _create(directory, "progress")

    def tcp(self, time_ns, answers):
        """Take the kernel's answers about TCP end points."""
        if answers:
            self._take("tcp.bin", TCP_HEAD.pack(time_ns, len(answers)) + answers)

    def queue(self, time_ns, counters):
        """Take one sample of all qdiscs."""
        self._take("queue.bin", QUEUE_TIME.pack(time_ns) + counters)

    def transfer(self, flow, start_ns, end_ns, size_bytes):
        """Take one transfer of a flow; see traffic.Services. Any thread may call it."""
        with self._lock:
            self._take("transfers.bin", TRANSFER_ROW.pack(flow, start_ns, end_ns, size_bytes))

    def datagrams(self, time_ns, flow, counters):
        """Take the values of DATAGRAM_COUNTERS of one flow."""
        self._take("datagrams.bin", DATAGRAMS_ROW.pack(time_ns, flow, *counters))

    def fact(self, name, **values):
        """Write one fact at once."""
        line = json.dumps({"fact": name, **values}, separators=(",", ":")) + "\n"
        os.write(self._facts, line.encode())

    def progress(self, phase, time_ns=0):
        """Say where the bed is; the back end's watchdog and progress line read it."""
        os.pwrite(self._progress, f"{phase} {time_ns}".ljust(48).encode(), 0)
        self._hand_out(self._progress)

    def _take(self, name, row):
        self._buffers[name].append(row)
        self._sizes[name] += len(row)
        if self._sizes[name] > _FLUSH_BYTES:
            self._flush(name)

    def _flush(self, name):
        data = memoryview(b"".join(self._buffers[name]))
        while data:
            data = data[os.write(self._files[name], data) :]
        self._hand_out(self._files[name])
        self._buffers[name], self._sizes[name] = [], 0

    def _hand_out(self, descriptor):
        if self._far:
            system.hand_out(descriptor)

    def close(self):
        """Write out what is buffered."""
        for name in self._files:
            self._flush(name)


def _create(directory, name):
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.open(os.path.join(directory, name), flags, 0o644)
