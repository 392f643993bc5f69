"""Serves the dashboard with waitress."""

from __future__ import annotations

import gc
import ipaddress
import logging
import socket
import sys
import threading
from pathlib import Path

from flask import Flask

from orchestrator import plaintext
from orchestrator.errors import UsageError
from results.statistics.estimates import CONFIDENCE, student
from web.app import create_app
from web.http.capacity import make_server


def serve(
    db: Path,
    host: str = "127.0.0.1",
    port: int = 8080,
    token: str | None = None,
    edit: bool = False,
    cards: Path | None = None,
) -> None:
    """Serve the dashboard until interrupted; its address goes to standard error.

    Port 0 takes any free one. With ``edit`` its pages write notes and tags. ``cards`` is the folder
    of report cards, the store's by default.

    Raises:
        UsageError: host or port cannot be listened on, or others could reach them and there is
            no token, or ``edit``.
    """
    listener = listen(host, port, token, edit)
    with listener:
        own = socket.gethostname()
        hosts = {host, own, f"{own}.local"}
        app = create_app(db, token, hosts=hosts, edit=edit, tell=say, cards=cards)
        what = "dashboard, which writes notes and tags," if edit else "dashboard"
        say(f"{what} of {db}: {address(listener, token)}")
        server = make_server(app, listener)
        # That requests wait for each other is no news, and standard error is for faults.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        # Only now: what cannot be served loads nothing, and the first answer waits for no import.
        threading.Thread(target=load_ahead, args=(app,), daemon=True).start()
        server.run()


def load_ahead(app: Flask) -> None:
    """Load what the first pages need, which takes as long as they do: templates and scipy.

    All that is there then stays, so the collector of cycles need not look at it in every request.
    """
    student(CONFIDENCE, 1)
    for name in app.jinja_env.list_templates():
        app.jinja_env.get_template(name)
    gc.collect()
    gc.freeze()


def say(text: str) -> None:
    """Print a line on standard error."""
    sys.stderr.write(f"{plaintext.visible(text)}\n")
    sys.stderr.flush()


def listen(host: str, port: int, token: str | None, edit: bool = False) -> socket.socket:
    """Return a listening socket; UsageError as :func:`serve`.

    ``localhost`` is 127.0.0.1 without a look-up (RFC 6761, section 6.3). A machine without
    /etc/hosts, such as a bare root, may not know that name.
    """
    if not 0 <= port <= 65535:  # the resolver would take the remainder
        raise UsageError(f"port {port} is not one of 1 to 65535, or 0 for any free one")
    looked_up = "127.0.0.1" if host.lower() in ("localhost", "localhost.") else host
    try:
        addresses = socket.getaddrinfo(
            looked_up or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, OverflowError, UnicodeError) as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error}") from error
    # One address is served; of those of a name the IPv4 one, which every browser tries.
    family, _, _, _, where = min(addresses, key=lambda candidate: candidate[0] != socket.AF_INET)
    is_loopback = ipaddress.ip_address(str(where[0]).partition("%")[0]).is_loopback
    if edit and not is_loopback:
        raise UsageError(
            f"others could reach {host}:{port}, so --edit is refused there: keep to --host "
            f"127.0.0.1 and forward the port with `ssh -L {port}:127.0.0.1:{port}`"
        )
    if not is_loopback and token is None:
        raise UsageError(
            f"others could reach {host}:{port}, so the dashboard needs a token there: give one "
            "with --token-file FILE or in ORCHESTRATOR_WEB_TOKEN, or keep to --host 127.0.0.1 and "
            "forward the port with "
            f"`ssh -L {port}:127.0.0.1:{port}`"
        )
    try:
        return socket.create_server(where, family=family)
    except (OSError, OverflowError) as error:
        raise UsageError(
            f"cannot listen on {host}:{port}: {error}; name another with --port"
        ) from error


def address(listener: socket.socket, token: str | None) -> str:
    """Return the address to open in a browser."""
    host, port = listener.getsockname()[:2]
    ip = ipaddress.ip_address(host.partition("%")[0])
    shown = socket.gethostname() if ip.is_unspecified else f"[{ip}]" if ip.version == 6 else host
    return f"http://{shown}:{port}/" + (f"?token={token}" if token else "")
