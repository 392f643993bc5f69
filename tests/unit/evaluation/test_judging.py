"""Cells of stored runs: which runs are compared, with what, and in which cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from orchestrator.evaluation import experiments, loading, wording
from orchestrator.evaluation.card import junit
from orchestrator.evaluation.controls import Control
from orchestrator.evaluation.judging import JudgedCriterion, judge
from orchestrator.evaluation.model import Criterion
from results.store.store import Store
from tests.support.experiments import make

LIMIT = "topology.bottleneck.queue.limit"
VARIANTS = [{LIMIT: "0.5bdp"}, {LIMIT: "4bdp"}]
VEGAS, RENO, BBR = Control("vegas"), Control("reno"), Control("bbr")


def harm(*rows: str) -> Criterion:
    criterion = loading.load_all()["harm"]
    return criterion.model_copy(update={"rows": [row for row in criterion.rows if row.id in rows]})


def judged(
    tmp_path: Path,
    criterion: Criterion,
    incumbent: Mapping[tuple[str, str], float],
    of_reno: int = 3,
) -> JudgedCriterion:
    """Judge vegas beside reno and bbr; ``incumbent`` has the incumbent's goodputs in Mbit/s.

    They differ a little by repetition, and with the long queue they are half. ``of_reno`` is the
    number of repetitions of Reno beside itself.
    """
    pairs = experiments.pairings(criterion, VEGAS, [RENO, BBR])
    found = experiments.prepare("harm", criterion, pairs, "quick", tmp_path)
    path = tmp_path / "runs.db"
    with Store(path) as store:
        ids = {}
        for number, pair in enumerate(pairs):
            assert pair.beside is not None
            mean = incumbent[pair.control.name, pair.beside.name]

            def goodput(variant: Mapping[str, Any], repetition: int, mean: float = mean) -> Any:
                share = mean * (0.5 if variant[LIMIT] == "4bdp" else 1.0) * 1e6
                return {"incumbent": share * (1 + repetition / 100), "newcomer": 1e6 + mean}

            repetitions = of_reno if pair.key == ("reno", "reno") else 3
            ids[pair.key] = make(store, goodput, VARIANTS, repetitions, f"of {number}")
    with Store.open_read_only(path) as store:
        return judge("harm", criterion, VEGAS, found, ids, store)


EQUAL = {
    ("vegas", "reno"): 9.0, ("vegas", "bbr"): 4.0, ("reno", "reno"): 10.0, ("bbr", "bbr"): 10.0,
}  # fmt: skip


def test_a_reference_is_compared_with_itself_in_the_same_variant(tmp_path: Path) -> None:
    found = judged(tmp_path, harm("throughput", "others"), EQUAL)
    verdicts = [
        (cell.row.id, cell.variant[LIMIT], cell.beside, cell.verdict) for cell in found.cells
    ]
    assert verdicts == [
        ("throughput", "0.5bdp", "reno", "meets"),
        ("throughput", "4bdp", "reno", "meets"),
        ("others", "0.5bdp", "bbr", "does not meet"),
        ("others", "4bdp", "bbr", "does not meet"),
    ]  # fmt: skip
    long_queue = found.cells[1]
    assert long_queue.baseline is not None
    assert long_queue.candidate.interval.mean == pytest.approx(4.5e6 * 1.01, rel=1e-3)
    assert long_queue.baseline.interval.mean == pytest.approx(5e6 * 1.01, rel=1e-3)
    assert [each.control for each in long_queue.measured] == ["vegas", "reno"]
    assert len(set(long_queue.candidate.runs)) == 3


def test_a_should_that_fails_limits_the_grade_and_a_must_ends_it(tmp_path: Path) -> None:
    assert judged(tmp_path / "a", harm("throughput", "others"), EQUAL).grade == "meets with limits"
    harmful = EQUAL | {("vegas", "reno"): 1.0}
    found = judged(tmp_path / "b", harm("throughput", "others"), harmful)
    assert found.grade == "does not meet"


def test_the_sentence_names_the_worst_cell_with_its_numbers(tmp_path: Path) -> None:
    harmful = EQUAL | {("vegas", "reno"): 1.0}
    found = judged(tmp_path, harm("throughput"), harmful)
    assert wording.why(found) == (
        "2 of 2 cells: throughput at limit=0.5bdp, beside reno: goodput_bps of incumbent is "
        "1.010 [0.985, 1.035] Mbit/s (reno: 10.100 [9.852, 10.348]), and must be at least 0.8 x "
        "that beside reno itself"
    )
    good = judged(tmp_path / "b", harm("throughput"), EQUAL)
    assert wording.why(good) == "both cells are within their bounds"


def test_repetitions_count_that_both_controls_have(tmp_path: Path) -> None:
    found = judged(tmp_path, harm("throughput"), EQUAL, of_reno=2)
    cell = found.cells[0]
    assert cell.baseline is not None
    assert (cell.candidate.n, cell.baseline.n, cell.verdict) == (3, 2, "meets")


def test_a_metric_without_a_value_is_not_decided(tmp_path: Path) -> None:
    found = judged(tmp_path, harm("loss"), EQUAL)
    assert {cell.decision.reason for cell in found.cells} == {"no run has a value"}
    assert found.grade == "meets with limits"


def test_the_report_for_servers_says_what_happened_where_the_criterion_failed(
    tmp_path: Path,
) -> None:
    harmful = EQUAL | {("vegas", "reno"): 1.0}
    found = judged(tmp_path, harm("throughput", "others"), harmful)
    told = replace(found, explained="run x, flow newcomer: timeout: 3")
    cases = ElementTree.fromstring(junit.xml("vegas", [told])).iter("testcase")
    texts = {case.get("name"): case.findtext("failure") or "" for case in cases}
    assert texts["throughput"].endswith("\nrun x, flow newcomer: timeout: 3")
    assert "run x" not in texts["others"]
    assert "run x" not in junit.xml("vegas", [found])
