"""Compares JSON documents with the models of the contract that they are made by."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from results.contract.base import ResponseModel


def faults(model: type[ResponseModel], document: object) -> list[str]:
    """Return what of a document is not as its model says; keys without a name are faults, too."""
    schema: dict[str, Any] = model.model_json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        if "properties" in part:
            part.setdefault("additionalProperties", False)
    errors = jsonschema_rs.Draft202012Validator(schema).iter_errors(document)
    return [f"{list(error.instance_path)}: {error.message}" for error in errors]
