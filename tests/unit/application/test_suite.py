"""Several scenario files in one ``run``: validated first, then one document and one status."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from orchestrator.application import making_runs
from orchestrator.errors import MachineError, UsageError
from tests.support.run import SCENARIO, FakeRunner, fake, orchestrator

__all__ = ["fake"]


@pytest.fixture
def files(fake: FakeRunner) -> list[str]:
    for number, name in enumerate(("one", "two", "three"), start=1):
        text = SCENARIO.replace("name: pair", f"name: {name}").replace("seed: 1", f"seed: {number}")
        Path(f"{name}.yaml").write_text(text)
    return ["one.yaml", "two.yaml", "three.yaml"]


def test_a_suite_has_one_document_and_one_status(files: list[str], fake: FakeRunner) -> None:
    done = orchestrator("run", *files, "--json", "--junit", "suite.xml")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["schema"], document["exit_status"]) == (1, 0)
    assert [scenario["file"] for scenario in document["scenarios"]] == files
    assert [scenario["scenario"] for scenario in document["scenarios"]] == ["one", "two", "three"]
    assert [len(scenario["runs"]) for scenario in document["scenarios"]] == [1, 1, 1]
    assert [scenario["error"] for scenario in document["scenarios"]] == [None] * 3
    assert [suite.get("name") for suite in ET.parse("suite.xml").getroot()] == [
        "one", "two", "three",
    ]  # fmt: skip
    made = len(fake.asked)
    assert orchestrator("run", *files, "--resume").exit_code == 0
    assert len(fake.asked) == made


def test_all_files_are_validated_before_anything_runs(files: list[str], fake: FakeRunner) -> None:
    text = Path("three.yaml").read_text()
    Path("three.yaml").write_text(text.replace("duration: 2s", "duration: soon"))
    Path("two.yaml").write_text(Path("two.yaml").read_text().replace("100p", "1B"))  # of planning
    done = orchestrator("run", *files)
    assert done.exit_code == 2
    assert "two.yaml:" in done.stderr
    assert "three.yaml:" in done.stderr
    assert not fake.asked
    assert orchestrator("run", "one.yaml", "none.yaml").exit_code == 2
    assert orchestrator("run", "one.yaml", "one.yaml").exit_code == 2
    assert not fake.asked


@pytest.mark.parametrize(
    ("failed", "unfaithful", "raised", "expected"),
    [
        ({1}, {2}, None, 1),
        ((), {2}, None, 3),
        ({1}, {2}, MachineError("no memory", "buy some"), 4),
        ({1}, {2}, UsageError("not on this back end"), 2),
    ],
)
def test_the_status_of_several_failures(
    files: list[str],
    fake: FakeRunner,
    monkeypatch: pytest.MonkeyPatch,
    failed: set[int],
    unfaithful: set[int],
    raised: Exception | None,
    expected: int,
) -> None:
    fake.failed, fake.verdict = set(failed), dict.fromkeys(unfaithful, "unfaithful")
    execute = making_runs.execute

    def raising(plan: object, *words: object, **more: object) -> list[str]:
        if raised is not None and plan.runs[0].seed == 3:  # type: ignore[attr-defined]
            raise raised
        return execute(plan, *words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(making_runs, "execute", raising)
    done = orchestrator("run", *files, "--json", "--junit", "suite.xml")
    assert done.exit_code == expected, done.stderr
    document = json.loads(done.stdout)
    assert document["exit_status"] == expected
    statuses = [scenario["exit_status"] for scenario in document["scenarios"]]
    assert statuses[:2] == [1 if failed else 0, 3]
    error = document["scenarios"][2]["error"]
    assert (error is None) == (raised is None)
    if raised is not None:
        assert str(raised) == error
        assert ET.parse("suite.xml").getroot()[2].get("errors") == "1"


def test_verify_of_an_experiment_makes_equal_runs_once(files: list[str], fake: FakeRunner) -> None:
    words = ("run", "one.yaml", "--repetitions", "2")
    assert orchestrator(*words).exit_code == 0
    assert orchestrator(*words).exit_code == 0
    done = orchestrator("run", "--verify", "one")
    assert done.exit_code == 0, done.stderr
    assert len(fake.asked[-1][0].runs) == 2
    assert done.stderr.count("the same digest as") == 4
    fake.digest = lambda spec: "other"
    done = orchestrator("run", "--verify", "one", "--json")
    assert done.exit_code == 1
    assert done.stderr.count("a DIFFERENT digest from") == 6
    assert len(json.loads(done.stdout)["runs"]) == 2
    assert orchestrator("run", "--verify", "nosuch").exit_code == 2
