#!/usr/bin/python3
"""A QUIC server that answers each stream that asks for N bytes with as many.

The first argument is its congestion control: reno or cubic.
"""

import asyncio
import datetime
import os
import sys

sys.path.insert(0, os.environ["FILES"] + "/lib")

from aioquic.asyncio import serve
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PORT = 4433
answers: set[asyncio.Task[None]] = set()
"""Those in progress: the event loop alone does not keep them."""


def certificate() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Return a certificate of the server for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    begin, end = datetime.datetime(2000, 1, 1), datetime.datetime(2099, 1, 1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, end)
    return builder.sign(key, hashes.SHA256()), key


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send as many bytes as the stream asks for."""
    writer.write(bytes(int(await reader.read())))
    writer.write_eof()


def begin_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a new stream."""
    task = asyncio.create_task(answer(reader, writer))
    answers.add(task)
    task.add_done_callback(answers.discard)


async def main() -> None:
    """Serve until the program is ended."""
    configuration = QuicConfiguration(
        is_client=False, alpn_protocols=["bytes"], congestion_control_algorithm=sys.argv[1]
    )
    configuration.certificate, configuration.private_key = certificate()
    await serve("0.0.0.0", PORT, configuration=configuration, stream_handler=begin_answer)
    await asyncio.Event().wait()


asyncio.run(main())
