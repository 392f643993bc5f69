"""The scenario language as JSON Schema, generated from the models."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import SchemaSerializer, core_schema

from orchestrator.kinds.events import EVENTS
from orchestrator.kinds.losses import LOSSES
from orchestrator.kinds.queues import QUEUES
from orchestrator.kinds.registry import FAMILY_MARK
from orchestrator.kinds.traffic import TRAFFIC
from orchestrator.scenario.model import Scenario
from results.figures import FIGURES
from topologies import TOPOLOGIES

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a scenario, with units in the descriptions."""
    schema = Scenario.model_json_schema(schema_generator=_Generator)
    for family in (TOPOLOGIES, QUEUES, LOSSES, TRAFFIC, EVENTS, FIGURES):
        schema["$defs"] |= family.json_schema(_Generator)
    linked: dict[str, Any] = _linked(schema)
    return {"$schema": DIALECT, **linked, "$defs": dict(sorted(linked["$defs"].items()))}


class _Generator(GenerateJsonSchema):
    """Writes defaults in the syntax of a scenario: ``0s`` instead of 0.0."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        json_schema = super().default_schema(schema)
        if json_schema.get("default") is not None:
            serializer = SchemaSerializer(schema["schema"])
            json_schema["default"] = serializer.to_python(schema["default"], mode="json")
        return json_schema


def _linked(node: Any) -> Any:
    """Return the schema with the placeholders of families replaced by references."""
    if isinstance(node, list):
        return [_linked(item) for item in node]
    if not isinstance(node, dict):
        return node
    linked = {key: _linked(value) for key, value in node.items()}
    if FAMILY_MARK in linked:
        linked["$ref"] = f"#/$defs/{linked.pop(FAMILY_MARK)}"
    return linked
