"""A module's code on the card: draws of its parameters, and builds on each kernel."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kmods import catalogue
from kmods.catalogue import Parameter
from orchestrator.backends.module_builds import BuiltOn
from orchestrator.evaluation import code, loading
from orchestrator.evaluation.controls import Control
from results.contract.evaluations import Card
from tests.support.contract import faults
from tests.support.run import FakeRunner, fake, orchestrator

__all__ = ["fake"]

OWN = Path(__file__).parents[3] / "scenarios/own-module/mycc"
WARNING = "tcp_mycc.c:7:3: warning: unused variable 'x'"


def test_draws_are_within_the_ranges_and_equal_for_equal_parameters() -> None:
    for module in catalogue.modules().values():
        if not module.parameters:
            continue
        found = code.draws(module.parameters)
        assert 2 <= len(found) <= code.DRAWS
        assert found == code.draws(dict(module.parameters))
        faulty = [
            (name, value)
            for values in found
            for name, value in values.items()
            if module.parameters[name].fault(value) is not None
        ]
        assert faulty == []


def test_draws_have_both_ends_and_many_orders_of_magnitude() -> None:
    found = code.draws(catalogue.read(OWN).modules["mycc"].parameters)
    values = [one["increase"] for one in found]
    assert values[:2] == [0, 2**32 - 1]
    assert len(set(values)) == code.DRAWS
    assert min(values[2:]) < 1e3 < 1e9 < max(values[2:])


@pytest.mark.parametrize(("low", "high"), [(0, 1), (4, 4), (-3, -1), (1, 64)])
def test_a_small_range_has_each_draw_once(low: int, high: int) -> None:
    one = Parameter("x", "", None, low, high, power_of_two=high == 64)
    found = [each["x"] for each in code.draws({"x": one})]
    assert found[0] == low
    assert all(one.fault(value) is None for value in found)
    assert len(found[1:]) == len(set(found[1:]))


def test_the_matrix_names_each_draw_and_without_parameters_there_is_none(tmp_path: Path) -> None:
    criterion = loading.load_all()["code"]
    made = code.with_draws(criterion, Control("mycc", OWN)).scenario["matrix"][code.AXIS]
    assert list(made) == [f"draw-{number}" for number in range(1, code.DRAWS + 1)]
    assert made["draw-1"] == {
        "flows.flows.congestion": {
            "name": "mycc", "module": str(OWN), "parameters": {"increase": 0},
        }
    }  # fmt: skip
    plain = (OWN / "tcp_mycc.c").read_text()
    (tmp_path / "tcp_mycc.c").write_text(
        plain.replace("module_param(increase, uint, 0644);", "").replace("MODULE_PARM_DESC", "//")
    )
    none = code.with_draws(criterion, Control("mycc", tmp_path))
    assert code.is_without_runs(none)


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[BuiltOn]:
    """Builds on two kernels, as if they were here; a test changes them."""
    found = [BuiltOn("6.1.192", False, []), BuiltOn("6.12.117", False, [])]
    monkeypatch.setattr(code, "built_everywhere", lambda _folder: iter(found))
    return found


FULL = ("--full", "--only", "code", "--against", "reno", "--db", "runs.db", "-o", "card")


@pytest.mark.slow
def test_builds_are_on_the_card_and_each_is_a_should(
    fake: FakeRunner, kernels: list[BuiltOn]
) -> None:
    kernels[0] = BuiltOn("6.1.192", True, ["`mycc` does not compile:", "no such hook"])
    kernels[1] = BuiltOn("6.12.117", False, [f"{OWN}/{WARNING}"])
    made = orchestrator("evaluate", str(OWN), *FULL)
    assert made.exit_code == 0, made.output
    card = json.loads(Path("card/card.json").read_text())
    assert faults(Card, card) == []
    (criterion,) = card["criteria"]
    assert [(one["kernel"], one["verdict"]) for one in criterion["builds"]] == [
        ("6.1.192", "does not meet"), ("6.12.117", "meets with limits"),
    ]  # fmt: skip
    assert criterion["builds"][1]["messages"] == [WARNING]
    assert len(criterion["rows"][0]["cells"]) == code.DRAWS
    assert WARNING in Path("card/card.html").read_text().replace("&#39;", "'")
    suite = ElementTree.parse("card/card.xml").getroot().find("testsuite")
    assert suite is not None
    assert [case.get("name") for case in suite.iter("testcase")] == [
        "parameters", "builds-on-6.1.192", "builds-on-6.12.117",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_module_without_parameters_is_only_built(
    fake: FakeRunner, kernels: list[BuiltOn], tmp_path: Path
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    text = (OWN / "tcp_mycc.c").read_text().replace("module_param(increase, uint, 0644);", "")
    (folder / "tcp_plain.c").write_text(text.replace("mycc", "plain"))
    made = orchestrator("evaluate", str(folder), *FULL)
    assert made.exit_code == 0, made.output
    assert fake.asked == []
    (criterion,) = json.loads(Path("card/card.json").read_text())["criteria"]
    assert criterion["grade"] == "meets"
    assert criterion["why"] == (
        "it has no parameters, and it compiles without warnings on 2 kernels"
    )
    planned = orchestrator("evaluate", str(folder), *FULL, "--plan").stdout
    assert "code: builds on each kernel that is here, and no runs" in planned
    kernels[1] = BuiltOn("6.12.117", False, [WARNING])
    orchestrator("evaluate", str(folder), *FULL)
    (criterion,) = json.loads(Path("card/card.json").read_text())["criteria"]
    assert (criterion["grade"], criterion["why"]) == (
        "meets with limits",
        f"it has no parameters; on 1 of 2 kernels it compiles with warnings, such as 6.12.117: "
        f"{WARNING}",
    )


@pytest.mark.parametrize("option", ["--only", "--require"])
def test_code_is_asked_in_full_evaluations_of_folders_alone(fake: FakeRunner, option: str) -> None:
    quick = orchestrator("evaluate", str(OWN), option, "code", "--plan")
    assert quick.exit_code == 2
    assert f"{option} code: is part of full evaluations alone; add --full" in quick.stderr
    named = orchestrator("evaluate", "cubic", "--full", "--only", "code", "--plan")
    assert named.exit_code == 0, named.output
    assert "code: not applicable: cubic is no folder of a module" in named.stdout
