"""The reference document agrees with the models."""

from __future__ import annotations

from pathlib import Path

from orchestrator.scenario.reference import markdown
from orchestrator.scenario.schema import json_schema

WRITTEN = Path(__file__).parents[3] / "docs" / "reference.md"


def test_the_reference_document_is_up_to_date() -> None:
    text = WRITTEN.read_text(encoding="utf-8")
    assert text == markdown(), "run: orchestrator schema --markdown > docs/reference.md"


def test_every_key_and_kind_is_in_the_reference() -> None:
    text = markdown()
    for name, definition in json_schema()["$defs"].items():
        options = [definition, *definition.get("anyOf", ())]  # a short form, and the whole
        properties = [each for option in options for each in option.get("properties", {}).items()]
        if {key for key, _item in properties} == {"forward", "reverse"}:
            continue
        for key, item in properties:
            if key == "kind":
                assert f": {item['const']}`" in text, name
            else:
                assert f"| `{key}` |" in text, (name, key)


def test_links_lead_to_headings() -> None:
    text = markdown()
    headings = {
        line.lstrip("# ").strip("`").lower().replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("#")
    }
    targets = {part.split(")")[0] for part in text.split("](#")[1:]}
    assert targets <= headings, targets - headings
