"""CITATION.cff: valid by version 1.2.0 of the format, and of this version of the program.

The lists are from the format's schema (citation-file-format 1.2.0, schema.json): the keys that it
allows, those that it requires, and the types of those that are used here.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from ruamel.yaml import YAML

from orchestrator import __version__

ROOT = Path(__file__).parents[2]
REQUIRED = {"authors", "cff-version", "message", "title"}
TEXTS = {
    "abstract", "cff-version", "commit", "date-released", "doi", "license", "license-url",
    "message", "repository", "repository-artifact", "repository-code", "title", "type", "url",
    "version",
}  # fmt: skip
LISTS = {"authors", "contact", "identifiers", "keywords", "references"}


def test_the_citation_is_valid_and_of_this_version() -> None:
    citation = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert set(citation) >= REQUIRED
    assert set(citation) <= TEXTS | LISTS | {"preferred-citation"}
    for key in citation.keys() & TEXTS:
        assert isinstance(citation[key], str), key
        assert citation[key].strip(), key
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] in ("software", "dataset")
    assert citation["keywords"]
    assert all(isinstance(word, str) for word in citation["keywords"])
    assert len(set(citation["keywords"])) == len(citation["keywords"])
    (author,) = citation["authors"]
    assert set(author) == {"name"}  # an entity; a person would have family-names
    assert re.search("TCP congestion-control orchestrator", author["name"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert citation["version"] == __version__
    # The format has no word for "and": the licence of the program, and the other one in words.
    assert project["license"] == f"{citation['license']} AND GPL-2.0-only"
    assert "GPL-2.0-only" in citation["abstract"]


def test_the_readme_names_it() -> None:
    assert "(CITATION.cff)" in (ROOT / "README.md").read_text("utf-8")
