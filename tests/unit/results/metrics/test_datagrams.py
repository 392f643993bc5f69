"""UDP flows and transfers in the store: as they were, in documents, exports and old databases."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import StoreError, UsageError
from results.documents import run_document
from results.export import export
from results.store.store import Store
from results.store.stored import StoredRun
from tests.support.datagrams import mixed
from tests.support.recordings import head, recording


@pytest.fixture
def run(tmp_path: Path) -> Iterator[StoredRun]:
    with Store(tmp_path / "runs.db") as store:
        store.finish(store.begin(head()), mixed(), 1.0)
        yield store.load("last")


def test_rows_come_back_as_they_were_stored(run: StoredRun) -> None:
    assert run.flows == mixed().flows
    found = run.datagrams("u")
    assert found["time_ns"].tolist() == [2 * 10**9, 10**10]
    assert found["sent_packets"].tolist() == [4, 9]
    assert np.isnan(found["delay_min_ns"][0])
    assert found["delay_min_ns"][1] == 9 * 10**6
    made = run.transfers("w", ["start_ns", "bytes"])
    assert made["start_ns"].tolist() == [3 * 10**9, 3 * 10**9, 5 * 10**9]
    assert made["bytes"].tolist() == [100, 60, 200]
    assert np.isnan(run.transfers("w")["end_ns"]).tolist() == [False, True, False]
    assert run.datagrams("a", ["sent_packets"])["sent_packets"].tolist() == []
    with pytest.raises(UsageError, match="no column rtt_us"):
        run.datagrams("u", ["rtt_us"])


def test_the_document_tells_of_both(run: StoredRun, tmp_path: Path) -> None:
    with Store.open_read_only(tmp_path / "runs.db") as store:
        (document,) = run_document.of_ids(store, [run.id])["runs"]
    tcp, udp, web = json.loads(json.dumps(document, allow_nan=False))["flows"]
    assert [one["transport"] for one in (tcp, udp, web)] == ["tcp", "udp", "tcp"]
    assert [one["traffic"] for one in (tcp, udp, web)] == ["bulk", "cbr", "web"]
    assert (udp["sent_packets"], udp["received_packets"]) == (5, 5)
    assert udp["one_way_delay_mean_s"] == pytest.approx(0.01)
    assert udp["congestion_asked"] is None
    assert (web["transfers"], web["transfers_completed"], web["fct_mean_s"]) == (3, 2, 1.5)
    assert tcp["transfers"] is tcp["sent_packets"] is None


def test_metrics_are_the_same_computed_again(run: StoredRun) -> None:
    from results import metrics

    assert metrics.compute(run) == run.metrics()


def test_rows_of_no_flow_are_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.db") as store:
        run_id = store.begin(head())
        for part in ("datagrams", "transfers"):
            bad = recording(**{part: getattr(mixed(), part)})
            with pytest.raises(StoreError, match=r"flow is not within 0\.\.0"):
                store.finish(run_id, bad, 1.0)


def test_exports_hold_both(run: StoredRun, tmp_path: Path) -> None:
    files = {path.name: path for path in export(run, "csv", tmp_path / "out.csv")}
    datagrams_file, transfers_file = files["out.datagrams.csv"], files["out.transfers.csv"]
    with datagrams_file.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["flow"], row["sent_packets"], row["delay_max_ns"]) for row in rows] == [
        ("u", "4", ""),
        ("u", "9", "11000000"),
    ]
    with transfers_file.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file))[1:] == [
            ["w", "3000000000", "4000000000", "100"],
            ["w", "3000000000", "", "60"],
            ["w", "5000000000", "7000000000", "200"],
        ]
    (path,) = export(run, "json", tmp_path / "out.json")
    samples = json.loads(path.read_text(encoding="utf-8"))["samples"]
    assert [part["flow"] for part in samples["tcp"]] == ["a", "a", "w", "w"]
    (udp,), (web,) = samples["datagrams"], samples["transfers"]
    assert udp["columns"]["delay_squares_us2"] == {"unit": "us^2", "values": [0, 0]}
    assert web["columns"]["end_ns"]["values"] == [4 * 10**9, None, 7 * 10**9]
