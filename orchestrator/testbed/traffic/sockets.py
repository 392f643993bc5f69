"""TCP sockets of flows: listeners, connections and their ports, and limits of receive windows.

Each flow's listener has a port that no other flow of the bed has. The port identifies all
connections of the flow. Flows share the client ports of SEQUENTIAL_PORTS and MANY_PORTS, which no
other socket uses.
"""

from __future__ import annotations

import errno
import itertools
import socket

from orchestrator.protocol.ports import MANY_PORTS, SEQUENTIAL_PORTS
from orchestrator.protocol.reports.outcomes import NETWORK_ERRORS
from orchestrator.testbed.kernel import mptcp

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from collections.abc import Sequence

    from orchestrator.protocol.specification import FlowSpec
    from orchestrator.testbed.bed import Bed

_SO_RCVBUFFORCE, _TCP_WINDOW_CLAMP = 33, 10
_BUFFER_WINDOWS = 2  # the kernel doubles it
_SMALL_SEGMENTS = 5
_MEMORY_BYTES = 2052
"""Memory that a small window's buffer has for each segment, besides the segment's payload.

Linux 6.12 counts about 1500 to 2000 bytes for payloads up to 1460 bytes. A third more memory for
each segment changes no window, because the kernel rounds it down to whole segments.
"""
_BACKLOG = 4096
_IN_USE = (errno.EADDRINUSE, errno.EADDRNOTAVAIL)


def congestion_for(spec: FlowSpec) -> str:
    """Return the kernel's name of a TCP flow's congestion control."""
    name = spec["congestion"]
    assert name is not None, "only UDP flows have none"
    return name


def is_multipath(spec: FlowSpec) -> bool:
    """Tell whether the flow's connections are Multipath TCP."""
    return bool(spec["parameters"].get("multipath", False))


def make_socket(spec: FlowSpec, flags: int = 0) -> socket.socket:
    """Return a TCP socket with the flow's congestion control, in the thread's namespace."""
    # Both ends get it: a control that needs ECN, such as DCTCP, has to be accepted by the receiver.
    protocol = mptcp.IPPROTO_MPTCP if is_multipath(spec) else 0
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM | flags, protocol)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_for(spec).encode())
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return made


def listen(bed: Bed, spec: FlowSpec, host: str) -> socket.socket:
    """Return the flow's listener on that host; accepted sockets inherit its options."""
    with bed.enter(host):
        listener = make_socket(spec)
        if host == spec["sink"]:
            _limit_window(listener, spec)
        # Further subflows of a connection come to other addresses of the machine.
        address = "" if is_multipath(spec) else bed.address(host)
        listener.bind((address, spec["port"]))
        listener.listen(_BACKLOG)
    return listener


class ReceiveWindow:
    """The largest window that the receiver of a flow's data may advertise.

    ``prepare`` a socket before it listens or connects. Call ``connected`` before data arrive, and
    ``hold`` after data have been read.

    Args:
        window_bytes: the limit.
        mss_bytes: the maximum segment size of the connection, with TCP options.
        segment_bytes: payload of a full segment.
    """

    def __init__(self, window_bytes: int, mss_bytes: int, segment_bytes: int) -> None:
        self._growth_bytes = 2 * mss_bytes
        self._segment_bytes = segment_bytes
        self._window_bytes = window_bytes
        if segment_bytes < window_bytes < 2 * segment_bytes:
            # It would become two segments as soon as smaller ones have arrived.
            self._window_bytes = segment_bytes
        # The kernel rounds up to a multiple of the window scale (tcp_select_initial_window()).
        scale = max(0, (window_bytes - self._growth_bytes).bit_length() - 16)
        self._window_bytes -= self._window_bytes % (1 << scale)

    def prepare(self, receiver: socket.socket) -> None:
        """Limit the window of the handshake.

        A fixed buffer size keeps the kernel from raising the limit when it tunes the buffer. The
        buffer has room for data out of order. The first segment enlarges the window by two
        segments (tcp_grow_window() in net/ipv4/tcp_input.c), so the limit is that much smaller at
        first. A sender splits segments that are larger than half of the largest window that it has
        seen (tcp_bound_to_half_wnd() in include/net/tcp.h), so it allows two segments at least.
        """
        receiver.setsockopt(
            socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_WINDOWS * self._window_bytes
        )
        # With less than 2^16 bytes the handshake would agree on no window scaling, which larger
        # windows need.
        least_bytes = 1 << 16
        if self._window_bytes < 1 << 16:
            least_bytes = min(self._window_bytes, self._growth_bytes)
        self._clamp(receiver, max(self._window_bytes - self._growth_bytes, least_bytes))

    def connected(self, receiver: socket.socket) -> None:
        """Keep the first segment from enlarging a window of 2 to 4 segments.

        The buffer gets room for the window only. It cannot have that size before, because the
        handshake expects data that take more memory (TCP_DEFAULT_SCALING_RATIO).
        """
        segments = self._window_bytes / self._segment_bytes
        if 2 <= segments < _SMALL_SEGMENTS:
            memory_bytes = int(segments * (self._segment_bytes + _MEMORY_BYTES))
            receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, memory_bytes // 2)

    def hold(self, receiver: socket.socket) -> None:
        """Limit the window again after data have arrived.

        At the first segment of full size, the kernel computes again how much data fit into the
        buffer, and drops the limit (tcp_measure_rcv_mss() in net/ipv4/tcp_input.c).
        """
        self._clamp(receiver, self._window_bytes)

    @staticmethod
    def _clamp(receiver: socket.socket, window_bytes: int) -> None:
        receiver.setsockopt(socket.IPPROTO_TCP, _TCP_WINDOW_CLAMP, window_bytes)


