"""The OpenAPI document of the JSON API, ``/api/openapi.json``. There is no page for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from flask import Flask, Response, current_app, jsonify

from web.api.openapi import ApiBlueprint

DOCUMENT = "ORCHESTRATOR_OPENAPI"
"""Key of the application's configuration: a function that returns the document."""


def register(app: Flask, parts: Sequence[ApiBlueprint], needs_token: bool) -> None:
    """Register the parts of the API, and the document of all of them."""
    every = (*parts, document)

    @cache
    def made() -> dict[str, Any]:
        # Only now: with the models of all answers, the dashboard would start later.
        from web.api.document import make

        return make(every, needs_token)

    app.config[DOCUMENT] = made
    for part in every:
        app.register_blueprint(part)


document = ApiBlueprint("document", __name__, "This document.")


@document.address("/openapi.json")
def openapi() -> Response:
    """Return the OpenAPI document of this API."""
    return jsonify(current_app.config[DOCUMENT]())
