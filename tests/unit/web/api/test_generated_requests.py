"""Random requests get answers as the OpenAPI document says, and no error of the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import api_contract as contract
from tests.support import api_requests as generated
from web import create_app

# Hypothesis notes long requests for its reports.
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, generated.Known]:
    path = tmp_path_factory.mktemp("generated") / "runs.db"
    return path, generated.known_of(contract.fill(path))


EXAMPLES = 15
"""Random requests of each address."""


@pytest.mark.long
def test_the_answers_to_random_requests_are_as_the_document_says(
    store: tuple[Path, generated.Known],
) -> None:
    path, known = store
    found = generated.ask(create_app(path), 20261126, EXAMPLES, known)
    assert not found.faults, "\n".join(found.faults)
    every = {f"GET {one}" for one in contract.templates(create_app(path)).values()}
    assert set(found.answers) == every - {"GET /api/openapi.json"}
    for address, answers in found.answers.items():
        assert answers[200], address
        assert answers[405], address
