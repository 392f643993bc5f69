"""Access control: methods, hosts, encoding, the token, and the headers of every answer."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from flask import Flask, Response, abort, redirect, request
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import MethodNotAllowed, Unauthorized
from werkzeug.wrappers import Response as AnyResponse

from orchestrator.errors import UsageError
from web.http import encoding

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

METHODS = ("GET", "HEAD")

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_REFUSED = "orchestrator.refused_host"
"""Key of the environment of a request for another host, whose value is that host."""

_HOST = re.compile(
    r"(?:\[(?P<address>[0-9A-Fa-f:.]{2,45})\]"
    r"|(?P<name>[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63}){0,8}\.?))"
    r"(?::\d{1,5})?"
)
"""A name or IPv4 address, or an IPv6 address in brackets; a port."""

_TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,}")


def protect(
    app: Flask, token: str | None, hosts: Collection[str], edit: Collection[str] = ()
) -> None:
    """Check every request of the application, and add the headers to every answer.

    ``edit`` names the blueprints that take POST, too. Then only loopback hosts are accepted, with a
    token as well. Browsers send ``Origin`` with their requests, which ``no-referrer`` prevents.

    Raises:
        UsageError: the token is too short or cannot stand in an address.
    """
    if token is not None and not _TOKEN.fullmatch(token):
        raise UsageError("a token is 16 or more letters, digits and -._~ , without spaces")
    beyond = token is not None and not edit
    names = frozenset({"localhost", *(host.lower() for host in hosts)} if beyond else {"localhost"})
    headers = HEADERS | ({"Referrer-Policy": "same-origin"} if edit else {})

    def check() -> AnyResponse | None:
        refused = request.environ.get(_REFUSED)
        takes_post = request.blueprint in edit and request.method == "POST"
        if request.method not in METHODS and not takes_post:
            valid = (*METHODS, "POST") if request.blueprint in edit else METHODS
            raise MethodNotAllowed(valid, f"only {' and '.join(valid)} are answered")
        if refused is not None:
            abort(
                400,
                f"{refused} is not a name of this dashboard; use its IP address, "
                "or start it with that name as --host",
            )
        encoding.check()
        return check_token(token) if token else None

    def finish(response: Response) -> Response:
        response.headers.update(headers)
        if request.endpoint != "static":
            response.headers["Cache-Control"] = "no-store"
        return response

    app.wsgi_app = _HostCheck(  # type: ignore[method-assign]
        app.wsgi_app, names, addresses=beyond
    )
    app.before_request(check)
    app.after_request(finish)


class _HostCheck:
    """Replaces Host headers that do not name this dashboard, before the application sees them.

    Flask and Werkzeug parse the header repeatedly, and fail on many invalid ones. After this class
    it names this dashboard, or it is ``localhost`` and the key _REFUSED is set.
    """

    def __init__(self, app: WSGIApplication, names: Collection[str], *, addresses: bool) -> None:
        self._app = app
        self._names = names
        self._addresses = addresses

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        host = environ.get("HTTP_HOST", "")
        if not host_is_ours(host, self._names, addresses=self._addresses):
            environ[_REFUSED] = host or "An empty name"
            environ["HTTP_HOST"] = "localhost"
        return self._app(environ, start_response)


def host_is_ours(host: str, names: Collection[str], *, addresses: bool) -> bool:
    """Return whether a Host header names this dashboard, and not a domain after DNS rebinding.

    DNS rebinding needs a name whose owner can change its address. An IP address cannot be rebound.
    Loopback addresses are always accepted, others only with ``addresses``.
    """
    parts = _HOST.fullmatch(host)
    if parts is None:
        return False
    name = (parts["name"] or parts["address"]).lower().removesuffix(".")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return bool(parts["name"]) and name in names
    return addresses or address.is_loopback


def check_token(token: str) -> AnyResponse | None:
    """Let a request with the token pass; 401 for any other.

    ``?token=`` is replaced at once by a cookie, so that the browser's history does not keep it. The
    cookie's value is derived from the token. Its name differs between dashboards, so that two of
    them on item host keep separate cookies.
    """
    if request.endpoint == "static":
        return None  # public code, which the page for entering the token needs, too
    name = f"orchestrator_{_derived(token, 'name')[:8]}"
    value = _derived(token, "cookie")
    if _same(request.args.get("token"), token):
        rest = [(key, item) for key, item in request.args.items(multi=True) if key != "token"]
        path = "/" + request.path.lstrip("/")  # two slashes at the start would name another host
        response = redirect(path + ("?" + urlencode(rest) if rest else ""))
        response.set_cookie(name, value, httponly=True, samesite="Strict")
        return response
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    bearer = given.strip() if scheme.lower() == "bearer" else None
    if _same(bearer, token) or _same(request.cookies.get(name), value):
        return None
    raise Unauthorized(
        "Open the address that `orchestrator web` printed: it ends in ?token=... ; "
        "a program sends the header `Authorization: Bearer TOKEN`.",
        www_authenticate=WWWAuthenticate("bearer"),
    )


def _derived(token: str, purpose: str) -> str:
    return hmac.new(token.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def _same(given: str | None, right: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), right.encode())
