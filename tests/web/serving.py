"""A dashboard that is served while a block runs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from waitress.server import BaseWSGIServer, create_server

from web import create_app
from web.http.capacity import THREADS
from web.http.streams import STREAMS


@contextmanager
def serving(db: Path, edit: bool = False) -> Iterator[str]:
    """Serve the dashboard of a store, and give its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    channels: dict[int, Any] = {}
    app = create_app(db, edit=edit)
    server = create_server(app, map=channels, sockets=[listener], threads=THREADS)
    assert isinstance(server, BaseWSGIServer)
    stop = threading.Event()

    def loop() -> None:
        while not stop.is_set():
            server.asyncore.loop(timeout=0.05, map=channels, count=1)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop.set()
        app.config[STREAMS].stopping.set()
        thread.join()
        server.task_dispatcher.shutdown()
        for channel in list(channels.values()):
            channel.close()
