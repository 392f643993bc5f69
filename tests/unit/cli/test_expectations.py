"""A scenario's expectations decide the exit status and are test cases of JUnit."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from results.experiment.observations import Observation
from results.experiment.values import Subject
from tests.support.identity import TEXT
from tests.support.run import FakeRunner, fake, orchestrator

__all__ = ["fake"]


@pytest.fixture
def goodputs(fake: FakeRunner, monkeypatch: pytest.MonkeyPatch) -> FakeRunner:
    """Runs in which flow one has 4 Mbit/s and flow two has 2."""
    from results.experiment import expectations, observations

    def observe(*given: object) -> object:
        groups, axes = observations.observe(*given)  # type: ignore[arg-type]
        for group in groups:
            for entry, value in (("one", 4e6), ("two", 2e6)):
                group.values[Subject(flow=entry), "goodput_bps"] = [
                    Observation(row.id, row.seed, row.repetition, value) for row in group.runs
                ]
        return groups, axes

    monkeypatch.setattr(expectations, "observe", observe)
    return fake


@pytest.mark.parametrize(
    ("bound", "status"), [("above: 3mbit", 0), ("below: 3mbit", 1), ("above: {flow: two}", 0)]
)
def test_an_unmet_expectation_exits_with_1(goodputs: FakeRunner, bound: str, status: int) -> None:
    expect = f"expect:\n  - {{metric: goodput_bps, flow: one, {bound}}}\n"
    Path("sweep.yaml").write_text(TEXT + expect)
    words = ("run", "sweep.yaml", "--db", "runs.db", "--repetitions", "2")
    result = orchestrator(*words, "--json", "--junit", "report.xml")
    assert result.exit_code == status, result.stderr
    expectations = json.loads(result.stdout)["expectations"]
    met = [expectation["met"] for expectation in expectations]
    assert met == [status == 0] * 2  # in both variants
    suite = ET.parse("report.xml").getroot()
    cases = [case for case in suite if "expect" in str(case.get("name"))]
    assert (suite.get("tests"), suite.get("failures")) == ("6", str(2 * status))
    assert [len(case) for case in cases] == [status] * 2
    if status:
        assert cases[0][0].get("type") == "expectation"
        assert cases[0][0].get("message") == "its interval is 4e+06 to 4e+06"
    again = orchestrator(*words, "--resume")
    assert again.exit_code == status
    assert ("NOT MET" in again.stdout) == (status == 1)
    assert len(goodputs.asked) == 1


@pytest.mark.parametrize(
    ("expect", "place", "message"),
    [
        ("{metric: goodput_bps, flow: onn, above: 1}", (16, 33), "no flow entry `onn` (did you"),
        ("{metric: goodput_bps, where: {limit: 9p}, above: 1}", (16, 42), "limit has no value 9p"),
        ("{metric: goodput_bps, window: x, above: 1}", (16, 35), "no window `x`; defined: none"),
        ("{metric: goodputs, above: 1}", (16, 14), "there is no metric `goodputs`"),
    ],
)
def test_a_fault_is_reported_at_its_place(
    fake: FakeRunner, expect: str, place: tuple[int, int], message: str
) -> None:
    Path("sweep.yaml").write_text(f"{TEXT}expect:\n  - {expect}\n")
    result = orchestrator("run", "sweep.yaml")
    assert result.exit_code == 2
    line, column = place
    assert f"sweep.yaml:{line}:{column}: " in result.stderr, result.stderr
    assert message in result.stderr
    assert not fake.asked
