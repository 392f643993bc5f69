"""Makes the OpenAPI document of the API by Flask-OpenAPI; imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask_openapi import APIBlueprint, Info, OpenAPI, SecurityScheme, Tag
from pydantic import BaseModel, Field

import orchestrator
from web.contract import claims, experiments, runs, series, several
from web.contract.base import Answer, Problem
from web.openapi import PREFIX, Part

VERSION = "3.1.0"
"""Of the OpenAPI specification. The extension writes 3.2.0, and uses nothing that is new in it."""

_SAYS = """\
Results of TCP congestion-control experiments, read only. Names end in SI units, and times are
simulated seconds since the start of traffic. Null means infinite or unknown.

An error is `{"error": {"status", "title", "message"}}`: 400 for a parameter, with what is valid,
401 without the token where one is needed, 404 for something that is not there, and 503 when the
results database cannot be read.
"""


class Document(Answer):
    """An OpenAPI document."""

    openapi: str = Field(description="version of the OpenAPI specification")
    info: dict[str, Any]
    tags: list[dict[str, Any]]
    paths: dict[str, Any]
    components: dict[str, Any]
    security: list[dict[str, Any]] | None = Field(default=None)


ANSWERS: dict[str, type[BaseModel]] = {
    "api.runs": runs.Runs,
    "api.run": runs.Run,
    "api.tcp": series.Tcp,
    "api.queues": series.Queues,
    "api.goodput": series.Goodput,
    "curves.datagrams": series.Datagrams,
    "curves.transfers": series.Transfers,
    "api_details.compared": several.Comparison,
    "api_details.metrics": several.RegisteredMetrics,
    "api_details.provenance": runs.Provenance,
    "api_details.logs": runs.Said,
    "api_details.network": several.Network,
    "api_details.progress": several.Progress,
    "api_experiments.listed": experiments.Experiments,
    "api_experiments.experiment": experiments.OneExperiment,
    "api_experiments.summary": experiments.Summary,
    "api_papers.listed": claims.Papers,
    "api_papers.paper": claims.OnePaper,
    "api_papers.measured": claims.Measured,
    "document.openapi": Document,
}
"""The answer of each address by the name of its endpoint."""


def make(parts: Sequence[Part], needs_token: bool) -> dict[str, Any]:
    """Return the document of the parts; ``needs_token`` says so in it."""
    app = OpenAPI(
        __name__,
        info=Info(title="TCP orchestrator", version=orchestrator.__version__, description=_SAYS),
        security_schemes={"token": SecurityScheme(type="http", scheme="bearer")},
        openapi_extensions={"security": [{"token": []}]} if needs_token else {},
        operation_id_callback=_operation_id,
        validation_error_status=400,
        validation_error_model=Problem,
        doc_ui=False,
    )
    app.openapi_version = VERSION
    for part in parts:
        documented = APIBlueprint(
            part.name, __name__, url_prefix=PREFIX,
            abp_tags=[Tag(name=part.name, description=part.says)],
            abp_responses=dict.fromkeys((400, 401, 404, 503), Problem),
            operation_id_callback=_operation_id,
        )  # fmt: skip
        for one in part.addresses:
            answer = ANSWERS[f"{part.name}.{one.answers.__name__}"]
            register = documented.get(
                one.rule, description=one.says or None, responses={200: answer}
            )
            register(one.answers)
        app.register_api(documented)
    found: dict[str, Any] = app.api_doc
    return found


def _operation_id(bp_name: str, name: str, **_more: str) -> str:
    return f"{bp_name}_{name}"
