"""The reference document agrees with the models."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.scenario.reference import markdown
from orchestrator.scenario.schema import json_schema

WRITTEN = Path(__file__).parents[3] / "docs" / "reference.md"


def test_the_reference_document_is_up_to_date() -> None:
    text = WRITTEN.read_text(encoding="utf-8")
    assert text == markdown(), "run: orchestrator schema --markdown > docs/reference.md"


@pytest.mark.slow
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


def test_bounds_that_validation_enforces_are_stated() -> None:
    text = markdown()
    for bound in (
        "a delay of a link up to 600s", "up to 720h", "up to 100gbit", "up to 100 000/s",
        "10000bdp and 4 294 967 295 packets or bytes", "`-`, 40 characters at most",
        "10 000 runs and 10 000 flows", "1 000 pairs of hosts", "100 000 times", "40 digits",
        "may set 1 000 paths", "10 000 000 values", "2.147s is the most", "at most 4294ms",
        "256B to 1MiB", "up to 99 days", "1p or 1152B to 256MiB", "4096B to 2^31 - 1 bytes",
        "64 MB, 30 days and 8000 lines", "1ms to 60s",
    ):  # fmt: skip
        assert bound in text
