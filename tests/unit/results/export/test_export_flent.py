"""Files of flent: what is in them, and (with flent itself) what flent makes of them."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UsageError
from results.export import export
from results.store.store import Store
from tests.support.experiments import make

GOODPUTS: dict[str, float | list[float]] = {
    "one": [1e6 + 1e5 * part for part in range(20)],
    "two": 3e6,
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        make(opened, lambda _v, _r: GOODPUTS, repetitions=1, warmup_s=2.0)
        yield opened


def read(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def test_a_series_mean_is_the_goodput_of_the_run(store: Store, tmp_path: Path) -> None:
    run = store.load("last")
    (path,) = export(run, "flent", tmp_path / "run.flent.gz")
    document = read(path)
    assert document["version"] == 4
    assert document["metadata"]["TEST_PARAMETERS"] == {"upload_streams": "2"}
    assert len(document["x_values"]) == 80
    assert document["x_values"][-1] == pytest.approx(10.0)
    for index, values in enumerate(run.metrics()[""].flows):
        series = document["results"][f"TCP upload::{index + 1}"]
        assert sum(series) / len(series) * 1e6 == pytest.approx(values["goodput_bps"])
        assert document["metadata"]["SERIES_META"][f"TCP upload::{index + 1}"]["UNITS"] == "Mbits/s"
        raw = document["raw_values"][f"TCP upload::{index + 1}"]
        assert [each["val"] for each in raw] == series
    rtts = document["results"]["TCP upload::1::tcp_rtt"]
    assert {value for value in rtts if value is not None} == {100.0}
    (again,) = export(run, "flent", tmp_path / "again.flent.gz")
    assert again.read_bytes() == path.read_bytes()


def test_a_run_without_a_step_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "short.db") as store:
        make(store, lambda _v, _r: {"a": 1e6}, repetitions=1, warmup_s=9.99)
        with pytest.raises(UsageError, match="no whole step after its warm-up"):
            export(store.load("last"), "flent", tmp_path / "run.flent.gz")
    assert not (tmp_path / "run.flent.gz").exists()


@pytest.mark.long
def test_flent_opens_it_and_agrees(store: Store, tmp_path: Path) -> None:
    """``make test-flent`` installs flent into an environment of its own and names it in FLENT."""
    assert "FLENT" in os.environ, "run this by `make test-flent`, which installs flent"
    run = store.load("last")
    (path,) = export(run, "flent", tmp_path / "run.flent.gz")
    shown = subprocess.run(
        [os.environ["FLENT"], "-i", str(path), "-f", "summary"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for index, values in enumerate(run.metrics()[""].flows):
        match = re.search(rf"TCP upload::{index + 1} +: +([0-9.]+)", shown)
        assert match is not None, shown
        goodput_bps = values["goodput_bps"]
        assert goodput_bps is not None
        assert float(match[1]) == pytest.approx(goodput_bps / 1e6, abs=0.006)
