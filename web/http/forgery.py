"""Refuses changes that another site's page asks for (cross-site request forgery).

A change needs an ``Origin`` header that names this dashboard with its port. It also needs a cookie
of this browser, and in the form the token that belongs to the cookie. The cookie is not sent with
requests of other sites (``SameSite=Strict``) and no script can read it (``HttpOnly``). Cookies
do not tell the ports of a host apart, so another server of this machine may see or set it. It
cannot know the token, which is a keyed hash with a key of this process.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

from flask import Response, abort, g, request

FIELD = "form_token"
"""Name of the form's field with the token."""

_SESSION = re.compile(r"[A-Za-z0-9_-]{43}")


class FormTokens:
    """Gives tokens to forms, and checks them."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def token(self) -> str:
        """Return the token for a form of this answer; the browser gets a cookie if it has none."""
        if "session" not in g:
            cookie = request.cookies.get(_cookie(), "")
            g.session_is_new = not _SESSION.fullmatch(cookie)
            g.session = secrets.token_urlsafe(32) if g.session_is_new else cookie
        return self._derived(g.session)

    def remember(self, response: Response) -> Response:
        """Set the cookie that the tokens of this answer belong to."""
        if g.get("session_is_new"):
            response.set_cookie(_cookie(), g.session, httponly=True, samesite="Strict")
        return response

    def check(self) -> None:
        """Let a form of this dashboard pass; 403, 413 or 415 for any other request."""
        origin = request.headers.get("Origin")
        if origin != f"{request.scheme}://{request.host}":
            abort(403, "changes are taken from this dashboard's own pages only (Origin)")
        if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            abort(403, "changes are taken from this dashboard's own pages only (Sec-Fetch-Site)")
        if request.mimetype != "application/x-www-form-urlencoded":
            abort(415, "changes are forms: application/x-www-form-urlencoded")
        session = request.cookies.get(_cookie(), "")
        given = request.form.get(FIELD, "")
        right = self._derived(session)
        if not _SESSION.fullmatch(session) or not hmac.compare_digest(
            given.encode(errors="replace"), right.encode()
        ):
            abort(403, "the form is not of this session of the dashboard; load its page again")

    def _derived(self, session: str) -> str:
        return hmac.new(self._key, session.encode(), hashlib.sha256).hexdigest()


def _cookie() -> str:
    """Return the cookie's name, which has the port, for two dashboards on one host."""
    port = re.search(r":(\d+)$", request.host)
    return f"orchestrator_edit_{port[1] if port else 80}"
