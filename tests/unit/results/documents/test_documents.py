"""The JSON documents of ``run``, ``show`` and ``runs``: keys, types, and null for the unknown."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import StoreError
from orchestrator.recording.model import Check
from results.contract.base import json_ready
from results.documents import run_document
from results.runs import listing
from results.store.store import Store
from tests.support.recordings import flow as record
from tests.support.recordings import head, recording, whole

RUN_KEYS = {
    "id", "variant", "variant_sets", "repetition", "seed", "status", "error", "backend", "kernel",
    "wall_s", "simulated_s", "digest", "digest_version", "digest_depends_on_sampling", "link_model",
    "metrics_grid_s", "kernel_warnings", "fidelity", "metrics", "windows",
    "events", "extracted", "kept_files", "links", "flows", "notes", "programs", "tags", "traces",
}  # fmt: skip
METRIC_KEYS = {
    "goodput_bps", "utilisation", "jain_index", "retransmission_ratio", "queue_delay_mean_s",
    "loss_ratio",
}  # fmt: skip
LINK_KEYS = {
    "name", "direction", "rate_bps", "utilisation", "drops_packets", "queue_delay_mean_s",
    "queue_delay_p95_s",
}  # fmt: skip
FLOW_KEYS = {
    "name", "entry", "congestion_control", "goodput_bps", "throughput_bps",
    "retransmitted_segments", "base_rtt_s", "base_rtt_measured_s", "rtt_min_s", "rtt_mean_s",
    "rtt_p95_s", "rtt_max_s",
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def finished(store: Store, **changes: Any) -> str:
    run_id = store.begin(head(**changes))
    store.finish(run_id, whole(), 1.5)
    return run_id


def test_the_document_has_every_key_of_the_contract(store: Store) -> None:
    run_id = finished(store)
    document = run_document.of_ids(store, [run_id])
    assert (document["schema"], document["experiment"], document["scenario"]) == (
        1,
        "trial",
        "quickstart",
    )
    (run,) = document["runs"]
    assert set(run) == RUN_KEYS
    assert (run["id"], run["status"], run["error"]) == (run_id, "ok", None)
    assert (run["seed"], run["wall_s"], run["simulated_s"]) == (1, 1.5, 10.0)
    assert set(run["metrics"]) >= METRIC_KEYS
    assert set(run["links"][0]) >= LINK_KEYS
    assert set(run["flows"][0]) >= FLOW_KEYS
    assert set(run["windows"]) == {"quiet"}
    assert set(run["windows"]["quiet"]) == {"metrics", "flows"}
    assert set(run["windows"]["quiet"]["metrics"]) == set(run["metrics"])
    assert set(run["windows"]["quiet"]["flows"][0]) == set(run["flows"][0])


def test_values_are_those_of_the_samples(store: Store) -> None:
    (run,) = run_document.of_ids(store, [finished(store)])["runs"]
    assert run["metrics"]["goodput_bps"] == 1_000_000.0
    assert run["flows"][0]["rtt_mean_s"] == pytest.approx(0.11)
    assert run["flows"][0]["congestion_control"] == "reno"
    link = run["links"][0]
    assert (link["name"], link["direction"], link["rate_bps"]) == (
        "bottleneck",
        "forward",
        10_000_000,
    )
    assert link["utilisation"] == pytest.approx(0.8)
    assert link["drops_packets"] == 10
    assert isinstance(link["drops_packets"], int)
    assert isinstance(run["flows"][0]["retransmitted_segments"], int)
    assert run["windows"]["quiet"]["flows"][0]["rtt_mean_s"] == 0.1


def test_checks_may_hold_words_and_gaps(store: Store) -> None:
    made = recording(verdict="doubtful")
    run_id = store.begin(head())
    store.finish(run_id, made, 1.0)
    (run,) = run_document.of_ids(store, [run_id])["runs"]
    assert run["fidelity"]["verdict"] == "doubtful"
    assert run["fidelity"]["checks"][1:] == [
        {
            "name": "congestion_control",
            "unit": "",
            "expected": "reno",
            "measured": "reno",
            "tolerance": None,
            "ok": True,
            "detail": "",
        },
        {
            "name": "queue_rtt",
            "unit": "s",
            "expected": 0.2,
            "measured": None,
            "tolerance": 0.01,
            "ok": None,
            "detail": "the queue was never full",
        },
    ]


def test_numbers_are_finite_and_the_document_is_json(store: Store) -> None:
    made = recording()
    made.checks = [Check("ratio", "1", math.inf, math.nan, 1.0, False)]
    run_id = store.begin(head())
    store.finish(run_id, made, 1.0)
    document = run_document.of_ids(store, [run_id])
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    check = document["runs"][0]["fidelity"]["checks"][0]
    assert (check["expected"], check["measured"]) == (None, None)


@pytest.mark.parametrize("status", ["running", "failed"])
def test_a_run_without_results_has_all_keys_too(store: Store, status: str) -> None:
    complete = run_document.of_ids(store, [finished(store)])["runs"][0]
    run_id = store.begin(head())
    if status == "failed":
        store.fail(run_id, "the guest hung")
    (run,) = run_document.of_ids(store, [run_id])["runs"]
    assert set(run) == set(complete)
    assert (run["status"], run["flows"], run["links"]) == (status, [], [])
    assert run["error"] == ("the guest hung" if status == "failed" else None)
    assert run["fidelity"] == {
        "verdict": None, "checks": [], "checks_version": None, "judged_at": None, "earlier": []
    }  # fmt: skip
    assert run["metrics"] == dict.fromkeys(complete["metrics"])
    assert run["windows"] == {"quiet": {"metrics": run["metrics"], "flows": []}}


def test_runs_of_several_scenarios_have_no_common_name(store: Store) -> None:
    ids = [finished(store), finished(store, scenario="other")]
    document = run_document.of_ids(store, ids)
    assert (document["experiment"], document["scenario"]) == ("trial", None)
    assert [run["id"] for run in document["runs"]] == ids


def test_the_listing_leaves_out_links_events_checks_and_most_of_the_flows(store: Store) -> None:
    run_id = finished(store)
    running = store.begin(head(experiment="other"))
    document = run_document.list_document(listing.read(store))
    assert (set(document), document["schema"]) == ({"schema", "runs"}, 1)
    first, second = document["runs"]
    shown = run_document.of_ids(store, [run_id])["runs"][0]
    assert RUN_KEYS - {"links", "events", "extracted", "kept_files", "programs", "traces"} <= set(
        first
    )
    assert not {"links", "events", "extracted", "programs", "traces"} & set(first)
    assert first["flows"] == [{"name": "a", "entry": "a", "congestion_control": "reno"}]
    assert second["flows"] == []
    assert first["fidelity"] == {"verdict": "faithful"}
    assert first["metrics"] == shown["metrics"]
    assert first["windows"] == {"quiet": {"metrics": shown["windows"]["quiet"]["metrics"]}}
    assert (first["experiment"], first["scenario"]) == ("trial", "quickstart")
    assert (second["id"], second["status"]) == (running, "running")
    assert second["metrics"] == dict.fromkeys(shown["metrics"])
    assert [
        run["id"] for run in run_document.list_document(listing.read(store, "other"))["runs"]
    ] == [running]


def test_plain_data_has_no_infinite_numbers() -> None:
    value = {"a": (1, math.inf), 2: [math.nan, "x", None, True]}
    assert json_ready(value) == {"a": [1, None], "2": [None, "x", None, True]}


SCENARIO = {
    "flows": [
        {"name": "web", "traffic": {"kind": "bulk"}},
        {"name": "turns", "traffic": {"kind": "campaign"}},
        {"name": "turns-b", "traffic": {"kind": "campaign"}},
        {"name": "turns-cubic", "traffic": {"kind": "bulk"}},
        {"name": "plain"},
    ]
}


@pytest.mark.parametrize(
    ("flow", "traffic", "entry"),
    [
        ("web", "bulk", "web"),
        ("web[12]", "bulk", "web"),
        ("plain[0]", "bulk", "plain"),  # bulk is the default
        ("turns-reno", "campaign", "turns"),
        ("turns-cubic[3]", "campaign", "turns"),
        ("turns-cubic", "bulk", "turns-cubic"),
        ("turns-b-reno[1]", "campaign", "turns-b"),
        ("unknown[2]", "bulk", "unknown"),
    ],
)
def test_each_flow_names_the_entry_that_it_was_expanded_from(
    store: Store, flow: str, traffic: str, entry: str
) -> None:
    run_id = store.begin(head(resolved=SCENARIO))
    store.finish(run_id, recording(flows=[record(flow, traffic=traffic)]), 1.0)
    (run,) = run_document.of_ids(store, [run_id])["runs"]
    assert store.load(run_id).entries == [entry]
    assert (run["flows"][0]["name"], run["flows"][0]["entry"]) == (flow, entry)
    assert run["windows"]["quiet"]["flows"][0]["entry"] == entry
    (one,) = run_document.list_document(listing.read(store))["runs"]
    assert one["flows"] == [{"name": flow, "entry": entry, "congestion_control": "reno"}]


def test_a_listing_of_damaged_flows_names_the_run(store: Store, tmp_path: Path) -> None:
    finished(store)
    with closing(sqlite3.connect(tmp_path / "runs.db")) as raw, raw:
        raw.execute("UPDATE flows SET congestion_control = x'00'")
    with pytest.raises(StoreError, match=r"#1.*table flows: congestion_control is b'"):
        run_document.list_document(listing.read(store))
