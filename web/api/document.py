"""Makes the OpenAPI document of the API; imported when it is first asked for.

pydantic gives the schemas of parameters and answers. The models that check them are the document.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, get_type_hints

from pydantic import BaseModel, Field
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

import orchestrator
from results.claims.contract import Measured
from results.contract import comparisons, differences, experiments, runs
from results.contract.base import ResponseModel
from web.api.openapi import PREFIX, ApiAddress, ApiBlueprint
from web.contract import claims, series, several, traces
from web.contract.problem import Problem

VERSION = "3.1.0"
"""Of the OpenAPI specification."""

FAULTS = (400, 401, 404, 503)
"""Statuses of answers that say what is wrong."""

_REFERENCE = "#/components/schemas/{model}"

_SAYS = """\
Results of TCP congestion-control experiments, read only. Names end in SI units, and times are
simulated seconds since the start of traffic. Null means infinite or unknown.

An error is `{"error": {"status", "title", "message"}}`: 400 for a parameter, with what is valid,
401 without the token where one is needed, 404 for something that is not there, and 503 when the
results database cannot be read.
"""


class Document(ResponseModel):
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
    "api_details.compared": comparisons.Comparison,
    "api_details.parted": differences.RunDifference,
    "api_details.metrics": several.RegisteredMetrics,
    "api_details.provenance": runs.Provenance,
    "api_details.logs": runs.Said,
    "api_details.network": several.Network,
    "api_details.progress": several.Progress,
    "api_traces.listed": traces.Traces,
    "api_traces.moments": traces.Moments,
    "api_traces.stories": traces.Stories,
    "api_traces.sequence": traces.TimeSequence,
    "api_traces.queue": traces.TracedQueue,
    "api_traces.acks": traces.AckStates,
    "api_traces.rows": traces.TraceRows,
    "api_experiments.listed": experiments.Experiments,
    "api_experiments.experiment": experiments.OneExperiment,
    "api_experiments.summary": experiments.Summary,
    "api_papers.listed": claims.Papers,
    "api_papers.paper": claims.OnePaper,
    "api_papers.measured": Measured,
    "document.openapi": Document,
}
"""The answer of each address by the name of its endpoint."""


class _Schema(GenerateJsonSchema):
    """Schemas without ``default: null``, which is not a value of most fields that may be absent."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema of a field that may be absent."""
        json_schema = super().default_schema(schema)
        if json_schema.get("default", ...) is None:
            del json_schema["default"]
        return json_schema


def make(parts: Sequence[ApiBlueprint], needs_token: bool) -> dict[str, Any]:
    """Return the document of the parts; ``needs_token`` says so in it."""
    models: list[type[BaseModel]] = [*ANSWERS.values(), Problem]
    _, schemas = models_json_schema(
        [(model, "validation") for model in models],
        ref_template=_REFERENCE,
        schema_generator=_Schema,
    )
    document: dict[str, Any] = {
        "openapi": VERSION,
        "info": {
            "title": "TCP orchestrator",
            "version": orchestrator.__version__,
            "description": _SAYS,
        },
        "tags": [{"name": part.name, "description": part.says} for part in parts],
        "paths": {
            PREFIX + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", one.rule): {"get": _operation(part, one)}
            for part in parts
            for one in part.addresses
        },
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    return document | ({"security": [{"token": []}]} if needs_token else {})


def _operation(part: ApiBlueprint, one: ApiAddress) -> dict[str, Any]:
    """Return what the document says of an address."""
    name = one.answers.__name__
    hints = get_type_hints(one.answers)
    parameters = [
        parameter
        for source in ("path", "query")
        if source in hints
        for parameter in _parameters(hints[source], source)
    ]
    return {
        "tags": [part.name],
        "summary": (inspect.getdoc(one.answers) or "").partition("\n")[0],
        **({"description": one.says} if one.says else {}),
        "operationId": f"{part.name}_{name}",
        **({"parameters": parameters} if parameters else {}),
        "responses": {
            "200": _response(200, ANSWERS[f"{part.name}.{name}"]),
            **{str(status): _response(status, Problem) for status in FAULTS},
        },
    }


def _parameters(model: type[BaseModel], place: str) -> Iterator[dict[str, Any]]:
    """Yield the parameters that a model reads from an address' path or query."""
    schema = model.model_json_schema(ref_template=_REFERENCE, schema_generator=_Schema)
    for name, parameter in schema.get("properties", {}).items():
        said = {"description": parameter["description"]} if "description" in parameter else {}
        needed = name in schema.get("required", ())
        yield {"name": name, "in": place, **said, "required": needed, "schema": parameter}


def _response(status: int, model: type[BaseModel]) -> dict[str, Any]:
    schema = {"$ref": _REFERENCE.format(model=model.__name__)}
    return {
        "description": HTTPStatus(status).phrase,
        "content": {"application/json": {"schema": schema}},
    }
