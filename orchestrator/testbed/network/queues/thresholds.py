"""Lets connections begin with the slow start threshold of their route.

A connection does not begin with its route's metric, but with what the kernel has stored about its
destination. The kernel stores the metrics of the route when a connection to the destination has
ended and its round trip was measured (tcp_init_metrics(), tcp_update_metrics() and tcpm_suck_dst()
in net/ipv4/tcp_metrics.c). So one connection to each destination is made and ended before traffic.
Another one confirms that it begins as requested. A locked metric of the route does not change, and
the kernel stores nothing about the run's traffic (tcp_no_metrics_save).
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
"""Each uses another port, because an ended connection occupies its port for a minute."""
_INFO_SSTHRESH = struct.Struct("=76xI")
"""tcpi_snd_ssthresh of struct tcp_info."""
_SAVE = "net.ipv4.tcp_no_metrics_save"


def make_known(bed: Bed) -> None:
    """Make the kernel store each requested threshold for all peers of its host.

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
    threshold = None
    for attempt in range(_ATTEMPTS):
        with bed.enter(host):
            client = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            client.bind((bed.address(host), _CLIENT_PORT + attempt))
        try:
            client.connect(listener.getsockname())
            threshold = _threshold(client)
            _exchange_and_end(client, listener.accept()[0])
        except OSError:  # the link loses nearly every packet
            threshold = None
        finally:
            client.close()
        if threshold == requested:
            break
    listener.close()
    if threshold != requested:
        raise BuildError(
            f"{host}: ssthresh to {peer} begins with {threshold}, requested was {requested}"
        )


def _threshold(client: socket.socket) -> int:
    info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_SSTHRESH.size)
    (ssthresh,) = _INFO_SSTHRESH.unpack(info)
    return int(ssthresh)


def _exchange_and_end(client: socket.socket, server: socket.socket) -> None:
    """Send a byte there and back, and end the connection at both ends; the client is first."""
    with server:
        client.sendall(b"?")
        server.recv(1)
        server.sendall(b"!")
        client.recv(1)
        client.shutdown(socket.SHUT_WR)
        server.recv(1)
    client.recv(1)  # the other end's FIN, with which the kernel stores the metrics
