"""A store that may be edited, and a client of its pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from tests.web import synthetic
from web import create_app

ORIGIN = {"Origin": "http://localhost"}


@pytest.fixture
def store(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    path = tmp_path / "runs.db"
    return path, synthetic.fill(path)


@pytest.fixture
def client(store: tuple[Path, dict[str, str]]) -> Iterator[FlaskClient]:
    with create_app(store[0], edit=True).test_client() as client:
        yield client


def form(client: FlaskClient, page: str, **fields: object) -> dict[str, object]:
    """Return the fields with the token of the page's forms."""
    match = re.search(r'name="form_token" value="([0-9a-f]{64})"', client.get(page).text)
    assert match
    return {"form_token": match[1], **fields}
