"""The shipped criteria are valid, plan in both lengths, and are listed in the documents."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from orchestrator.errors import UsageError
from orchestrator.evaluation import controls, experiments, loading
from orchestrator.evaluation.model import STANDARD, Criterion
from results.matrix.axes import axes, conditions
from results.query.conditions import of_variants

ROOT = Path(__file__).parents[3]
CRITERIA = loading.load_all()
DOCUMENT = ROOT / "docs/evaluation.md"


def test_the_order_of_the_card_has_each_criterion() -> None:
    assert list(CRITERIA) == list(loading.ORDER)


def test_a_card_has_one_group_unless_others_are_named() -> None:
    tcpeval = [name for name, one in CRITERIA.items() if one.group == "tcpeval"]
    assert len(tcpeval) == 12
    plain = list(loading.select(CRITERIA, (), "--only"))
    assert plain == [name for name in CRITERIA if name not in tcpeval]
    assert list(loading.select(CRITERIA, ("tcpeval",), "--only")) == tcpeval
    mixed = loading.select(CRITERIA, ("tcpeval-impact", "harm"), "--only")
    assert list(mixed) == ["harm", "tcpeval-impact"]
    assert list(loading.select(CRITERIA, ("tcpeval", "rfc9743"), "--only")) == list(CRITERIA)
    with pytest.raises(UsageError, match="and the groups rfc9743 and tcpeval"):
        loading.select(CRITERIA, ("tcpevil",), "--only")


def test_the_suite_says_that_its_traffic_is_not_that_of_the_draft() -> None:
    for one in CRITERIA.values():
        kinds = {flow["traffic"]["kind"] for flow in one.scenario["flows"]}
        if one.group == "tcpeval" and "transfers" in kinds:
            assert any("traces, which are gone" in source.says for source in one.sources)


@pytest.mark.parametrize("name", CRITERIA)
def test_a_criterion_plans_its_quick_form_with_three_seeds(name: str, tmp_path: Path) -> None:
    cubic = controls.candidate("cubic")
    pairs = experiments.pairings(CRITERIA[name], cubic, [cubic])
    quick = experiments.prepare(name, CRITERIA[name], pairs[:1], "quick", tmp_path)
    runs = quick[0].plan.runs
    assert {run.repetition for run in runs} == {0, 1, 2}
    assert len({run.seed for run in runs}) == 3
    assert runs[0].scenario_name == f"evaluate-{name}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("length", ["quick", "full"])
@pytest.mark.parametrize("name", [name for name, one in CRITERIA.items()
                                  if any(row.where for row in one.rows)])  # fmt: skip
def test_each_condition_of_a_row_fits_a_variant(
    name: str, length: experiments.Length, tmp_path: Path
) -> None:
    cubic = controls.candidate("cubic")
    pairs = experiments.pairings(CRITERIA[name], cubic, [cubic])[:1]
    (made,) = experiments.prepare(name, CRITERIA[name], pairs, length, tmp_path)
    variants = [run.variant for run in made.plan.runs]
    for row in CRITERIA[name].rows:
        for text in conditions(row.where):
            assert any(map(of_variants(text, axes(variants)), variants)), row.id


@pytest.mark.slow
@pytest.mark.parametrize("name", CRITERIA)
def test_a_criterion_plans_its_full_form_with_more_runs(name: str, tmp_path: Path) -> None:
    cubic = controls.candidate("cubic")
    pairs = experiments.pairings(CRITERIA[name], cubic, [cubic])[:1]
    quick, full = (
        experiments.prepare(name, CRITERIA[name], pairs, length, tmp_path)[0]
        for length in ("quick", "full")
    )
    assert len(full.plan.runs) > len(quick.plan.runs)


@pytest.mark.parametrize("name", CRITERIA)
def test_bounds_are_asked_of_standards_and_each_has_a_reason(name: str) -> None:
    criterion = CRITERIA[name]
    assert set(criterion.baselines) <= set(STANDARD)
    assert any(row.level == "must" for row in criterion.rows)
    assert all(len(row.reason) > 20 for row in criterion.rows)


def test_the_document_lists_each_criterion_with_its_rows() -> None:
    text = DOCUMENT.read_text("utf-8")
    listed = re.findall(r"^\| `([a-z0-9-]+)` \| (.+?) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    expected = [
        (
            name,
            criterion.title,
            ", ".join(dict.fromkeys(source.document for source in criterion.sources)),
            ", ".join(f"{row.id}" + (" (should)" if row.level == "should" else "")
                      for row in criterion.rows),
        )
        for name, criterion in CRITERIA.items()
    ]  # fmt: skip
    assert listed == expected


def changed(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = YAML(typ="safe").load(loading.FOLDER / "harm.yaml")
    return document | changes


def row(**changes: Any) -> dict[str, Any]:
    first: dict[str, Any] = changed()["rows"][0]
    return first | changes


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": [row(flow="nobody")]}, "there is no flow entry nobody"),
        ({"rows": [row(window="never")]}, "there is no window never"),
        ({"rows": [row(), row()]}, "two rows have one id"),
        ({"rows": [row(of="cubic")]}, "`of` can only be `reference`"),
        ({"rows": [row(bound="5ms")]}, "bound: `5ms` is no quantity in 1"),
        ({"rows": [row(limit=0.9)]}, "the limit is stricter than the bound"),
        ({"rows": [row(of=None, allowance=1.0)]}, "`allowance` needs `of`"),
        ({"rows": [row(metric="jain_index")]}, "there is no metric jain_index of a flow"),
        ({"rows": []}, "at least 1 item"),
        ({"scenario": {"flows": [{"name": "a"}], "reduced": {}}}, "`congestion: candidate`"),
    ],
)
def test_a_criterion_that_contradicts_itself_is_refused(
    wrong: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.yaml"
    with path.open("w") as file:
        YAML(typ="safe").dump(changed(**wrong), file)
    with pytest.raises(UsageError) as refused:
        loading.load(path)
    assert str(path) in str(refused.value)
    assert message in str(refused.value)


def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("title: [")
    with pytest.raises(UsageError, match=re.escape(str(path))):
        loading.load(path)


def pairs_of(name: str, candidate: str, *against: str) -> list[tuple[str, str | None]]:
    found = controls.candidate(candidate)
    named = controls.references(against, found)
    criterion: Criterion = CRITERIA[name]
    return [pair.key for pair in experiments.pairings(criterion, found, named)]


def test_each_control_runs_alone_once() -> None:
    assert pairs_of("utilisation", "cubic", "cubic", "reno") == [("cubic", None), ("reno", None)]
    assert pairs_of("utilisation", "vegas", "bbr") == [
        ("vegas", None), ("bbr", None), ("cubic", None),
    ]  # fmt: skip


def test_the_candidate_runs_beside_each_reference_and_each_reference_beside_itself() -> None:
    assert pairs_of("harm", "cubic", "cubic", "reno") == [
        ("cubic", "cubic"), ("cubic", "reno"), ("reno", "reno"),
    ]  # fmt: skip
    assert pairs_of("harm", "vegas", "reno") == [("vegas", "reno"), ("reno", "reno")]


def test_a_module_is_named_by_its_folder() -> None:
    folder = ROOT / "scenarios/own-module/mycc"
    mine = controls.candidate(str(folder))
    assert mine == controls.Control("mycc", folder)
    text = experiments.scenario_text(CRITERIA["harm"], experiments.Pairing(mine, mine))
    assert YAML(typ="safe").load(text)["flows"][0]["congestion"] == {
        "name": "mycc", "module": str(folder),
    }  # fmt: skip