def window_of(spec: FlowSpec) -> ReceiveWindow | None:
    """Return the limit of the data's receiver; None if the flow has none."""
    parameters = spec["parameters"]
    window_bytes = parameters.get("window_bytes")
    if window_bytes is None:
        return None
    return ReceiveWindow(window_bytes, parameters["mss_bytes"], parameters["segment_bytes"])


def _limit_window(receiver: socket.socket, spec: FlowSpec) -> None:
    """Limit the window of an end that receives the data; it is not connected yet."""
    window = window_of(spec)
    if window is not None:
        window.prepare(receiver)


def congestion_of(connection: socket.socket) -> str:
    """Return the name of the congestion control that the kernel uses for the socket."""
    name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return name.rstrip(b"\0").decode()


class ConnectFailed(Exception):
    """The kernel refused at once to connect, such as without a route; with the port and errno."""

    def __init__(self, port: int, code: int) -> None:
        super().__init__(port, code)
        self.port, self.code = port, code


def shut(connection: socket.socket) -> None:
    """End the data that a socket sends; the kernel still delivers what it has queued.

    A connection that broke meanwhile stays as it is: an event reports that.
    """
    try:
        connection.shutdown(socket.SHUT_WR)
    except OSError as error:
        if error.errno not in NETWORK_ERRORS:
            raise


class Connector:
    """Opens a flow's connections from one host, each from the next of the flow's client ports.

    Args:
        bed: the built network.
        spec: the flow.
        client, server: names of the hosts.
    """

    def __init__(self, bed: Bed, spec: FlowSpec, client: str, server: str) -> None:
        self._spec = spec
        self._receives = client == spec["sink"]
        self._address = bed.address(client)
        self._destination = (bed.address(server), spec["port"])
        ports: dict[str, Sequence[int]] = {
            "one": [spec["client_port"]],
            "sequential": SEQUENTIAL_PORTS,
            "many": MANY_PORTS,
        }
        self._ports = ports[spec["connections"]]
        self._next = itertools.cycle(self._ports)

    def open(self) -> tuple[socket.socket, int]:
        """Return a socket that begins to connect, in the thread's namespace, and its port.

        It does not block. It becomes writable when the connection exists or has failed.

        Raises:
            ConnectFailed: the kernel refused at once to connect, because of the network.
            OSError: no port is free, because connections of the last minute use all of them.
        """
        for port in itertools.islice(self._next, len(self._ports)):
            client = make_socket(self._spec, socket.SOCK_NONBLOCK)
            if self._receives:
                _limit_window(client, self._spec)
            try:
                client.bind((self._address, port))
                code = client.connect_ex(self._destination)
            except OSError as error:
                code = error.errno or errno.EIO
            if code in (0, errno.EINPROGRESS):
                return client, port
            client.close()
            if code in NETWORK_ERRORS:
                raise ConnectFailed(port, code)
            if code not in _IN_USE:
                raise OSError(code, f"cannot connect: {errno.errorcode.get(code, code)}")
        raise OSError(errno.EADDRNOTAVAIL, f"all {len(self._ports)} client ports are in use")
