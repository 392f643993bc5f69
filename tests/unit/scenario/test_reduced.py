"""The reduced form that --reduced runs, and the places of its faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli import commands
from orchestrator.errors import Fault, ScenarioError, UsageError
from orchestrator.planning.plan import plan
from orchestrator.scenario import LoadedScenario, load
from orchestrator.scenario.repetitions import Repetitions
from orchestrator.scenario.schema import json_schema

QUICKSTART = Path(__file__).parents[3] / "scenarios" / "quickstart.yaml"
FIRST = len(QUICKSTART.read_text().splitlines()) + 1
"""Line of what is appended to the quickstart."""

REDUCED = """\
matrix:
  flows.reno.congestion: [reno, cubic, vegas]
repetitions: 4
reduced:
  duration: 12s
  repetitions: 1
  topology.groups.b.hosts: 2
  matrix.flows.reno.congestion: [cubic]
"""


def write(tmp_path: Path, more: str) -> Path:
    file = tmp_path / "reduced.yaml"
    file.write_text(QUICKSTART.read_text() + more)
    return file


def reduced(tmp_path: Path, more: str, *overrides: str) -> LoadedScenario:
    return load(write(tmp_path, more), overrides, reduced=True)


def faults(tmp_path: Path, more: str, *overrides: str) -> list[Fault]:
    with pytest.raises(ScenarioError) as refused:
        reduced(tmp_path, more, *overrides)
    return refused.value.faults


def orchestrator(*words: str) -> Result:
    return CliRunner().invoke(commands, words)


def test_the_reduced_form_does_not_change_the_full_one(tmp_path: Path) -> None:
    whole = load(write(tmp_path, REDUCED))
    assert whole.reducible
    assert not load(QUICKSTART).reducible
    assert (whole.scenario.duration, len(plan(whole).runs)) == (60.0, 12)
    plain = load(QUICKSTART).scenario.model_copy(
        update={"repetitions": Repetitions.model_validate(4)}
    )
    assert whole.variants[0].scenario == plain


def test_values_at_paths_make_the_reduced_form(tmp_path: Path) -> None:
    short = reduced(tmp_path, REDUCED)
    (run,) = plan(short).runs
    assert run.duration_s == 12
    assert run.variant == {"flows.reno.congestion": "cubic"}
    assert [flow.name for flow in run.flows] == ["westwood", "reno[0]", "reno[1]"]


def test_a_stored_run_has_the_values_that_ran_and_no_reduced_form(tmp_path: Path) -> None:
    for short in (False, True):
        resolved = plan(load(write(tmp_path, REDUCED), reduced=short)).runs[0].resolved
        assert "reduced" not in resolved
        assert resolved["duration"] == ("12s" if short else "60s")


def test_overrides_apply_after_the_reduced_form(tmp_path: Path) -> None:
    assert reduced(tmp_path, REDUCED, "duration=13s").scenario.duration == 13
    (fault,) = faults(tmp_path, REDUCED, "reduced.duration=13s")
    assert "override the path itself" in fault.message


def test_a_scenario_without_a_reduced_form_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="has no reduced form"):
        load(QUICKSTART, reduced=True)
    for command in ("plan", "validate", "run"):
        result = orchestrator(command, str(QUICKSTART), "--reduced")
        assert result.exit_code == 2
        assert "has no reduced form" in result.stderr


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("  duration: 12", 13, "a time needs a unit"),
        ("  topology.groups.c.hosts: 2", 3, "has no item `c`"),
        ("  flows.reno.congestion: vegsa", 26, "did you mean `vegas`"),
        ("  nothing: 2", 3, "unknown key `nothing`"),
        ("  version: 2", 3, "cannot be reduced"),
        ("  reduced.duration: 2s", 3, "cannot be reduced"),
        ("  matrix: {flows.reno.congestion: []}", 35, "at least one value"),
        ("  measure: [{name: x, from: 2s, to: 90s}]", 37, "must end by the duration"),
    ],
)
def test_faults_are_reported_at_their_place_in_the_reduced_form(
    tmp_path: Path, line: str, column: int, message: str
) -> None:
    reported = faults(tmp_path, f"reduced:\n{line}\n")
    assert [(fault.line, fault.column) for fault in reported] == [(FIRST + 1, column)], reported
    assert message in reported[0].message


def test_the_reduced_form_must_be_a_mapping(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as refused:
        load(write(tmp_path, "reduced: 3\n"))
    assert [(fault.line, fault.column) for fault in refused.value.faults] == [(FIRST, 10)]


def test_validate_checks_both_forms(tmp_path: Path) -> None:
    good = write(tmp_path, REDUCED)
    result = orchestrator("validate", str(good))
    assert (result.exit_code, result.stdout) == (0, f"{good}: valid, 12 runs, 1 run reduced\n")
    result = orchestrator("validate", str(good), "--reduced")
    assert result.stdout == f"{good}: valid, 1 run\n"
    bad = write(tmp_path, "reduced:\n  duration: 5s\n")  # the warm-up is of 10 s
    result = orchestrator("validate", str(bad))
    assert result.exit_code == 2
    (told,) = result.stderr.splitlines()
    assert "in its reduced form: warmup must be shorter" in told
    assert orchestrator("plan", str(bad)).exit_code == 0


def test_the_schema_has_the_reduced_form() -> None:
    assert json_schema()["properties"]["reduced"]["type"] == "object"


def test_faults_of_both_forms_are_compared_once_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0

    def equal(one: Fault, other: object) -> bool:
        nonlocal compared
        compared += 1
        return str(one) == str(other)

    monkeypatch.setattr(Fault, "__eq__", equal)
    result = orchestrator("validate", str(write(tmp_path, "seed: 1\n" * 1000)))
    assert result.exit_code == 2
    assert result.stderr.endswith("\nand 980 more\n")
    assert compared < 10_000
