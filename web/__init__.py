"""The dashboard: a read-only view of the results store in a browser."""

from __future__ import annotations

from web.app import create_app
from web.server import serve
from web.token import read_token

__all__ = ["create_app", "read_token", "serve"]
