"""Refuses requests whose path, query or form has bytes that are not UTF-8.

Werkzeug shows such bytes as other text, or fails on them. Then a search would be for what nobody
typed, and a tag would not be what was sent.
"""

from __future__ import annotations

from urllib.parse import quote_from_bytes, unquote_to_bytes

from flask import abort, request

FORM = "application/x-www-form-urlencoded"

MOST_SHOWN = 60
"""Characters of a faulty part that the error shows."""


def check() -> None:
    """Let a request in UTF-8 pass; 400 for any other.

    The body counts where it is a form, which is read here: 413 when it is too long.
    """
    path: str = request.environ.get("PATH_INFO", "")
    _require("the address", path.encode("latin-1").split(b"/"))
    _require("the query", _fields(request.query_string))
    if request.method == "POST" and request.mimetype == FORM:
        _require("the form", _fields(request.get_data()))


def _fields(encoded: bytes) -> list[bytes]:
    return [unquote_to_bytes(part) for part in encoded.split(b"&")]


def _require(where: str, parts: list[bytes]) -> None:
    for part in parts:
        try:
            part.decode()
        except UnicodeDecodeError:
            shown = quote_from_bytes(part, safe="=+")[:MOST_SHOWN]
            abort(
                400,
                f"{where} has bytes that are not UTF-8, in {shown}: "
                "encode the text as UTF-8, in which ü is %C3%BC",
            )
