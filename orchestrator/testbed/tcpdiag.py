"""TCP state of one network namespace over one open INET_DIAG socket: the source of `ss -ti`.

The kernel's answers are handed on as they come, netlink headers and all: the back end takes them
apart, where that costs a fraction of what it does in a guest.
Source: include/uapi/linux/inet_diag.h.
"""

import socket
import struct

from . import netlink as nl

SOCK_DIAG_BY_FAMILY = 20
SENDER, RECEIVER = 0, 1
_DESTROYED = 1  # SKNLGRP_INET_TCP_DESTROY

_INFO, _CONGESTION_INFO, _CONGESTION_NAME, _MEMORY = 2, 3, 4, 7  # INET_DIAG_*
_EXTENSIONS = sum(1 << (kind - 1) for kind in (_INFO, _CONGESTION_INFO, _CONGESTION_NAME, _MEMORY))
_LISTEN, _TIME_WAIT = 10, 6
_STATES = 0xFFF & ~(1 << _LISTEN) & ~(1 << _TIME_WAIT)
_ANY_COOKIE = bytes([0xFF] * 8)
_PORTS = struct.Struct("!HH")


class TcpDiag:
    """Samples the sockets of the namespace in which it was opened.

    ``ports`` lists the (local, remote) ports of its flows' ends. Of a single end, ``addresses``
    (own, peer's) makes an exact request: two system calls and no walk of the socket table.
    """

    def __init__(self, ports, addresses):
        self._netlink = nl.Netlink(nl.NETLINK_SOCK_DIAG)
        self._closed = None
        self._request = struct.pack("=BBBxI", socket.AF_INET, 6, _EXTENSIONS, _STATES)
        if len(ports) == 1:
            self._request += _identity(*ports[0], *addresses)
            self.answers = self._one
        else:
            self._request += bytes(48)
            self.answers = self._all

    def watch_closing(self):
        """From now on note the last state of sockets that a foreign program closes.

        To be called in the namespace of the sockets.
        """
        self._closed = nl.Netlink(nl.NETLINK_SOCK_DIAG)
        self._closed.join(_DESTROYED)

    def last_answers(self):
        """Return the last states of the sockets that were closed since the last call."""
        return b"" if self._closed is None else self._closed.drain()

    def _one(self):
        """Return the answer for the one socket, nothing while there is none."""
        return self._netlink.ask(SOCK_DIAG_BY_FAMILY, self._request)

    def _all(self):
        """Return the answers for all sockets of the namespace."""
        return self._netlink.dump_raw(SOCK_DIAG_BY_FAMILY, self._request)


def _identity(local, remote, source, destination):
    """Return the inet_diag_sockid of one socket."""
    addresses = [socket.inet_aton(address) + bytes(12) for address in (source, destination)]
    return _PORTS.pack(local, remote) + b"".join(addresses) + bytes(4) + _ANY_COOKIE
