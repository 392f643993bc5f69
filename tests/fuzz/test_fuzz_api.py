"""Random requests to the API, with new seeds, get answers as its OpenAPI document says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.conftest import Fuzz
from tests.support import api_contract as contract
from tests.support import api_requests as generated
from web import create_app

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")

EXAMPLES = 5
SLOWEST_S = 300.0
"""An input is some hundred requests, by way of all addresses."""


def test_random_requests_get_answers_as_the_document_says(fuzz: Fuzz, tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    known = generated.known_of(contract.fill(path))
    fuzz.slowest_s = SLOWEST_S
    for draw in fuzz:
        seed = draw.getrandbits(32)
        found = generated.ask(create_app(path), seed, EXAMPLES, known, coverage=False)
        assert not found.faults, "\n".join(found.faults)
        assert sum(found.answers["GET /api/runs"].values()) >= EXAMPLES
