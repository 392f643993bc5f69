"""The thrifty bulk endpoints: every flow of the bed in one process, a thread an end.

One `send` hands the kernel a megabyte and one `recv` with MSG_TRUNC takes 64 MiB away without
copying, so user space costs next to nothing whatever the rate. Sockets stay open until the bed
ends: their final counters can be sampled at any time after.
"""

import contextlib
import ctypes
import errno
import os
import socket
import threading

from . import system

CHUNK_BYTES = 1 << 20
_TAKE_BYTES = 64 << 20
_MSG_TRUNC, _MSG_WAITALL = 0x20, 0x100
_ENDED = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.ESHUTDOWN)

_libc = ctypes.CDLL(None, use_errno=True)
_chunk = memoryview(bytes(CHUNK_BYTES))


class BulkFlow:
    """One flow of greedy data from ``source`` to ``sink``: by time, by bytes, or to the end."""

    def __init__(self, bed, spec, report, _note):
        self.spec = spec
        self._report = report
        source, sink = bed.address(spec["source"]), bed.address(spec["sink"])
        self._destination = (sink, spec["port"])
        # At both ends: one that needs ECN, such as DCTCP, has to be agreed on by the receiver.
        congestion = spec["congestion"].encode()
        with bed.enter(spec["sink"]):
            self._listener = socket.socket()
            self._listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion)
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind(self._destination)
            self._listener.listen(1)
        with bed.enter(spec["source"]):
            self._sender = socket.socket()
            self._sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion)
            self._sender.bind((source, spec["client_port"]))
        self._receiver = None

    def start(self, origin_ns):
        """Start both threads; the sender connects at its start time after ``origin_ns``.

        The caller calls ``stop()`` at the flow's stop time: a blocked send cannot watch the clock.
        """
        threading.Thread(target=self._receive, daemon=True).start()
        threading.Thread(target=self._send, args=(origin_ns,), daemon=True).start()

    def stop(self):
        """Send nothing more from now on; what the kernel has queued is still delivered."""
        with contextlib.suppress(OSError):
            self._sender.shutdown(socket.SHUT_WR)

    def _send(self, origin_ns):
        system.Timer().sleep_until(origin_ns + self.spec["start_ns"])
        remaining = self.spec["bytes"]
        try:
            self._sender.connect(self._destination)
            while remaining is None or remaining > 0:
                sent = self._sender.send(_chunk[:remaining])
                remaining = None if remaining is None else remaining - sent
            self._sender.shutdown(socket.SHUT_WR)
        except OSError as error:
            if error.errno not in _ENDED:
                self._report(self.spec["name"], f"sender: {error.strerror}")

    def _receive(self):
        self._receiver, _peer = self._listener.accept()
        descriptor = self._receiver.fileno()
        flags = _MSG_TRUNC | _MSG_WAITALL
        while True:
            taken = _libc.recv(descriptor, None, ctypes.c_size_t(_TAKE_BYTES), flags)
            if taken == 0:
                return
            if taken < 0:
                code = ctypes.get_errno()
                if code not in _ENDED:
                    self._report(self.spec["name"], f"receiver: {os.strerror(code)}")
                return
