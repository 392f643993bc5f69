"""Runs side by side: metrics, and only what differs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import UsageError
from orchestrator.recording.model import RECEIVER, Recording
from orchestrator.windows import Window
from results.comparison.comparison_document import document
from results.comparison.runs import compare
from results.store.store import Store
from results.store.stored import StoredRun
from tests.support.recordings import flow, head, recording, whole


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "runs.db") as opened:
        yield opened


def run(store: Store, made: Recording | None = None, **changes: Any) -> StoredRun:
    run_id = store.begin(head(**changes))
    store.finish(run_id, made or whole(), 1.0)
    return store.load(run_id)


def with_goodput(size: int, *flows: Any) -> Recording:
    counters = ((2.0, 0), (10.0, size))
    rows = [{"time_s": at, "endpoint": RECEIVER, "bytes_received": n} for at, n in counters]
    return recording(rows, flows=flows)


def compared(runs: Sequence[StoredRun]) -> dict[str, Any]:
    """Compare runs, and read the JSON of it."""
    found: dict[str, Any] = json.loads(json.dumps(document(compare(runs), None), allow_nan=False))
    return found


def line(lines: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(one for one in lines if one["name"] == name)


def test_metrics_are_side_by_side_with_difference_and_ratio(store: Store) -> None:
    runs = [run(store, with_goodput(size)) for size in (1_000, 1_500, 500)]
    found = compared(runs)
    assert [one["id"] for one in found["runs"]] == [one.id for one in runs]
    assert line(found["metrics"], "goodput_bps") == {
        "name": "goodput_bps",
        "unit": "bit/s",
        "values": [1_000.0, 1_500.0, 500.0],
        "differences": [None, 500.0, -500.0],
        "ratios": [None, 1.5, 0.5],
    }
    assert document(compare(runs), None) == found


def test_what_is_unknown_has_neither_difference_nor_ratio(store: Store) -> None:
    zero, failed = run(store, with_goodput(0)), store.begin(head(windows=(Window("late", 6, 9),)))
    store.fail(failed, "no")
    found = compared([zero, store.load(failed), run(store, with_goodput(5))])
    goodput = line(found["metrics"], "goodput_bps")
    assert goodput["values"] == [0.0, None, 5.0]
    assert goodput["differences"] == [None, None, 5.0]
    assert goodput["ratios"] == [None, None, None]
    assert set(found["windows"]) == {"quiet", "late"}


def test_what_a_failed_run_lacks_is_no_difference(store: Store) -> None:
    ok, failed = run(store, with_goodput(0)), store.begin(head(seed=9))
    store.fail(failed, "no")
    ok.provenance["modules"] = {"sch_link": {"sha256": "ab"}}
    assert ok.row.kernel is not None
    assert ok.checks
    for runs in ([ok, store.load(failed)], [store.load(failed), ok]):
        found = compared(runs)["differs"]
        assert [each["path"] for each in found["run"]] == ["seed", "status"]
        assert (found["provenance"], found["checks"]) == ([], [])
    other = run(store, with_goodput(0))
    other.provenance["modules"] = {"sch_link": {"sha256": "cd"}}
    (differs,) = compared([store.load(failed), ok, other])["differs"]["provenance"]
    assert differs == {"path": "modules.sch_link.sha256", "values": [None, "ab", "cd"]}


def test_flows_and_links_are_matched_by_name(store: Store) -> None:
    found = compared(
        [
            run(store, with_goodput(1_000, flow("a"))),
            run(store, with_goodput(2_000, flow("b"), flow("a"))),
        ]
    )
    flows = {one["name"]: line(one["metrics"], "goodput_bps")["values"] for one in found["flows"]}
    assert flows == {"a": [1_000.0, None], "b": [None, 2_000.0]}
    assert [link["name"] for link in found["links"]] == ["bottleneck:forward"]


def test_equal_runs_do_not_differ(store: Store) -> None:
    found = compared([run(store), run(store)])
    assert found["differs"] == {"run": [], "scenario": [], "provenance": [], "checks": []}


def test_only_what_differs_is_told_by_its_path(store: Store) -> None:
    resolved = {
        "seed": 1,
        "flows": [{"name": "b", "congestion": "bbr"}, {"name": "a", "congestion": "vegas"}],
        "sizes": [1, 3],
    }
    other = whole()
    other.provenance["sysctls"] = {"net.ipv4.tcp_sack": 0}
    other.checks = [replace(other.checks[0], measured=0.2, ok=False), *other.checks[1:]]
    other.kernel = "6.13.0"
    runs = [run(store), run(store, other, resolved=resolved, seed=2)]
    found = compared(runs)["differs"]
    assert found["run"] == [
        {"path": "seed", "values": [1, 2]},
        {"path": "kernel", "values": ["6.12.0", "6.13.0"]},
    ]
    assert found["scenario"] == [
        {"path": "flows.a.congestion", "values": ["reno", "vegas"]},
        {"path": "flows.b.name", "values": [None, "b"]},
        {"path": "flows.b.congestion", "values": [None, "bbr"]},
        {"path": "sizes.0", "values": [None, 1]},
        {"path": "sizes.1", "values": [None, 3]},
    ]
    assert found["provenance"] == [{"path": "sysctls.net.ipv4.tcp_sack", "values": [1, 0]}]
    (check,) = found["checks"]
    assert check["path"] == "base_rtt"
    assert [value["ok"] for value in check["values"]] == [True, False]


def test_one_run_is_not_enough(store: Store) -> None:
    with pytest.raises(UsageError, match="two runs"):
        compare([run(store)])


def test_digests_of_different_versions_are_not_compared(store: Store) -> None:
    other = recording(digest="d2")
    same = [run(store), run(store, other)]
    assert line_of(compared(same)["differs"]["run"], "digest") == ["d1", "d2"]
    runs = [run(store, digest_version=1), run(store, other, link_model=2)]
    found = compared(runs)
    assert {each["path"] for each in found["differs"]["run"]} == {"digest_version", "link_model"}
    assert line_of(found["differs"]["run"], "link_model") == [1, 2]
    assert [each["digest_version"] for each in found["runs"]] == [1, 2]
    assert [each["link_model"] for each in found["runs"]] == [1, 2]


def line_of(lines: list[dict[str, Any]], path: str) -> Any:
    return next(one["values"] for one in lines if one["path"] == path)
