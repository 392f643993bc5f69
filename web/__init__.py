"""The dashboard: a read-only view of the results store in a browser."""

from __future__ import annotations

from web.app import create_app
from web.http.token import read_token
from web.server import serve

__all__ = ["create_app", "read_token", "serve"]
