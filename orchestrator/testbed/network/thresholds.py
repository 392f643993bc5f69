"""Lets connections begin with the slow start threshold of their route.

A connection begins with what the kernel remembers of its destination, not with its route's metric;
and it begins to remember when a connection there has ended and its round trip was measured, with
the metrics of the route then (tcp_init_metrics(), tcp_update_metrics() and tcpm_suck_dst() in
net/ipv4/tcp_metrics.c). So one connection to each destination is made and ended before traffic,
and another confirms that it begins as requested. What is locked in the route's metrics stays as
it is, and nothing is remembered of traffic (tcp_no_metrics_save).
"""

from __future__ import annotations

import socket
import struct

from orchestrator.testbed.errors import BuildError
from orchestrator.testbed.kernel.sysctl import write_sysctl

TYPE_CHECKING = False
if TYPE_CHECKING:  # without importing typing, which costs time in a guest
    from orchestrator.testbed.network.build import Bed

RTAX_SSTHRESH = 6
_CLIENT_PORT, _SERVER_PORT = 4_900, 4_998
_ATTEMPTS = 60
"""Each has a port of its own, for an ended connection keeps its for a minute."""
_INFO_SSTHRESH = struct.Struct("=76xI")
"""tcpi_snd_ssthresh of struct tcp_info."""
_SAVE = "net.ipv4.tcp_no_metrics_save"


def make_known(bed: Bed) -> None:
    """Make the kernel remember each requested threshold for all peers of its host.

    Raises:
        BuildError: connections to a peer do not begin with it.
    """
    for host in bed.spec["hosts"]:
        requested = bed.spec["route_metrics"].get(host["name"], {}).get(str(RTAX_SSTHRESH))
        if requested is None:
            continue
        with bed.enter(host["name"]):
            write_sysctl(_SAVE, 0)
        for peer in host["peers"]:
            _make_known(bed, host["name"], peer, requested)
        with bed.enter(host["name"]):
            write_sysctl(_SAVE, bed.spec["sysctls"][_SAVE])


def _make_known(bed: Bed, host: str, peer: str, requested: int) -> None:
    with bed.enter(peer):
        listener = socket.create_server((bed.address(peer), _SERVER_PORT))
    found = None
    for attempt in range(_ATTEMPTS):
        with bed.enter(host):
            client = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            client.bind((bed.address(host), _CLIENT_PORT + attempt))
        try:
            client.connect(listener.getsockname())
            found = _threshold(client)
            _exchange_and_end(client, listener.accept()[0])
        except OSError:  # over a link that loses nearly everything
            found = None
        finally:
            client.close()
        if found == requested:
            break
    listener.close()
    if found != requested:
        raise BuildError(
            f"{host}: ssthresh to {peer} begins with {found}, requested was {requested}"
        )


def _threshold(client: socket.socket) -> int:
    info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_SSTHRESH.size)
    (found,) = _INFO_SSTHRESH.unpack(info)
    return int(found)


def _exchange_and_end(client: socket.socket, server: socket.socket) -> None:
    """Send a byte there and back, and end the connection at both ends; the client is first."""
    with server:
        client.sendall(b"?")
        server.recv(1)
        server.sendall(b"!")
        client.recv(1)
        client.shutdown(socket.SHUT_WR)
        server.recv(1)
    client.recv(1)  # the other end's FIN: what the client remembers is made with it
