#!/usr/bin/python3
"""Fetches N bytes over one QUIC stream, and prints how long that took."""

import asyncio
import os
import socket
import ssl
import sys
import time

sys.path.insert(0, os.environ["FILES"] + "/lib")

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

PORT = 4433
WINDOW_BYTES = 1 << 26
"""Of flow control, so that congestion control alone limits the transfer."""


async def fetch(size_bytes: int) -> None:
    """Fetch so many bytes; AssertionError if others come."""
    configuration = QuicConfiguration(alpn_protocols=["bytes"], verify_mode=ssl.CERT_NONE)
    configuration.server_name = "server"
    configuration.max_data = configuration.max_stream_data = WINDOW_BYTES
    connection = QuicConnection(configuration=configuration)
    # aioquic's own connect() opens an IPv6 socket, and the hosts have IPv4 only.
    _transport, protocol = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: QuicConnectionProtocol(connection), local_addr=("0.0.0.0", 0)
    )
    begin_s = time.monotonic()
    protocol.connect((socket.gethostbyname("server"), PORT))
    await protocol.wait_connected()
    reader, writer = await protocol.create_stream()
    writer.write(str(size_bytes).encode())
    writer.write_eof()
    got_bytes = 0
    while data := await reader.read(1 << 16):
        got_bytes += len(data)
    sys.stdout.write(f"{got_bytes} bytes in {time.monotonic() - begin_s:.6f} s\n")
    assert got_bytes == size_bytes
    protocol.close()


asyncio.run(fetch(int(sys.argv[1])))
