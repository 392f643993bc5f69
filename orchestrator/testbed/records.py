"""What the bed writes out: fixed-size sample rows in two files, everything else as JSON lines.

In the output folder: ``tcp.bin`` (rows of tcpdiag.ROW_BYTES), ``queue.bin`` (i64 time_ns, then
qdisc.Counters' words), ``facts.jsonl`` (one {"fact": name, ...} a line) and ``progress`` (phase and
nanoseconds of traffic simulated so far, rewritten in place). Nobody reads them before the bed
has ended, except ``progress``.
"""

import json
import os
import struct

_TIME = struct.Struct("<q")
_FLUSH_BYTES = 1 << 18


class Records:
    """Writers of one bed's records in ``directory``."""

    def __init__(self, directory):
        self._files = {name: _create(directory, name) for name in ("tcp.bin", "queue.bin")}
        self._buffers = {name: [] for name in self._files}
        self._sizes = dict.fromkeys(self._files, 0)
        self._facts = _create(directory, "facts.jsonl")
        self._progress = _create(directory, "progress")

    def tcp(self, rows):
        """Take sample rows of TCP endpoints."""
        for row in rows:
            self._take("tcp.bin", row)

    def queue(self, time_ns, counters):
        """Take one sample of all qdiscs."""
        self._take("queue.bin", _TIME.pack(time_ns) + counters)

    def fact(self, name, **values):
        """Write one fact at once."""
        line = json.dumps({"fact": name, **values}, separators=(",", ":")) + "\n"
        os.write(self._facts, line.encode())

    def progress(self, phase, time_ns=0):
        """Say where the bed is; the back end's watchdog and progress line read it."""
        os.pwrite(self._progress, f"{phase} {time_ns}".ljust(48).encode(), 0)

    def _take(self, name, row):
        self._buffers[name].append(row)
        self._sizes[name] += len(row)
        if self._sizes[name] > _FLUSH_BYTES:
            self._flush(name)

    def _flush(self, name):
        data = memoryview(b"".join(self._buffers[name]))
        while data:
            data = data[os.write(self._files[name], data) :]
        self._buffers[name], self._sizes[name] = [], 0

    def close(self):
        """Write out what is buffered."""
        for name in self._files:
            self._flush(name)


def _create(directory, name):
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.open(os.path.join(directory, name), flags, 0o644)
