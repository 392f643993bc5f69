"""A page and an answer of the API read each run that they show once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from results.store.store import Store
from results.store.stored import StoredRun
from tests.support.experiments import make
from web import create_app

VARIANTS: list[dict[str, Any]] = [{"flows.a.congestion": name} for name in ("bbr", "cubic")]


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """An experiment of two variants with three repetitions each, and the ids of its runs."""
    path = tmp_path_factory.mktemp("web") / "runs.db"
    with Store(path) as store:
        return path, make(store, lambda _v, r: {"a": 1e6 + r}, VARIANTS, 3)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the runs that stores load, in their order."""
    ids: list[str] = []
    load, load_many = Store.load, Store.load_many

    def one(self: Store, run_id: str) -> StoredRun:
        run = load(self, run_id)
        ids.append(run.id)
        return run

    def many(self: Store, run_ids: Sequence[str]) -> Iterator[StoredRun]:
        for run in load_many(self, run_ids):
            ids.append(run.id)
            yield run

    monkeypatch.setattr(Store, "load", one)
    monkeypatch.setattr(Store, "load_many", many)
    return ids


@pytest.mark.parametrize(
    ("address", "chosen"),
    [
        ("/runs/{0}", [0]),
        ("/runs/{0}/document.json", [0]),
        ("/api/runs/{0}", [0]),
        ("/compare?run={0}&run={1}&run={3}&run={4}", [0, 1, 3, 4]),
        ("/api/compare?run={0}&run={3}", [0, 3]),
        ("/diff?run={0}&run={3}", [0, 3]),
        ("/compare?repetition=1&VARIANTS", [1, 4]),
        ("/api/compare?repetition=1&VARIANTS", [1, 4]),
        ("/export.json?run={0}&run={3}", [0, 3]),
        ("/export.csv?run={0}&run={3}", [0, 3]),
        ("/api/experiments/trial", [5]),
        ("/api/experiments/trial/summary?drift=no", []),
    ],
)
def test_each_run_is_loaded_once(
    stored: tuple[Path, list[str]], loaded: list[str], address: str, chosen: list[int]
) -> None:
    path, ids = stored
    variants = [
        ("experiment", "trial"),
        *(("variant", json.dumps(variant)) for variant in VARIANTS),
    ]
    url = address.format(*ids).replace("VARIANTS", urlencode(variants))
    with create_app(path).test_client().get(url) as answer:
        assert answer.status_code == 200, answer.get_data(as_text=True)
    assert loaded == [ids[index] for index in chosen]
