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

from orchestrator.testbed.kernel import system
from orchestrator.testbed.traffic.sockets import hold_window, listen, make_socket, window_of

CHUNK_BYTES = 1 << 20
_TAKE_BYTES = 64 << 20
_MSG_TRUNC, _MSG_WAITALL = 0x20, 0x100
_ENDED = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.ESHUTDOWN)

_recv = ctypes.CDLL(None, use_errno=True).recv
_recv.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_recv.restype = ctypes.c_ssize_t
_chunk = memoryview(bytes(CHUNK_BYTES))


class BulkFlow:
    """One flow of greedy data from ``source`` to ``sink``: by time, by bytes, or to the end.

    Parameters: "bytes", or None for no end; "window_bytes", see sockets.limit_window.
    """

    def __init__(self, bed, spec, services):
        self.spec = spec
        self._services = services
        self._destination = (bed.address(spec["sink"]), spec["port"])
        self._listener = self._sender = self._receiver = None
        if bed.holds(spec["sink"]):
            self._listener = listen(bed, spec, spec["sink"])
        if bed.holds(spec["source"]):
            with bed.enter(spec["source"]):
                self._sender = make_socket(spec)
                self._sender.bind((bed.address(spec["source"]), spec["client_port"]))

    def start(self, origin_ns):
        """Start a thread for each end; the sender connects at its start time.

        The caller calls ``stop()`` at the flow's stop time: a blocked send cannot watch the clock.
        """
        if self._listener is not None:
            threading.Thread(target=self._receive, args=(self._listener,), daemon=True).start()
        if self._sender is not None:
            sends = (self._sender, origin_ns)
            threading.Thread(target=self._send, args=sends, daemon=True).start()

    def stop(self):
        """Send nothing more from now on; what the kernel has queued is still delivered."""
        if self._sender is not None:
            with contextlib.suppress(OSError):
                self._sender.shutdown(socket.SHUT_WR)

    def _send(self, sender, origin_ns):
        system.Timer().sleep_until(origin_ns + self.spec["start_ns"])
        remaining = self.spec["parameters"]["bytes"]
        try:
            sender.connect(self._destination)
            while remaining is None or remaining > 0:
                sent = sender.send(_chunk[:remaining])
                remaining = None if remaining is None else remaining - sent
            sender.shutdown(socket.SHUT_WR)
        except OSError as error:
            if error.errno not in _ENDED:
                self._services.problem(f"sender: {error.strerror}")

    def _receive(self, listener):
        self._receiver, _peer = listener.accept()
        try:
            take_all(self._receiver, window_of(self.spec))
        except OSError as error:
            if error.errno not in _ENDED:
                self._services.problem(f"receiver: {error.strerror}")


def take_all(receiver, window_bytes):
    """Take what comes until the other end has sent all; return the number of bytes.

    ``window_bytes`` is the largest window that it may tell, None for any.

    Raises:
        OSError: the connection broke.
    """
    if window_bytes is not None:
        receiver.recv(1, socket.MSG_PEEK)  # until the first segment has come
        hold_window(receiver, window_bytes)
    flags = _MSG_TRUNC | _MSG_WAITALL
    total = 0
    while True:
        taken = _recv(receiver.fileno(), None, _TAKE_BYTES, flags)
        if taken == 0:
            return total
        if taken < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        total += taken


ENGINES = {"builtin": BulkFlow}
