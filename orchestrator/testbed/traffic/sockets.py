"""TCP sockets of flows: what listens, what connects and from which port, and the window told.

A flow's listener has a port of its own in the whole bed, by which all its connections are known.
Flows share the client ports of SEQUENTIAL_PORTS and MANY_PORTS, which no other socket has.
"""

import errno
import itertools
import socket

from orchestrator.protocol.ports import MANY_PORTS, SEQUENTIAL_PORTS

BROKEN = (
    errno.EPIPE,
    errno.ECONNRESET,
    errno.ENOTCONN,
    errno.ESHUTDOWN,
    errno.ETIMEDOUT,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
)
"""What ends a connection over a network that loses everything for long; no fault of the bed."""

_SO_RCVBUFFORCE, _TCP_WINDOW_CLAMP = 33, 10
_BUFFER_WINDOWS = 2  # the kernel doubles it
_SEGMENT_BYTES = 1460
_BACKLOG = 4096
_TAKEN = (errno.EADDRINUSE, errno.EADDRNOTAVAIL)


def make_socket(spec, flags=0):
    """Return a TCP socket with the flow's congestion control, in the thread's namespace."""
    # At both ends: one that needs ECN, such as DCTCP, has to be agreed on by the receiver.
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM | flags)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, spec["congestion"].encode())
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return made


def listen(bed, spec, host):
    """Return the flow's listening socket on that host; what it accepts takes over its options."""
    with bed.enter(host):
        listener = make_socket(spec)
        if host == spec["sink"]:
            limit_window(listener, spec)
        listener.bind((bed.address(host), spec["port"]))
        listener.listen(_BACKLOG)
    return listener


def window_of(spec):
    """Return the largest window that the receiver of the flow's data may tell, None for any."""
    return spec["parameters"].get("window_bytes")


def limit_window(receiver, spec):
    """Let the socket tell no more than "window_bytes", if the flow's parameters have it.

    For before it listens or connects; ``hold_window`` has to follow. The buffer's size is set, so
    that the kernel does not raise the limit as it tunes the buffer, and has room for what comes
    out of order. The first segment makes the window two segments larger: it begins with less.
    """
    window_bytes = window_of(spec)
    if window_bytes is None:
        return
    receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _BUFFER_WINDOWS * window_bytes)
    # One of 2^16 bytes or more has to begin with as much, or it could not be told in larger units.
    least_bytes = 1 << 16 if window_bytes >= 1 << 16 else _SEGMENT_BYTES
    hold_window(receiver, max(window_bytes - 2 * _SEGMENT_BYTES, least_bytes))


def hold_window(receiver, window_bytes):
    """Limit the window again, for after data have come.

    With the first segment of full size the kernel computes anew how much data fit into the buffer,
    and forgets the limit (tcp_measure_rcv_mss() in net/ipv4/tcp_input.c).
    """
    receiver.setsockopt(socket.IPPROTO_TCP, _TCP_WINDOW_CLAMP, window_bytes)


def congestion_of(connection):
    """Return the name of the socket's congestion control as the kernel has it."""
    told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return told.rstrip(b"\0").decode()


class Connector:
    """Opens a flow's connections from one host, each from the next of the flow's client ports.

    Args:
        bed: the built network.
        spec: the flow.
        client, server: names of the hosts.
    """

    def __init__(self, bed, spec, client, server):
        self._spec = spec
        self._receives = client == spec["sink"]
        self._address = bed.address(client)
        self._destination = (bed.address(server), spec["port"])
        ports = {"one": [spec["client_port"]], "sequential": SEQUENTIAL_PORTS, "many": MANY_PORTS}
        self._ports = ports[spec["connections"]]
        self._next = itertools.cycle(self._ports)

    def open(self):
        """Return a socket that begins to connect, in the thread's namespace, and its port.

        It does not block: it becomes writable when the connection is there, or has failed.

        Raises:
            OSError: no port is free: the last minute's connections have taken all of them.
        """
        for port in itertools.islice(self._next, len(self._ports)):
            client = make_socket(self._spec, socket.SOCK_NONBLOCK)
            if self._receives:
                limit_window(client, self._spec)
            try:
                client.bind((self._address, port))
                code = client.connect_ex(self._destination)
            except OSError as error:
                code = error.errno
            if code in (0, errno.EINPROGRESS):
                return client, port
            client.close()
            if code not in _TAKEN:
                raise OSError(code, f"cannot connect: {errno.errorcode.get(code, code)}")
        raise OSError(errno.EADDRNOTAVAIL, f"all {len(self._ports)} client ports are in use")
